//! When what was called, as Chrome trace events: a process a rank, a track a thread.

use super::Record;
use serde_json::{Value, json};

/// How long a call is drawn, in µs: when an operation ran, only the hardware would tell.
const WIDTH: u64 = 1;

/// The calls in time. Opens in Perfetto and `chrome://tracing`.
pub fn timeline(record: &Record) -> Value {
    let mut events = Vec::new();
    for rank in 0..record.ranks {
        let args = json!({ "name": format!("rank {rank}") });
        events.push(json!({ "ph": "M", "name": "process_name", "pid": rank, "tid": 0, "args": args }));
        let mut threads: Vec<(u32, bool)> =
            record.calls.iter().filter(|call| call.rank == rank).map(|call| (call.thread, call.is_host)).collect();
        threads.sort_unstable();
        threads.dedup_by_key(|thread| thread.0);
        for (thread, is_host) in threads {
            let name = if is_host { format!("host thread {thread}") } else { format!("thread {thread}") };
            let args = json!({ "name": name });
            events.push(json!({ "ph": "M", "name": "thread_name", "pid": rank, "tid": thread, "args": args }));
        }
    }
    for call in &record.calls {
        events.push(json!({
            "ph": "X", "name": call.function, "cat": "call", "pid": call.rank, "tid": call.thread,
            "ts": call.micros, "dur": WIDTH, "args": { "call": call.number, "what": call.to_string() },
        }));
    }
    json!({ "displayTimeUnit": "ns", "traceEvents": events, "otherData": { "communicator": record.name } })
}
