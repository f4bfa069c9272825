//! Addresses and physical memory apart.

use super::{fails, nothing_is_left, read, write};
use crate::support::cluster;
use hcomm_core::product::Product;
use hcomm_sim::comm::{Code, GRANULARITY, PhysicalHandle, Place, Region};

#[test]
fn addresses_stand_for_memory_as_long_as_it_is_mapped() {
    let cluster = cluster(Product::A3, 2);
    let memory = cluster.memory();
    let addr = cluster.reserve(3 * GRANULARITY).unwrap();
    assert!(addr.is_multiple_of(GRANULARITY));
    let block = cluster.allocate_physical(1, GRANULARITY).unwrap();
    assert_eq!((memory.used(Place::Device(1)), memory.find(addr)), (GRANULARITY, None));
    fails(memory.read(addr, &mut [0]), Code::Memory, "only reserved");
    // Somewhere in the reservation, and a second time elsewhere.
    let other = cluster.reserve(GRANULARITY).unwrap();
    cluster.map(addr + GRANULARITY, GRANULARITY, block).unwrap();
    cluster.map(other, GRANULARITY, block).unwrap();
    assert_eq!(memory.used(Place::Device(1)), GRANULARITY);
    let region = Region { addr: addr + GRANULARITY, size: GRANULARITY };
    assert_eq!(memory.find(region.addr + 5), Some((region, Place::Device(1))));
    write(&cluster, region.addr + 100, 7);
    assert_eq!((read(&cluster, region.addr + 99), read(&cluster, other + 100)), (0, 7));
    // A copy within the block that overlaps itself, by different addresses.
    memory.write(other, &[1, 2, 3, 4]).unwrap();
    memory.copy(other + 1, region.addr, 4).unwrap();
    let mut got = [0; 5];
    memory.read(region.addr, &mut got).unwrap();
    assert_eq!(got, [1, 1, 2, 3, 4]);
    fails(memory.read(region.addr + GRANULARITY - 1, &mut [0; 2]), Code::Memory, "over the end");
    cluster.unmap(region.addr).unwrap();
    fails(memory.read(region.addr, &mut [0]), Code::Memory, "only reserved");
    assert_eq!(read(&cluster, other + 100), 7);
    cluster.unmap(other).unwrap();
    cluster.map(addr, GRANULARITY, block).unwrap();
    assert_eq!(read(&cluster, addr + 100), 7);
    cluster.unmap_all(addr, block).unwrap();
    cluster.release(other).unwrap();
    nothing_is_left(&cluster);
}

#[test]
fn what_is_out_of_order_or_out_of_range_is_an_error() {
    let cluster = cluster(Product::A3, 2);
    let addr = cluster.reserve(4 * GRANULARITY).unwrap();
    let block = cluster.allocate_physical(0, 2 * GRANULARITY).unwrap();
    fails(cluster.reserve(0), Code::Para, "0 bytes");
    fails(cluster.reserve(u64::MAX), Code::Oom, "left to reserve");
    fails(cluster.allocate_physical(0, 0), Code::Para, "0 bytes");
    fails(cluster.allocate_physical(2, 1), Code::Para, "2");
    fails(cluster.allocate_physical(0, 1 << 50), Code::Oom, "do not fit");
    fails(cluster.map(0, 2 * GRANULARITY, block), Code::Ptr, "null");
    fails(cluster.map(addr, GRANULARITY, block), Code::Para, "as a whole");
    fails(cluster.map(addr + 1, 2 * GRANULARITY, block), Code::Para, "granularity");
    fails(cluster.map(addr + 3 * GRANULARITY, 2 * GRANULARITY, block), Code::Para, "over the end");
    fails(cluster.map(addr + 4 * GRANULARITY, 2 * GRANULARITY, block), Code::Para, "not reserved");
    fails(cluster.map(addr, 2 * GRANULARITY, PhysicalHandle(0)), Code::Ptr, "null");
    let odd = cluster.allocate_physical(0, 100).unwrap();
    fails(cluster.map(addr, 100, odd), Code::Para, "granularity");
    cluster.free_physical(odd).unwrap();
    fails(cluster.unmap(addr), Code::NotFound, "nothing is mapped");
    fails(cluster.release(addr + GRANULARITY), Code::Para, "release that address");
    fails(cluster.release(0), Code::Ptr, "null");

    cluster.map(addr, 2 * GRANULARITY, block).unwrap();
    let more = cluster.allocate_physical(0, 2 * GRANULARITY).unwrap();
    fails(cluster.map(addr + GRANULARITY, 2 * GRANULARITY, more), Code::InStatus, "already");
    let theirs = cluster.allocate_physical(1, 2 * GRANULARITY).unwrap();
    fails(cluster.map(addr + 2 * GRANULARITY, 2 * GRANULARITY, theirs), Code::Para, "one device");
    cluster.map(addr + 2 * GRANULARITY, 2 * GRANULARITY, more).unwrap();
    fails(cluster.free_physical(block), Code::InStatus, "unmap them");
    fails(cluster.release(addr), Code::InStatus, "unmap it");
    fails(cluster.unmap(addr + 1), Code::NotFound, "nothing is mapped");
    fails(cluster.memory().free(addr), Code::Para, "unmapped");
    cluster.unmap(addr).unwrap();
    fails(cluster.unmap(addr), Code::NotFound, "before");
    fails(cluster.release(addr), Code::InStatus, "unmap it");
    cluster.unmap(addr + 2 * GRANULARITY).unwrap();
    // The addresses may go before the memory, which nothing stands for.
    cluster.release(addr).unwrap();
    fails(cluster.release(addr), Code::NotFound, "before");
    for handle in [block, more, theirs] {
        cluster.free_physical(handle).unwrap();
        fails(cluster.free_physical(handle), Code::NotFound, "destroyed");
    }
    nothing_is_left(&cluster);
}
