//! Blocks of a kernel for Vector cores: a thread each, and what `kernel_operator.h` asks of the library for them.

use super::Aiv;
use crate::ffi::AIV;
use crate::memory::RawMemory;
use crate::state::lock;
use hcomm_core::dtype::{DataType, ReduceOp};
use hcomm_sim::comm::{Code, CommError, Result};
use std::cell::RefCell;
use std::ffi::{CStr, c_char, c_void};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Copies of no more bytes may be looks at a flag: who polls lets others have the processor.
const FLAG_BYTES: u64 = 128;

/// What the blocks of a launch share.
#[derive(Debug)]
pub(crate) struct Shared {
    memory: Arc<RawMemory>,
    name: String,
    blocks: u32,
    timeout: Duration,
    deadline: Instant,
    stop: AtomicBool,
    fault: Mutex<Option<CommError>>,
    /// How many blocks have come to the barrier, and which barrier it is.
    barrier: Mutex<(u32, u64)>,
    met: Condvar,
}

#[derive(Clone)]
struct Block {
    shared: Arc<Shared>,
    index: u32,
}

thread_local! {
    static BLOCK: RefCell<Option<Block>> = const { RefCell::new(None) };
}

impl Shared {
    pub(super) fn new(memory: Arc<RawMemory>, name: String, blocks: u32, timeout: Duration) -> Arc<Shared> {
        Arc::new(Shared {
            memory,
            name,
            blocks,
            timeout,
            deadline: Instant::now() + timeout,
            stop: AtomicBool::new(false),
            fault: Mutex::new(None),
            barrier: Mutex::new((0, 0)),
            met: Condvar::new(),
        })
    }

    /// Runs all blocks, and says what went wrong first.
    pub(super) fn run(self: &Arc<Shared>, kernel: Aiv, arguments: &[u64]) -> Result<()> {
        std::thread::scope(|scope| {
            for index in 0..self.blocks {
                let block = Block { shared: self.clone(), index };
                let start = std::thread::Builder::new().name(format!("hcomm-block-{index}"));
                let spawned = start.spawn_scoped(scope, move || {
                    BLOCK.set(Some(block));
                    kernel.run(arguments);
                    BLOCK.set(None);
                });
                if let Err(error) = spawned {
                    self.fails(CommError::new(Code::Syscall, format!("no thread for block {index}: {error}")));
                    break;
                }
            }
        });
        lock(&self.fault).take().map_or(Ok(()), Err)
    }

    /// The first fault is kept; all blocks end at their next access.
    fn fails(&self, error: CommError) {
        lock(&self.fault).get_or_insert(error);
        self.stop.store(true, Ordering::Release);
        drop(lock(&self.barrier));
        self.met.notify_all();
    }

    /// Whether a block is to end.
    fn is_over(&self, index: u32, doing: &str) -> bool {
        if self.stop.load(Ordering::Acquire) {
            return true;
        }
        if Instant::now() >= self.deadline {
            let (name, seconds) = (&self.name, self.timeout.as_secs_f64());
            let sentence = format!("{AIV} {name} has not ended within {seconds} s: block {index} {doing}");
            self.fails(CommError::new(Code::Timeout, sentence));
            return true;
        }
        false
    }

    /// All blocks meet. False if they will not.
    fn sync_all(&self, index: u32) -> bool {
        let mut barrier = lock(&self.barrier);
        barrier.0 += 1;
        let round = barrier.1;
        if barrier.0 == self.blocks {
            *barrier = (0, round + 1);
            self.met.notify_all();
            return true;
        }
        while barrier.1 == round {
            if self.stop.load(Ordering::Acquire) {
                return false;
            }
            let left = self.deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                drop(barrier);
                return !self.is_over(index, "waits in SyncAll for others that do not come");
            }
            barrier = self.met.wait_timeout(barrier, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }
}

fn with_block<T>(otherwise: T, body: impl FnOnce(&Block) -> T) -> T {
    BLOCK.with_borrow(|block| block.as_ref().map_or(otherwise, body))
}

impl Block {
    fn fails(&self, code: Code, sentence: &str) -> i32 {
        let (name, index) = (&self.shared.name, self.index);
        self.shared.fails(CommError::new(code, format!("{AIV} {name}, block {index}: {sentence}")));
        1
    }

    fn checks(&self, addr: u64, bytes: u64, what: &str) -> i32 {
        if self.shared.is_over(self.index, "still runs: it may poll a flag that nobody sets") {
            return 1;
        }
        match self.shared.memory.check(addr, bytes) {
            Ok(()) => 0,
            Err(error) => self.fails(Code::Runtime, &format!("{what} of global memory: {}", error.sentence)),
        }
    }
}

/// Types and reductions by HCCL's numbers.
pub(crate) fn elements(dtype: i32, reduce: i32) -> Option<(DataType, ReduceOp)> {
    let dtype = DataType::ALL.into_iter().find(|known| known.hccl() as i32 == dtype)?;
    let reduce = match reduce {
        0 => ReduceOp::Sum,
        1 => ReduceOp::Prod,
        2 => ReduceOp::Max,
        3 => ReduceOp::Min,
        _ => return None,
    };
    Some((dtype, reduce))
}

#[unsafe(no_mangle)]
extern "C" fn hcomm_standin_block_idx() -> u32 {
    with_block(0, |block| block.index)
}

#[unsafe(no_mangle)]
extern "C" fn hcomm_standin_block_num() -> u32 {
    with_block(1, |block| block.shared.blocks)
}

#[unsafe(no_mangle)]
extern "C" fn hcomm_standin_sync_all() -> i32 {
    with_block(0, |block| i32::from(!block.shared.sync_all(block.index)))
}

#[unsafe(no_mangle)]
extern "C" fn hcomm_standin_gm(addr: *const c_void, bytes: u64, writes: i32) -> i32 {
    with_block(0, |block| {
        if writes == 0 && bytes <= FLAG_BYTES {
            std::thread::yield_now();
        }
        block.checks(crate::ffi::number(addr), bytes, if writes == 0 { "a read" } else { "a write" })
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn hcomm_standin_atomic(
    dst: *mut c_void,
    src: *const c_void,
    count: u64,
    dtype: i32,
    reduce: i32,
) -> i32 {
    with_block(1, |block| {
        let Some((dtype, reduce)) = elements(dtype, reduce) else {
            return block.fails(Code::Runtime, "an atomic operation on elements that are not reduced");
        };
        let bytes = count.saturating_mul(u64::from(dtype.size()));
        let over = block.checks(crate::ffi::number(dst), bytes, "an atomic write");
        if over != 0 {
            return over;
        }
        // SAFETY: kernel_operator.h has checked that the source is `count` elements of the Unified Buffer.
        let source = unsafe { std::slice::from_raw_parts(src.cast::<u8>(), bytes as usize) };
        let result = block.shared.memory.reduce_from(crate::ffi::number(dst), source, dtype, reduce);
        result.map_or_else(|error| block.fails(Code::Runtime, &error.sentence), |()| 0)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn hcomm_standin_combine(
    dst: *mut c_void,
    a: *const c_void,
    b: *const c_void,
    count: u64,
    dtype: i32,
    reduce: i32,
) -> i32 {
    with_block(1, |block| {
        let Some((dtype, reduce)) = elements(dtype, reduce) else {
            return block.fails(Code::Runtime, "arithmetic on elements that have none");
        };
        let bytes = count as usize * dtype.size() as usize;
        // SAFETY: kernel_operator.h has checked that all three are `count` elements of the Unified Buffer, which is this
        // thread's.
        let (mut acc, other) = unsafe {
            (
                std::slice::from_raw_parts(a.cast::<u8>(), bytes).to_vec(),
                std::slice::from_raw_parts(b.cast::<u8>(), bytes),
            )
        };
        hcomm_sim::value::reduce(dtype, reduce, &mut acc, other);
        // SAFETY: as above; `acc` is a copy, so that the ranges are apart.
        unsafe { std::ptr::copy_nonoverlapping(acc.as_ptr(), dst.cast::<u8>(), bytes) };
        0
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn hcomm_standin_fault(sentence: *const c_char) {
    // SAFETY: kernel_operator.h gives a string.
    let sentence = unsafe { CStr::from_ptr(sentence) }.to_string_lossy().into_owned();
    with_block(0, |block| block.fails(Code::Runtime, &sentence));
}
