//! Exact resource counts (DESIGN section 6), from the same evaluator as everything else.

/// What one rank needs, or the maximum over ranks.
///
/// The start signal from the host is not counted: emitted code adds it (facts 2.6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Resources {
    /// Lanes that run at once, the main one included.
    pub threads: u32,
    /// The largest number of notify indices on one thread: the argument of `HcclThreadAcquire`.
    pub notify_num_per_thread: u32,
    /// The exact sum over threads: fork and join take T-1 on the main thread and one on each other.
    pub thread_notifies: u32,
    /// Distinct peers.
    pub channels: u32,
    /// The largest number of notify indices on one channel: `HcclChannelDesc.notifyNum`.
    pub notify_num_per_channel: u32,
    /// The sum over channels.
    pub channel_notifies: u32,
    /// Cells of HCCL buffer.
    pub scratch_chunks: u32,
}
