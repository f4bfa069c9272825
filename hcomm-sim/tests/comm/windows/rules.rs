//! The rules of windows, one by one, and what breaks them.

use super::{copy, fails, nothing_is_left, read, write};
use crate::support::{Rig, Windows, cluster};
use hcomm_core::product::Product;
use hcomm_core::shape::Layout;
use hcomm_sim::comm::{
    ChannelDesc, Cluster, ClusterConfig, Code, CommConfig, CommEngine, Communicator, GRANULARITY, Region, Result, Side,
    WindowHandle, deregister_all, register_all,
};
use std::thread;
use std::time::Duration;

/// Short timeouts.
fn soon() -> CommConfig {
    CommConfig::default().timeouts(50, 30)
}

fn at_once<T: Send>(comms: &[Communicator], call: impl Fn(&Communicator) -> Result<T> + Sync) -> Vec<Result<T>> {
    thread::scope(|scope| {
        let ranks: Vec<_> = comms.iter().map(|comm| scope.spawn(|| call(comm))).collect();
        ranks.into_iter().map(|rank| rank.join().unwrap()).collect()
    })
}

fn mapped(cluster: &Cluster, comms: &[Communicator], granules: u64) -> Vec<Region> {
    let size = granules * GRANULARITY;
    let map = |comm: &Communicator| Region { addr: cluster.map_new(comm.device(), size).unwrap().0, size };
    comms.iter().map(map).collect()
}

/// Between all ranks.
fn connect(comms: &[Communicator]) -> Vec<Result<()>> {
    at_once(comms, |comm| {
        let peers = (0..comm.size()).filter(|peer| *peer != comm.rank());
        let descs: Vec<ChannelDesc> = peers.map(|peer| ChannelDesc::new(peer, 3)).collect();
        comm.acquire_channels(CommEngine::AiCpuTs, &descs).map(|_| ())
    })
}

#[test]
fn a3_lays_all_ranks_memory_out_alike() {
    let cluster = cluster(Product::A3, 3);
    let rig = Rig::new(&cluster, &[2, 0, 1], &soon().symmetric_gb(1));
    let first = Windows::new(&rig, 100);
    let second = Windows::new(&rig, 3 * GRANULARITY);
    let device = cluster.data_plane(Side::Device);
    for (rank, comm) in rig.comms.iter().enumerate() {
        // The window is all of the physical memory.
        let all = Region { addr: first.regions[rank].addr, size: GRANULARITY };
        assert_eq!(comm.window_of(all).unwrap(), Some((first.handles[rank], 0)));
        let inside = Region { addr: second.regions[rank].addr + 5, size: GRANULARITY };
        assert_eq!(comm.window_of(inside).unwrap(), Some((second.handles[rank], 5)));
        // Peers, and the rank itself, are a stride apart, and a second window comes behind the first.
        let base = device.peer_pointer(first.handles[rank], 0, 0).unwrap();
        for peer in 0..3 {
            let there = base + (u64::from(peer) << 30);
            assert_eq!(device.peer_pointer(first.handles[rank], 7, peer).unwrap(), there + 7);
            let behind = device.peer_pointer(second.handles[rank], 7, peer).unwrap();
            assert_eq!(behind, there + GRANULARITY + 7);
            // It is the peer's memory.
            let mark = (10 * rank + peer as usize + 1) as u8;
            write(&cluster, behind, mark);
            assert_eq!(read(&cluster, second.regions[peer as usize].addr + 7), mark);
        }
    }
    // A copy on the device, without any channel, over the link.
    let before = cluster.counters();
    let theirs = device.peer_pointer(second.handles[0], 0, 2).unwrap();
    copy(&rig, 0, theirs, second.regions[0].addr, 100).unwrap();
    assert_eq!(read(&cluster, second.regions[2].addr + 7), read(&cluster, second.regions[0].addr + 7));
    let after = cluster.counters();
    assert_eq!((after.bytes_moved - before.bytes_moved, after.bytes_over_links - before.bytes_over_links), (100, 100));
    // Not beyond the window, and not by the address that the peer has itself.
    fails(copy(&rig, 0, theirs + 3 * GRANULARITY - 1, second.regions[0].addr, 2), Code::Para, "over the end");
    fails(
        copy(&rig, 0, second.regions[2].addr, second.regions[0].addr, 2),
        Code::Para,
        "no channel or symmetric window",
    );

    // The first gap that fits is used again.
    first.free(&rig);
    let third = Windows::new(&rig, 2 * GRANULARITY);
    let fourth = Windows::new(&rig, GRANULARITY);
    let offset = |windows: &Windows| device.peer_pointer(windows.handles[0], 0, 0).unwrap();
    assert_eq!(offset(&third) - offset(&fourth), 4 * GRANULARITY);
    assert_eq!(offset(&second) - offset(&fourth), GRANULARITY);
    assert_eq!((cluster.in_use().windows, rig.comms[0].snapshot().in_use.windows), (9, 3));
    [second, third, fourth].into_iter().for_each(|windows| windows.free(&rig));
    rig.end();
    nothing_is_left(&cluster);
}

#[test]
fn a3_registers_one_memory_again_at_the_same_place() {
    let cluster = cluster(Product::A3, 2);
    let rig = Rig::new(&cluster, &[0, 1], &soon());
    let size = 2 * GRANULARITY;
    let memory: Vec<_> = [0, 1].map(|device| cluster.map_new(device, size).unwrap()).into();
    let again: Vec<u64> = memory
        .iter()
        .map(|(_, physical)| {
            let addr = cluster.reserve(size).unwrap();
            cluster.map(addr, size, *physical).unwrap();
            addr
        })
        .collect();
    let region = |addr: u64| Region { addr, size };
    let one = register_all(&rig.comms, &[region(memory[0].0), region(memory[1].0)]).unwrap();
    // The same address, and another of the same memory.
    let same = register_all(&rig.comms, &[region(memory[0].0), region(memory[1].0)]).unwrap();
    let alias = register_all(&rig.comms, &[region(again[0]), region(again[1])]).unwrap();
    let device = cluster.data_plane(Side::Device);
    let at = |window: WindowHandle| device.peer_pointer(window, 9, 1).unwrap();
    assert!(one[0] != same[0] && one[0] != alias[0]);
    assert_eq!((at(one[0]), at(one[0])), (at(same[0]), at(alias[0])));
    // Mappings of two users' addresses and of two ranks' heaps, once each.
    assert_eq!(cluster.in_use().mappings, 4 + 4);
    deregister_all(&rig.comms, &one).unwrap();
    fails(cluster.unmap(memory[0].0), Code::InStatus, "symmetric window");
    deregister_all(&rig.comms, &same).unwrap();
    cluster.unmap(memory[0].0).unwrap();
    write(&cluster, at(alias[0]), 5);
    assert_eq!(read(&cluster, again[1] + 9), 5);
    deregister_all(&rig.comms, &alias).unwrap();
    assert_eq!(cluster.in_use().mappings, 3);
    cluster.unmap(memory[1].0).unwrap();
    for ((addr, physical), again) in memory.iter().zip(again) {
        cluster.unmap_all(again, *physical).unwrap();
        cluster.release(*addr).unwrap();
    }
    rig.end();
    nothing_is_left(&cluster);
}

#[test]
fn a3_refuses_what_breaks_its_rules() {
    let cluster = cluster(Product::A3, 2);
    let comms = cluster.init_all(&[0, 1], &soon().symmetric_gb(1)).unwrap();
    let comm = &comms[0];
    let memory = mapped(&cluster, &comms, 2);
    let Region { addr, size } = memory[0];
    let register = |addr, size| comm.register_window(Region { addr, size });
    fails(register(0, size), Code::Ptr, "null");
    fails(register(addr, 0), Code::Para, "0 bytes");
    fails(register(addr, u64::MAX), Code::Para, "past the end");
    fails(comm.register_window_with(memory[0], 0), Code::Para, "flag 0");
    fails(register(addr, size + 1), Code::Para, "over the end of the physical memory");
    fails(register(addr + GRANULARITY, size), Code::Para, "over the end of the physical memory");
    fails(register(memory[1].addr, size), Code::Para, "device 1");
    let plain = cluster.alloc(0, 100).unwrap();
    fails(register(plain, 100), Code::Para, "no physical memory is mapped");
    let bare = cluster.reserve(size).unwrap();
    fails(register(bare, size), Code::Para, "no physical memory is mapped");
    // More than the communicator has configured for a rank.
    let large = mapped(&cluster, &comms, 513);
    for error in at_once(&comms, |comm| comm.register_window(large[comm.rank() as usize])) {
        fails(error, Code::Memory, "do not fit the symmetric heap: of its 1073741824 bytes");
    }
    let full = mapped(&cluster, &comms, 500);
    let first = register_all(&comms, &full).unwrap();
    let rest = mapped(&cluster, &comms, 13);
    for error in at_once(&comms, |comm| comm.register_window(rest[comm.rank() as usize])) {
        fails(error, Code::Memory, "25165824 are free");
    }
    deregister_all(&comms, &first).unwrap();
    // Sizes that differ: of the window, of the physical memory.
    for error in at_once(&comms, |comm| {
        let rank = comm.rank() as usize;
        comm.register_window(Region { size: size - rank as u64, ..memory[rank] })
    }) {
        fails(error, Code::Para, "rank 0 registers 4194304 bytes, and rank 1 4194303");
    }
    let other = [memory[0], rest[1]];
    for error in at_once(&comms, |comm| comm.register_window(Region { size, ..other[comm.rank() as usize] })) {
        fails(error, Code::Internal, "one size of physical memory");
    }
    // Nothing of that has left a trace.
    let windows = register_all(&comms, &memory).unwrap();
    let device = cluster.data_plane(Side::Device);
    let base = device.peer_pointer(windows[0], 0, 0).unwrap();
    fails(device.peer_pointer(windows[0], 0, 2), Code::Para, "has 2 ranks");
    fails(device.peer_pointer(windows[0], size, 1), Code::Para, "ends before");
    fails(device.peer_pointer(WindowHandle(0), 0, 1), Code::Ptr, "null");
    fails(device.peer_pointer(WindowHandle(99), 0, 1), Code::Para, "not the handle");
    fails(cluster.data_plane(Side::Host).peer_pointer(windows[0], 0, 1), Code::NotSupport, "not for the host");
    // What is to be looked for.
    fails(comm.window_of(Region { addr: 0, size: 1 }), Code::Ptr, "null");
    fails(comm.window_of(Region { addr, size: 0 }), Code::Para, "0 bytes");
    fails(comm.window_of(Region { addr, size: size + 1 }), Code::NotFound, "in no symmetric window");
    fails(comm.window_of(Region { addr: plain, size: 1 }), Code::NotFound, "in no symmetric window");
    fails(comm.deregister_window(windows[1]), Code::Para, "is one of rank 1");
    fails(cluster.deregister_window(WindowHandle(comm.handle().0)), Code::Para, "of a communicator");
    // Addresses of the heap are not the user's.
    fails(cluster.unmap(base), Code::NotFound, "nothing is mapped");
    fails(cluster.release(base), Code::NotFound, "nothing is reserved");
    fails(register(base, size), Code::Para, "no physical memory is mapped");
    deregister_all(&comms, &windows).unwrap();
    fails(comm.deregister_window(windows[0]), Code::Para, "destroyed");
    fails(device.peer_pointer(windows[0], 0, 1), Code::Para, "destroyed");
}

#[test]
fn who_does_not_come_is_named_and_nothing_hangs() {
    let cluster = cluster(Product::A3, 3);
    let comms = cluster.init_all(&[0, 1, 2], &soon()).unwrap();
    let memory = mapped(&cluster, &comms, 1);
    fails(comms[1].register_window(memory[1]), Code::Timeout, "waited 50 s for rank 0, 2");
    let windows = register_all(&comms, &memory).unwrap();
    fails(comms[1].deregister_window(windows[1]), Code::Timeout, "all ranks must deregister");
    // One deregisters while the others register.
    let mixed = at_once(&comms, |comm| match comm.rank() {
        0 => comm.deregister_window(windows[0]).map(|()| windows[0]),
        rank => comm.register_window(memory[rank as usize]),
    });
    mixed.into_iter().for_each(|error| fails(error, Code::Para, "do not do the same"));
    // Others than the peers do.
    let second = register_all(&comms, &memory).unwrap();
    let mixed = at_once(&comms, |comm| {
        let rank = comm.rank() as usize;
        comm.deregister_window(if rank == 2 { second[rank] } else { windows[rank] })
    });
    mixed.into_iter().for_each(|error| fails(error, Code::Para, "do not deregister the same window"));
    deregister_all(&comms, &second).unwrap();
    // A peer that is gone is not waited for. What it has mapped stays for the others until they let go.
    let device = cluster.data_plane(Side::Device);
    write(&cluster, memory[2].addr, 77);
    comms[2].destroy().unwrap();
    assert_eq!(read(&cluster, device.peer_pointer(windows[0], 0, 2).unwrap()), 77);
    let left = at_once(&comms[..2], |comm| comm.register_window(memory[comm.rank() as usize]));
    left.into_iter().for_each(|error| fails(error, Code::Remote, "destroyed"));
    deregister_all(&comms[..2], &windows[..2]).unwrap();
    fails(cluster.deregister_window(windows[2]), Code::Para, "destroyed");
    fails(comms[2].register_window(memory[2]), Code::NotFound, "destroyed");
}

#[test]
fn who_waits_is_told_when_a_peer_or_the_cluster_goes() {
    let cluster = cluster(Product::A3, 2);
    // For ever, as a test goes.
    let comms = cluster.init_all(&[0, 1], &CommConfig::default().timeouts(20, 100_000)).unwrap();
    let memory = mapped(&cluster, &comms, 1);
    thread::scope(|scope| {
        let waits = scope.spawn(|| comms[0].register_window(memory[0]));
        thread::sleep(Duration::from_millis(20));
        fails(comms[0].register_window(memory[0]), Code::InStatus, "must follow each other");
        comms[1].destroy().unwrap();
        fails(waits.join().unwrap(), Code::Remote, "destroyed");
    });
    let comms = cluster.init_all(&[0, 1], &CommConfig::default().timeouts(20, 100_000)).unwrap();
    thread::scope(|scope| {
        let waits = scope.spawn(|| comms[0].register_window(memory[0]));
        thread::sleep(Duration::from_millis(20));
        comms[0].destroy().unwrap();
        fails(waits.join().unwrap(), Code::NotFound, "destroyed");
    });
    let comms = cluster.init_all(&[0, 1], &CommConfig::default().timeouts(20, 100_000)).unwrap();
    thread::scope(|scope| {
        let waits = scope.spawn(|| comms[0].register_window(memory[0]));
        thread::sleep(Duration::from_millis(20));
        cluster.shut_down().unwrap();
        fails(waits.join().unwrap(), Code::InStatus, "shut down");
    });
}

#[test]
fn windows_end_with_the_superpod_and_with_equal_servers() {
    let error = |product, layout: Option<Layout>, devices: &[u32]| {
        let cluster = Cluster::new(ClusterConfig::of_layout(product, layout.unwrap())).unwrap();
        let comms = cluster.init_all(devices, &soon()).unwrap();
        let memory = mapped(&cluster, &comms, 1);
        comms[0].register_window(memory[0])
    };
    fails(error(Product::A3, Layout::equal(2, 2, 2), &[0, 4]), Code::NotSupport, "end with the superpod");
    fails(error(Product::A3, Layout::equal(1, 2, 2), &[0, 1, 2]), Code::NotSupport, "has 1 on one and 2 on another");
    fails(error(Product::A2, Layout::flat(2), &[0, 1]), Code::NotSupport, "a2 has no symmetric windows");
    // Within a superpod, and on the 950 anywhere.
    for (product, devices) in [(Product::A3, vec![4, 5, 6, 7]), (Product::A950, vec![0, 2, 3, 4])] {
        let layout = Layout::equal(2, 2, 2).unwrap();
        let cluster = Cluster::new(ClusterConfig::of_layout(product, layout)).unwrap();
        let rig = Rig::new(&cluster, &devices, &soon());
        Windows::new(&rig, 5).free(&rig);
        rig.end();
        nothing_is_left(&cluster);
    }
    // What is configured for a rank must be possible.
    for (gb, words) in [(0, "there must be some"), (65, "a device has"), (u64::MAX, "there must be some")] {
        let cluster = cluster(Product::A3, 2);
        let comms = cluster.init_all(&[0, 1], &soon().symmetric_gb(gb)).unwrap();
        let memory = mapped(&cluster, &comms, 1);
        fails(comms[0].register_window(memory[0]), Code::Para, words);
    }
}

#[test]
fn one_rank_has_windows_that_nobody_finds() {
    for product in [Product::A3, Product::A950] {
        let cluster = cluster(product, 1);
        let rig = Rig::new(&cluster, &[0], &soon());
        let windows = Windows::new(&rig, 64);
        let found = rig.comms[0].window_of(windows.regions[0]);
        match product {
            Product::A3 => fails(found, Code::NotFound, "in no symmetric window"),
            _ => assert_eq!(found.unwrap(), None),
        }
        let plane = cluster.data_plane(Side::Device);
        fails(plane.peer_pointer(windows.handles[0], 0, 0), Code::Para, "one rank");
        windows.free(&rig);
        rig.end();
        nothing_is_left(&cluster);
    }
}

#[test]
fn the_950_tells_of_windows_with_channels() {
    let cluster = cluster(Product::A950, 3);
    let rig = Rig::new(&cluster, &[0, 1, 2], &soon());
    let (comms, device) = (&rig.comms, cluster.data_plane(Side::Device));
    // Registering does not wait for anybody.
    let addr: Vec<u64> = (0..3).map(|rank| cluster.alloc(rank, 1000).unwrap()).collect();
    let register =
        |rank: usize, from: u64, size: u64| comms[rank].register_window(Region { addr: addr[rank] + from, size });
    let windows: Vec<WindowHandle> = (0..3).map(|rank| register(rank, 100, 500).unwrap()).collect();
    fails(device.peer_pointer(windows[0], 0, 1), Code::Para, "acquire a channel to it first");
    // The same range, and one inside, are that window; one that only overlaps is another.
    assert_eq!(register(0, 100, 500).unwrap(), windows[0]);
    assert_eq!(register(0, 101, 5).unwrap(), windows[0]);
    let others: Vec<WindowHandle> = (0..3).map(|rank| register(rank, 300, 400).unwrap()).collect();
    assert!(others[0] != windows[0]);
    connect(comms).into_iter().for_each(Result::unwrap);
    for (rank, peer) in [(0, 1), (2, 0), (1, 2)] {
        assert_eq!(device.peer_pointer(windows[rank], 7, peer as u32).unwrap(), addr[peer] + 107);
        assert_eq!(device.peer_pointer(others[rank], 7, peer as u32).unwrap(), addr[peer] + 307);
        fails(device.peer_pointer(windows[rank], 7, rank as u32), Code::Para, "addresses of peers only");
        fails(device.peer_pointer(windows[rank], 500, peer as u32), Code::Para, "ends before");
    }
    // Once a window is known, channels that are there are given again without waiting.
    let desc = [ChannelDesc::new(1, 3)];
    comms[0].acquire_channels(CommEngine::AiCpuTs, &desc).unwrap();
    // After another registration they wait for each other.
    let third: Vec<WindowHandle> = (0..3).map(|rank| register(rank, 800, 8).unwrap()).collect();
    fails(comms[0].acquire_channels(CommEngine::AiCpuTs, &desc), Code::Timeout, "for rank 1");
    connect(comms).into_iter().for_each(Result::unwrap);
    assert_eq!(device.peer_pointer(third[0], 0, 2).unwrap(), addr[2] + 800);
    // The sources look at one window: the last that starts no later.
    let look = |from: u64, size: u64| comms[0].window_of(Region { addr: addr[0] + from, size }).unwrap();
    assert_eq!(look(200, 50), Some((windows[0], 100)));
    assert_eq!(look(350, 50), Some((others[0], 50)));
    assert_eq!((look(200, 500), look(0, 50), look(900, 9)), (None, None, None));
    // Through the channel the peer's part can be reached, and nothing beside it.
    write(&cluster, addr[1] + 107, 9);
    let stream = rig.streams[0];
    let thread = comms[0].thread_of_stream(CommEngine::CpuTs, stream, 1).unwrap();
    let host =
        at_once(&comms[..2], |comm| comm.acquire_channels(CommEngine::CpuTs, &[ChannelDesc::new(1 - comm.rank(), 1)]));
    let channel = host[0].as_ref().unwrap()[0];
    let mut plane = cluster.data_plane(Side::Host);
    plane.read(thread, channel, addr[0], addr[1] + 100, 500).unwrap();
    cluster.synchronize(stream).unwrap();
    assert_eq!(read(&cluster, addr[0] + 7), 9);
    fails(plane.read(thread, channel, addr[0], addr[1] + 99, 4), Code::Para, "symmetric windows");
    // A peer that deregisters takes its part away.
    comms[1].deregister_window(windows[1]).unwrap();
    fails(device.peer_pointer(windows[0], 0, 1), Code::Para, "rank 1 has deregistered");
    fails(plane.read(thread, channel, addr[0], addr[1] + 101, 4), Code::Para, "symmetric windows");
    fails(comms[1].deregister_window(windows[1]), Code::Para, "destroyed");
    // And one that gives the memory back too early.
    cluster.memory().free(addr[2]).unwrap();
    fails(device.peer_pointer(windows[0], 0, 2), Code::Para, "has given back the memory");
    rig.end();
    (0..2).for_each(|rank| cluster.memory().free(addr[rank]).unwrap());
    nothing_is_left(&cluster);
}

#[test]
fn the_950_refuses_what_breaks_its_rules() {
    let cluster = cluster(Product::A950, 2);
    let comms = cluster.init_all(&[0, 1], &soon()).unwrap();
    let addr: Vec<u64> = (0..2).map(|rank| cluster.alloc(rank, 1000).unwrap()).collect();
    let register = |rank: usize, addr: u64, size: u64| comms[rank].register_window(Region { addr, size });
    fails(register(0, 0, 5), Code::Ptr, "null");
    fails(register(0, addr[0], 0), Code::Para, "0 bytes");
    fails(register(0, addr[0], 1001), Code::Para, "over the end");
    fails(register(0, addr[1], 5), Code::Para, "device 1");
    fails(register(0, 5, 5), Code::Para, "nothing is allocated");
    fails(comms[0].register_window_with(Region { addr: addr[0], size: 5 }, 2), Code::Para, "flag 2");
    // Registered by one rank only, and with two sizes: it shows when channels are acquired.
    let one = register(0, addr[0], 10).unwrap();
    let results = connect(&comms);
    fails(results[0].clone(), Code::Para, "rank 1 has not registered");
    results[1].clone().unwrap();
    let other = register(1, addr[1], 11).unwrap();
    connect(&comms).into_iter().for_each(|error| fails(error, Code::Para, "one size on all ranks"));
    comms[0].deregister_window(one).unwrap();
    comms[1].deregister_window(other).unwrap();
    connect(&comms).into_iter().for_each(Result::unwrap);
    // Memory that is mapped is kept by a window too.
    let (mapped, physical) = cluster.map_new(0, 1).unwrap();
    let window = register(0, mapped, 100).unwrap();
    fails(cluster.unmap(mapped), Code::InStatus, "symmetric window");
    comms[0].deregister_window(window).unwrap();
    cluster.unmap_all(mapped, physical).unwrap();
}

#[test]
fn communicators_have_windows_of_their_own() {
    let cluster = cluster(Product::A3, 2);
    let (one, two) = (Rig::new(&cluster, &[0, 1], &soon()), Rig::new(&cluster, &[1, 0], &soon()));
    let windows = Windows::new(&one, 10);
    // The same memory in another communicator.
    let swapped = [windows.regions[1], windows.regions[0]];
    let others = register_all(&two.comms, &swapped).unwrap();
    fails(two.comms[0].deregister_window(windows.handles[1]), Code::Para, "is one of rank 1");
    let device = cluster.data_plane(Side::Device);
    write(&cluster, device.peer_pointer(others[0], 3, 1).unwrap(), 8);
    assert_eq!(read(&cluster, windows.regions[0].addr + 3), 8);
    // Destroyed in any order, with windows still there: what it mapped goes with it.
    two.end();
    assert_eq!((cluster.in_use().windows, cluster.in_use().mappings), (2, 2 + 4));
    fails(device.peer_pointer(others[0], 3, 1), Code::Para, "destroyed");
    assert_eq!(read(&cluster, device.peer_pointer(windows.handles[1], 3, 0).unwrap()), 8);
    one.end();
    assert_eq!((cluster.in_use().windows, cluster.in_use().mappings, cluster.in_use().reservations), (0, 2, 2));
    windows.free_memory(&Rig { cluster: &cluster, comms: vec![], streams: vec![] });
    nothing_is_left(&cluster);
}

#[test]
fn memory_stays_for_peers_that_have_it_mapped() {
    let cluster = cluster(Product::A3, 2);
    let rig = Rig::new(&cluster, &[0, 1], &soon());
    let windows = Windows::new(&rig, 10);
    let device = cluster.data_plane(Side::Device);
    write(&cluster, windows.regions[1].addr, 42);
    let theirs = device.peer_pointer(windows.handles[0], 0, 1).unwrap();
    // Rank 1 is gone, and its memory given back: rank 0 has it mapped still.
    rig.comms[1].destroy().unwrap();
    windows.free_of(&cluster, 1);
    assert_eq!(read(&cluster, theirs), 42);
    assert_eq!(cluster.in_use().physical, 2);
    rig.comms[0].deregister_window(windows.handles[0]).unwrap();
    assert_eq!(cluster.in_use().physical, 1);
    windows.free_of(&cluster, 0);
    rig.comms[0].destroy().unwrap();
    rig.streams.iter().for_each(|stream| cluster.destroy_stream(*stream).unwrap());
    nothing_is_left(&cluster);
}

#[test]
fn one_sided_operations_reach_windows() {
    for product in [Product::A3, Product::A950] {
        let cluster = cluster(product, 2);
        let rig = Rig::new(&cluster, &[0, 1], &soon());
        let windows = Windows::new(&rig, 4096);
        at_once(&rig.comms, |comm| comm.connect(&[1 - comm.rank()])).into_iter().for_each(|one| drop(one.unwrap()));
        let device = cluster.data_plane(Side::Device);
        let theirs = device.peer_pointer(windows.handles[0], 100, 1).unwrap();
        let mine = Region { addr: windows.regions[0].addr, size: 50 };
        write(&cluster, mine.addr + 9, 5);
        rig.comms[0].put(1, theirs, mine, Some(0), rig.streams[0]).unwrap();
        rig.comms[1].await_signal(0, 0, rig.streams[1]).unwrap();
        rig.streams.iter().for_each(|stream| cluster.synchronize(*stream).unwrap());
        assert_eq!(read(&cluster, windows.regions[1].addr + 109), 5);
        let back = Region { addr: mine.addr + 1000, size: 50 };
        rig.comms[0].get(1, back, theirs, None, rig.streams[0]).unwrap();
        cluster.synchronize(rig.streams[0]).unwrap();
        assert_eq!(read(&cluster, back.addr + 9), 5);
        let handles = windows.handles.clone();
        windows.free(&rig);
        fails(device.peer_pointer(handles[0], 100, 1), Code::Para, "destroyed");
        assert!(rig.comms[0].put(1, theirs, back, None, rig.streams[0]).is_err());
        rig.end();
        nothing_is_left(&cluster);
    }
}

#[test]
fn communicators_register_the_same_memory_at_once() {
    for product in [Product::A3, Product::A950] {
        let cluster = cluster(product, 3);
        let all: Vec<Vec<Communicator>> = [[0, 1, 2], [1, 2, 0], [2, 0, 1]]
            .into_iter()
            .map(|devices| cluster.init_all(&devices, &CommConfig::default().timeouts(50, 500)).unwrap())
            .collect();
        let memory: Vec<_> = (0..3).map(|device| cluster.map_new(device, 3 * GRANULARITY).unwrap()).collect();
        thread::scope(|scope| {
            for (number, comm) in (0..).zip(all.iter().flatten()) {
                let (cluster, memory) = (&cluster, &memory);
                scope.spawn(move || {
                    let region = Region { addr: memory[comm.device() as usize].0, size: 100 };
                    let mut held = Vec::new();
                    for step in 0..30u64 {
                        held.push(comm.register_window(region).unwrap());
                        if product == Product::A3 {
                            let plane = cluster.data_plane(Side::Device);
                            let peer = (comm.rank() + 1) % 3;
                            // A byte of its own for each rank of each communicator.
                            let there = plane.peer_pointer(*held.last().unwrap(), number, peer).unwrap();
                            write(cluster, there, step as u8);
                            let device = comm.devices()[peer as usize] as usize;
                            assert_eq!(read(cluster, memory[device].0 + number), step as u8);
                        }
                        while held.len() > (step % 4) as usize {
                            comm.deregister_window(held.remove(0)).unwrap();
                            if product == Product::A950 {
                                // The same range is the same window there.
                                held.clear();
                            }
                        }
                    }
                });
            }
        });
        all.iter().flatten().for_each(|comm| comm.destroy().unwrap());
        memory.iter().for_each(|(addr, physical)| cluster.unmap_all(*addr, *physical).unwrap());
        nothing_is_left(&cluster);
    }
}
