//! The library as C calls it, without a C compiler: what comes of right calls, and that wrong ones are errors and no more.
#![allow(clippy::unwrap_used, reason = "tests")]
#![allow(clippy::undocumented_unsafe_blocks, reason = "calls of the library, with arguments as the headers want them")]

use libloading::Library;
use std::ffi::{CStr, c_char, c_void};
use std::ptr::null_mut;
use std::sync::OnceLock;

mod support;

fn library() -> &'static Library {
    static LOADED: OnceLock<Library> = OnceLock::new();
    LOADED.get_or_init(|| {
        // Before the first call, which reads them.
        unsafe {
            std::env::set_var("HCOMM_DEVICES", "2x2");
            std::env::set_var("HCOMM_LOG", "off");
            std::env::set_var("HCOMM_TIMEOUT_SCALE", "0.01");
        }
        unsafe { Library::new(support::standin().join("lib/libhcomm_standin.so")) }.unwrap()
    })
}

/// Calls a function that returns a code.
macro_rules! call {
    ($name:ident($($argument:expr => $type:ty),* $(,)?)) => {{
        let function = unsafe { library().get::<unsafe extern "C" fn($($type),*) -> i32>(stringify!($name).as_bytes()) };
        let function = function.unwrap();
        #[allow(unused_unsafe, reason = "arguments may be unsafe to make")]
        let code = unsafe { function($($argument),*) };
        code
    }};
}

fn recent() -> String {
    let function = unsafe { library().get::<unsafe extern "C" fn() -> *const c_char>(b"aclGetRecentErrMsg") }.unwrap();
    unsafe { CStr::from_ptr(function()) }.to_string_lossy().into_owned()
}

/// A communicator of all four devices, and its name as the handles have it.
fn comms() -> [*mut c_void; 4] {
    let mut comms = [null_mut(); 4];
    let devices = [0, 1, 2, 3];
    assert_eq!(
        call!(HcclCommInitAll(4 => u32, devices.as_ptr() => *const i32, comms.as_mut_ptr() => *mut *mut c_void)),
        0
    );
    comms
}

#[test]
fn ranks_know_where_they_are() {
    for (rank, comm) in (0u32..).zip(comms()) {
        let (mut id, mut size) = (9, 9);
        assert_eq!(call!(HcclGetRankId(comm => *mut c_void, &mut id => *mut u32)), 0);
        assert_eq!(call!(HcclGetRankSize(comm => *mut c_void, &mut size => *mut u32)), 0);
        assert_eq!((id, size), (rank, 4));
        let (mut layers, mut count) = (std::ptr::null(), 0);
        assert_eq!(
            call!(HcclRankGraphGetLayers(comm => *mut c_void, &mut layers => *mut *const u32, &mut count => *mut u32)),
            0
        );
        assert_eq!(unsafe { std::slice::from_raw_parts(layers, count as usize) }, [0, 1]);
        // Two servers of two: the other of the own server at layer 0, all four at layer 1.
        for (layer, ranks) in [(0, [rank / 2 * 2, rank / 2 * 2 + 1].to_vec()), (1, vec![0, 1, 2, 3])] {
            let mut found = std::ptr::null();
            let code = call!(HcclRankGraphGetRanksByLayer(
                comm => *mut c_void, layer => u32, &mut found => *mut *const u32, &mut count => *mut u32
            ));
            assert_eq!((code, unsafe { std::slice::from_raw_parts(found, count as usize) }), (0, &ranks[..]));
        }
        let mut links = std::ptr::null::<[u32; 116]>();
        let code = call!(HcclRankGraphGetLinks(
            comm => *mut c_void, 0 => u32, rank => u32, rank ^ 1 => u32,
            &mut links => *mut *const [u32; 116], &mut count => *mut u32
        ));
        assert_eq!((code, count), (0, 2));
        // Protocol UB_CTP, after the header and two endpoints of 160 bytes.
        assert_eq!(unsafe { *links }[(16 + 320) / 4], 4);
        assert_eq!(
            call!(HcclRankGraphGetLayers(comm => *mut c_void, null_mut() => *mut *const u32, &mut count => *mut u32)),
            2
        );
        assert_eq!(call!(HcclCommDestroy(comm => *mut c_void)), 0);
        assert_eq!(call!(HcclCommDestroy(comm => *mut c_void)), 6);
        assert!(recent().contains("has been destroyed"), "{}", recent());
    }
}

#[test]
fn memory_is_checked() {
    assert_eq!(call!(aclrtSetDevice(1 => i32)), 0);
    let (mut device, mut host) = (null_mut::<c_void>(), null_mut::<c_void>());
    assert_eq!(call!(aclrtMalloc(&mut device => *mut *mut c_void, 100 => usize, 0 => i32)), 0);
    assert_eq!(call!(aclrtMallocHost(&mut host => *mut *mut c_void, 100 => usize)), 0);
    let copy = |dst: *mut c_void, max: usize, src: *mut c_void, len: usize, kind: i32| call!(aclrtMemcpy(dst => *mut c_void, max => usize, src => *const c_void, len => usize, kind => i32));
    let mut bytes = [7u8; 100];
    assert_eq!(copy(device, 100, bytes.as_mut_ptr().cast(), 100, 1), 0);
    assert_eq!(copy(host, 100, device, 100, 2), 0);
    assert_eq!(unsafe { *host.cast::<u8>().add(99) }, 7);
    for (dst, max, src, len, kind, words) in [
        (device, 99, host, 100, 1, "100 bytes do not fit where there is room for 99"),
        (device, 200, host, 101, 1, "101 bytes from byte 0 of an allocation of 100 bytes on device 1 run 1 bytes over"),
        (host, 100, device, 100, 1, "`dst` is memory of the host"),
        (device, 100, device, 100, 1, "`src` is memory of device 1"),
        (host, 100, null_mut(), 100, 2, "`src` is null"),
        (host, 100, device, 100, 9, "there is no kind 9 of copies"),
    ] {
        assert_ne!(copy(dst, max, src, len, kind), 0);
        assert!(recent().contains(words), "{}", recent());
    }
    assert_ne!(call!(aclrtFreeHost(device => *mut c_void)), 0);
    assert!(recent().contains("given back with the other function"), "{}", recent());
    assert_eq!(call!(aclrtFree(device => *mut c_void)), 0);
    assert_ne!(call!(aclrtFree(device => *mut c_void)), 0);
    assert_eq!(call!(aclrtFreeHost(host => *mut c_void)), 0);
    // What went wrong last is remembered once.
    let last = call!(aclrtPeekAtLastError(0 => i32));
    assert_eq!((call!(aclrtGetLastError(0 => i32)), call!(aclrtGetLastError(0 => i32))), (last, 0));
}

#[test]
fn streams_and_events_are_in_order() {
    extern "C" fn adds(data: *mut c_void) {
        std::thread::sleep(std::time::Duration::from_millis(20));
        unsafe { &*data.cast::<std::sync::atomic::AtomicU32>() }.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
    }
    assert_eq!(call!(aclrtSetDevice(0 => i32)), 0);
    let count = std::sync::atomic::AtomicU32::new(0);
    let data: *mut c_void = (&raw const count).cast_mut().cast();
    let (mut streams, mut events) = ([null_mut::<c_void>(); 2], [null_mut::<c_void>(); 2]);
    for (stream, event) in streams.iter_mut().zip(&mut events) {
        assert_eq!(call!(aclrtCreateStream(stream => *mut *mut c_void)), 0);
        assert_eq!(call!(aclrtCreateEvent(event => *mut *mut c_void)), 0);
    }
    let record = |event: usize, stream: usize| call!(aclrtRecordEvent(events[event] => *mut c_void, streams[stream] => *mut c_void));
    assert_eq!(record(0, 0), 0);
    let code = call!(aclrtLaunchHostFunc(
        streams[0] => *mut c_void, adds => extern "C" fn(*mut c_void), data => *mut c_void
    ));
    assert_eq!((code, record(1, 0)), (0, 0));
    assert_eq!(call!(aclrtStreamWaitEvent(streams[1] => *mut c_void, events[1] => *mut c_void)), 0);
    assert_eq!(call!(aclrtSynchronizeStream(streams[1] => *mut c_void)), 0);
    assert_eq!(count.load(std::sync::atomic::Ordering::SeqCst), 1);
    let mut ms = 0.0;
    let code = call!(aclrtEventElapsedTime(&mut ms => *mut f32, events[0] => *mut c_void, events[1] => *mut c_void));
    assert!(code == 0 && ms >= 20.0, "{code} {ms}");
    for (stream, event) in streams.into_iter().zip(events) {
        assert_eq!(call!(aclrtDestroyStream(stream => *mut c_void)), 0);
        assert_eq!(call!(aclrtDestroyEvent(event => *mut c_void)), 0);
        assert_ne!(call!(aclrtSynchronizeStream(stream => *mut c_void)), 0);
    }
}

#[test]
fn a_rank_that_does_not_come_is_named() {
    let mut root = vec![0u8; 4108];
    assert_eq!(call!(HcclGetRootInfo(root.as_mut_ptr() => *mut u8)), 0);
    assert_eq!(call!(aclrtSetDevice(2 => i32)), 0);
    let mut comm = null_mut::<c_void>();
    let code = call!(HcclCommInitRootInfo(
        2 => u32, root.as_ptr() => *const u8, 1 => u32, &mut comm => *mut *mut c_void
    ));
    assert_eq!(code, 9);
    assert_eq!(recent(), "rank 1 waited 140 s for rank 0 to join its communicator");
    root[0] ^= 1;
    let code = call!(HcclCommInitRootInfo(
        2 => u32, root.as_ptr() => *const u8, 1 => u32, &mut comm => *mut *mut c_void
    ));
    assert_eq!(code, 1);
}

/// A configuration as `HcclCommConfigInit` leaves it, named.
fn config(name: &str) -> Vec<u8> {
    let mut config = vec![0u8; 2248];
    config[..8].copy_from_slice(&2248u64.to_ne_bytes());
    config[8..12].copy_from_slice(&0xf0f0_f0f0u32.to_ne_bytes());
    config[12..16].copy_from_slice(&11u32.to_ne_bytes());
    config[24..32].fill(0xff);
    config[32..32 + name.len()].copy_from_slice(name.as_bytes());
    // The execution timeout is not set.
    config[316..320].fill(0xff);
    config
}

#[test]
fn some_ranks_make_a_communicator_of_their_own() {
    let comms = comms().map(|comm| comm as usize);
    let make = |rank: u32, from: usize, name: &str| {
        let (comm, ranks, config) = (from as *mut c_void, [3u32, 1], config(name));
        let mut sub = null_mut::<c_void>();
        let code = call!(HcclCreateSubCommConfig(
            &comm => *const *mut c_void, 2 => u32, ranks.as_ptr() => *const u32, 7 => u64, rank => u32,
            config.as_ptr() => *const u8, &mut sub => *mut *mut c_void
        ));
        (code, sub as usize)
    };
    let (first, second) = std::thread::scope(|scope| {
        let other = scope.spawn(|| make(1, comms[1], "some"));
        (make(0, comms[3], "some"), other.join().unwrap())
    });
    assert_eq!((first.0, second.0), (0, 0));
    let mut name = [0u8; 128];
    let mut id = 9;
    let sub = second.1 as *mut c_void;
    assert_eq!(call!(HcclGetCommName(sub => *mut c_void, name.as_mut_ptr() => *mut u8)), 0);
    assert_eq!(call!(HcclGetRankId(sub => *mut c_void, &mut id => *mut u32)), 0);
    assert_eq!((CStr::from_bytes_until_nul(&name).unwrap(), id), (c"some", 1));
    // Rank 0 of the whole one is not in it, and a configuration that was not set up is none.
    assert_eq!(make(0, comms[0], "other").0, 1);
    let mut wrong = config("wrong");
    wrong[8] = 0;
    let mut sub = null_mut::<c_void>();
    let (comm, ranks) = (comms[0] as *mut c_void, [0u32]);
    let code = call!(HcclCreateSubCommConfig(
        &comm => *const *mut c_void, 1 => u32, ranks.as_ptr() => *const u32, 8 => u64, 0 => u32,
        wrong.as_ptr() => *const u8, &mut sub => *mut *mut c_void
    ));
    assert_eq!(code, 1);
    assert!(recent().contains("HcclCommConfigInit"), "{}", recent());
    for comm in [first.1, second.1].into_iter().chain(comms) {
        assert_eq!(call!(HcclCommDestroy(comm as *mut c_void => *mut c_void)), 0);
    }
}

#[test]
fn nulls_and_wrong_handles_are_errors() {
    type Any = unsafe extern "C" fn(u64, u64, u64, u64, u64, u64, u64, u64, u64, u64) -> u64;
    for (name, text) in hcomm_abi::files() {
        if !name.starts_with("include/hccl/") && !name.starts_with("include/acl/") {
            continue;
        }
        for line in text.lines().filter(|line| line.starts_with("extern ") || line.starts_with("ACL_FUNC_VISIBILITY "))
        {
            let Some((before, _)) = line.split_once('(') else { continue };
            let function = before.rsplit([' ', '*']).next().unwrap();
            let symbol = unsafe { library().get::<Any>(function.as_bytes()) }.unwrap();
            // Handles that are none, and those of other things: kinds are in the highest bits.
            for first in [0, 1, 77, 0x1000_0001_0000_0000, 0x2000_0001_0000_0000, 0xa300_0000_0000_0010, u64::MAX] {
                // Where the first argument is an address, only the null one is an error that can be told.
                let is_handle = line.contains("HcclComm comm")
                    || line.contains("ThreadHandle thread")
                    || line.contains("(aclrtStream stream")
                    || line.contains("(aclrtEvent event")
                    || line.contains("(ChannelHandle channel");
                if first == 0 || is_handle {
                    unsafe { symbol(first, 0, 0, 0, 0, 0, 0, 0, 0, 0) };
                }
            }
        }
    }
}
