//! What a communicator is made with (`HcclCommConfig`, facts 2.2, 2.3 and 11.2).

use crate::comm::error::{Result, para};

/// Configuration of a communicator. All ranks give the same, but for the retry.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CommConfig {
    /// Its name, up to 127 bytes, which no other communicator has; one is made up if it is empty.
    pub name: String,
    /// `HCCL_BUFFSIZE` in bytes. The HCCL buffer is twice that (facts 2.2).
    pub buffer_size: u64,
    /// Seconds.
    pub timeouts: Timeouts,
    /// Whether reductions are to be deterministic.
    pub deterministic: Deterministic,
    /// Address space for symmetric memory a rank, in GB.
    pub symmetric_gb: u64,
    /// The most threads, if fewer than the library allows.
    pub thread_limit: Option<u32>,
    /// How often an operator that failed is repeated (facts 11.3). 0 is never.
    pub retry: Retry,
}

/// `hcclDeterministic`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Deterministic {
    /// As the product does it.
    #[default]
    Off,
    /// The same bits for the same inputs.
    On,
    /// And the same order for every element.
    Strict,
}

/// `HCCL_OP_RETRY_ENABLE` and its parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retry {
    /// How often. 0 is never.
    pub max_count: u32,
    /// Milliseconds of simulated time before the first.
    pub hold_ms: u32,
    /// Milliseconds of simulated time between others.
    pub interval_ms: u32,
}

impl Retry {
    /// `MaxCnt:1,HoldTime:5000,IntervalTime:1000`, what `HCCL_OP_RETRY_ENABLE` gives.
    pub const ENABLED: Retry = Retry { max_count: 1, hold_ms: 5000, interval_ms: 1000 };
}

/// Timeouts in simulated seconds. 0 is never.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// `HCCL_EXEC_TIMEOUT`: how long the device waits for a notify.
    pub exec: u32,
    /// `HCCL_CONNECT_TIMEOUT`: how long an acquire of channels, or a communicator that is made, waits for its peers.
    pub connect: u32,
}

impl Default for Timeouts {
    fn default() -> Self {
        Timeouts { exec: 1836, connect: 120 }
    }
}

impl Timeouts {
    fn longer(self, by: u32) -> u32 {
        if self.exec == 0 { 0 } else { self.exec.saturating_add(by) }
    }

    /// How long the device waits for room in a ring: longer than for a notify.
    pub fn ring(self) -> u32 {
        self.longer(20)
    }

    /// How long an AI CPU kernel may run: longer than that. The field has 16 bits.
    pub fn kernel(self) -> u32 {
        self.longer(30).min(u32::from(u16::MAX))
    }

    /// How long the host's stream waits for the device: longest.
    pub fn host(self) -> u32 {
        self.longer(50)
    }

    /// How long peers are waited for: 20 s more than is configured, so that the reason can spread.
    pub fn meet(self) -> u32 {
        self.connect.saturating_add(20)
    }
}

impl Default for CommConfig {
    fn default() -> Self {
        CommConfig {
            name: String::new(),
            buffer_size: 200 << 20,
            timeouts: Timeouts::default(),
            deterministic: Deterministic::Off,
            symmetric_gb: 16,
            thread_limit: None,
            retry: Retry::default(),
        }
    }
}

impl CommConfig {
    /// The default configuration, named.
    pub fn named(name: impl Into<String>) -> CommConfig {
        CommConfig { name: name.into(), ..CommConfig::default() }
    }

    /// Sets `HCCL_BUFFSIZE` in bytes.
    #[must_use]
    pub fn buffer_size(mut self, bytes: u64) -> CommConfig {
        self.buffer_size = bytes;
        self
    }

    /// Sets the timeouts, in seconds.
    #[must_use]
    pub fn timeouts(mut self, exec: u32, connect: u32) -> CommConfig {
        self.timeouts = Timeouts { exec, connect };
        self
    }

    /// Sets the retry.
    #[must_use]
    pub fn retry(mut self, retry: Retry) -> CommConfig {
        self.retry = retry;
        self
    }

    /// Sets how reductions are ordered.
    #[must_use]
    pub fn deterministic(mut self, deterministic: Deterministic) -> CommConfig {
        self.deterministic = deterministic;
        self
    }

    /// Sets the address space for symmetric memory.
    #[must_use]
    pub fn symmetric_gb(mut self, gb: u64) -> CommConfig {
        self.symmetric_gb = gb;
        self
    }

    /// Sets the most threads.
    #[must_use]
    pub fn thread_limit(mut self, threads: u32) -> CommConfig {
        self.thread_limit = Some(threads);
        self
    }

    pub(crate) fn check(&self) -> Result<()> {
        if self.name.len() > 127 {
            let name = &self.name;
            return Err(para(format!("the name of a communicator has at most 127 bytes, `{name}` has {}", name.len())));
        }
        if self.buffer_size == 0 || self.buffer_size > 1 << 40 {
            return Err(para(format!("an HCCL buffer size of {} bytes", self.buffer_size)));
        }
        if self.timeouts.connect == 0 {
            return Err(para("a connect timeout of 0 s: peers that do not come must be noticed"));
        }
        Ok(())
    }

    /// Where it differs from another rank's, in words.
    pub(crate) fn difference(&self, other: &CommConfig) -> Option<String> {
        let differs = |what: &str, mine: String, theirs: String| {
            (mine != theirs).then(|| format!("{what} of {theirs}, and the other ranks have {mine}"))
        };
        differs("a name", format!("`{}`", self.name), format!("`{}`", other.name))
            .or_else(|| differs("an HCCL buffer size", self.buffer_size.to_string(), other.buffer_size.to_string()))
            .or_else(|| {
                let word = |config: &CommConfig| format!("{:?}", config.deterministic);
                differs("a deterministic mode", word(self), word(other))
            })
            .or_else(|| {
                differs("a symmetric memory", format!("{} GB", self.symmetric_gb), format!("{} GB", other.symmetric_gb))
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timeouts_nest() {
        let timeouts = Timeouts::default();
        let all = [timeouts.exec, timeouts.ring(), timeouts.kernel(), timeouts.host(), timeouts.meet()];
        assert_eq!(all, [1836, 1856, 1866, 1886, 140]);
        let never = Timeouts { exec: 0, ..timeouts };
        assert_eq!([never.ring(), never.kernel(), never.host()], [0; 3]);
        let most = Timeouts { exec: u32::MAX, connect: u32::MAX };
        assert_eq!([most.ring(), most.kernel(), most.host()], [u32::MAX, 65535, u32::MAX]);
    }
}
