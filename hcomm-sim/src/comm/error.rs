//! What goes wrong, by HCCL's codes and with a sentence.

use std::fmt;

/// Result of a call on the virtual cluster.
pub type Result<T> = std::result::Result<T, CommError>;

/// `HcclResult`, without success (facts 11.1). `HcommResult` has the same numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(i32)]
pub enum Code {
    /// A wrong argument.
    Para = 1,
    /// A null pointer.
    Ptr = 2,
    /// Memory that is not there, or not enough of it on the host.
    Memory = 3,
    /// A fault of the library.
    Internal = 4,
    /// What this product, engine or mode does not offer.
    NotSupport = 5,
    /// Something that was asked for by name or handle and is not there.
    NotFound = 6,
    /// A quota is exhausted.
    Unavail = 7,
    /// A system call failed.
    Syscall = 8,
    /// Somebody did not come in time.
    Timeout = 9,
    /// A file could not be opened.
    OpenFile = 10,
    /// A TCP connection could not be made.
    TcpConnect = 11,
    /// A RoCE connection could not be made.
    RoceConnect = 12,
    /// A TCP transfer failed.
    TcpTransfer = 13,
    /// A RoCE transfer failed.
    RoceTransfer = 14,
    /// The runtime failed.
    Runtime = 15,
    /// The driver failed.
    Drv = 16,
    /// Profiling failed.
    Profiling = 17,
    /// CCE failed.
    Cce = 18,
    /// The network failed.
    Network = 19,
    /// Try again.
    Again = 20,
    /// An error completion: the other end of a link cannot be reached.
    Remote = 21,
    /// The communicator is suspended, or about to be.
    Suspending = 22,
    /// An operator could not be repeated.
    OpRetryFail = 23,
    /// Out of device memory.
    Oom = 24,
    /// Not possible in this state.
    InStatus = 1041,
}

impl Code {
    /// All codes.
    pub const ALL: [Code; 25] = [
        Code::Para,
        Code::Ptr,
        Code::Memory,
        Code::Internal,
        Code::NotSupport,
        Code::NotFound,
        Code::Unavail,
        Code::Syscall,
        Code::Timeout,
        Code::OpenFile,
        Code::TcpConnect,
        Code::RoceConnect,
        Code::TcpTransfer,
        Code::RoceTransfer,
        Code::Runtime,
        Code::Drv,
        Code::Profiling,
        Code::Cce,
        Code::Network,
        Code::Again,
        Code::Remote,
        Code::Suspending,
        Code::OpRetryFail,
        Code::Oom,
        Code::InStatus,
    ];

    /// The number in `HcclResult`.
    pub const fn number(self) -> i32 {
        self as i32
    }

    /// The code of a number in `HcclResult`; `None` for success and for numbers that are not in it.
    pub fn from_number(number: i32) -> Option<Code> {
        Code::ALL.into_iter().find(|code| code.number() == number)
    }

    /// HCCL's name.
    pub const fn name(self) -> &'static str {
        match self {
            Code::Para => "HCCL_E_PARA",
            Code::Ptr => "HCCL_E_PTR",
            Code::Memory => "HCCL_E_MEMORY",
            Code::Internal => "HCCL_E_INTERNAL",
            Code::NotSupport => "HCCL_E_NOT_SUPPORT",
            Code::NotFound => "HCCL_E_NOT_FOUND",
            Code::Unavail => "HCCL_E_UNAVAIL",
            Code::Syscall => "HCCL_E_SYSCALL",
            Code::Timeout => "HCCL_E_TIMEOUT",
            Code::OpenFile => "HCCL_E_OPEN_FILE_FAILURE",
            Code::TcpConnect => "HCCL_E_TCP_CONNECT",
            Code::RoceConnect => "HCCL_E_ROCE_CONNECT",
            Code::TcpTransfer => "HCCL_E_TCP_TRANSFER",
            Code::RoceTransfer => "HCCL_E_ROCE_TRANSFER",
            Code::Runtime => "HCCL_E_RUNTIME",
            Code::Drv => "HCCL_E_DRV",
            Code::Profiling => "HCCL_E_PROFILING",
            Code::Cce => "HCCL_E_CCE",
            Code::Network => "HCCL_E_NETWORK",
            Code::Again => "HCCL_E_AGAIN",
            Code::Remote => "HCCL_E_REMOTE",
            Code::Suspending => "HCCL_E_SUSPENDING",
            Code::OpRetryFail => "HCCL_E_OPRETRY_FAIL",
            Code::Oom => "HCCL_E_OOM",
            Code::InStatus => "HCCL_E_IN_STATUS",
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name(), self.number())
    }
}

/// A call that failed, or an operation that failed later.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{code}: {sentence}")]
pub struct CommError {
    /// HCCL's code.
    pub code: Code,
    /// What is wrong, with the numbers that matter.
    pub sentence: String,
    /// Who waited for what, where a wait ended without its record.
    pub wait: Option<Box<Waited>>,
}

/// A wait that was not answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waited {
    /// The rank that waited, in its communicator.
    pub rank: u32,
    /// Which of its threads, counted in the order of their making.
    pub thread: u32,
    /// Which notify.
    pub notify: u32,
    /// The rank that should have set it; `None` where it is a notify between threads of one rank.
    pub peer: Option<u32>,
}

impl CommError {
    /// An error of a code, with its sentence.
    pub fn new(code: Code, sentence: impl Into<String>) -> CommError {
        CommError { code, sentence: sentence.into(), wait: None }
    }
}

macro_rules! shorthand {
    ($($name:ident $code:ident),* $(,)?) => {
        $(pub(crate) fn $name(sentence: impl Into<String>) -> CommError {
            CommError::new(Code::$code, sentence)
        })*
    };
}

shorthand! {
    para Para, null Ptr, internal Internal, not_support NotSupport, not_found NotFound, unavail Unavail,
    timeout Timeout, remote Remote, suspending Suspending, oom Oom, in_status InStatus, memory Memory,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_hccl_s() {
        assert_eq!(Code::ALL.map(Code::number)[..24], std::array::from_fn::<i32, 24, _>(|at| at as i32 + 1));
        assert_eq!(Code::InStatus.number(), 1041);
        for code in Code::ALL {
            assert_eq!(Code::from_number(code.number()), Some(code));
        }
        assert_eq!(Code::from_number(0), None);
        assert_eq!(para("no").to_string(), "HCCL_E_PARA (1): no");
    }
}
