//! The rank graph: layers, ranks, links.

use super::layout::{Endpoint, Header, LINK_MAGIC, Link};
use crate::ffi::{self, c_functions, put};
use crate::state::{State, lock, state};
use hcomm_core::product::Product;
use hcomm_sim::comm::{Code, CommError, Communicator, Protocol, Result};
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::Mutex;

/// Topologies (CommTopo).
const CLOS: i32 = 0;
const MESH: i32 = 1;
const A3_PAIRS: i32 = 2;

/// What queries have given out, which belongs to the library until the next one: by communicator.
static GIVEN: Mutex<BTreeMap<u64, Given>> = Mutex::new(BTreeMap::new());

#[derive(Default)]
struct Given {
    layers: Vec<u32>,
    ranks: Vec<u32>,
    sizes: Vec<u32>,
    instances: Vec<u32>,
    links: Vec<Link>,
}

fn para(sentence: impl Into<String>) -> CommError {
    CommError::new(Code::Para, sentence)
}

/// A communicator and where its ranks are.
struct Graph {
    state: &'static State,
    comm: Communicator,
}

impl Graph {
    fn new(comm: *mut c_void) -> Result<Graph> {
        let state = state()?;
        Ok(Graph { state, comm: state.comm(comm)? })
    }

    /// The server and the superpod of a rank.
    fn place(&self, rank: u32) -> Result<(u32, u32)> {
        let device = self.comm.devices().get(rank as usize).copied();
        let device = device.ok_or_else(|| para(format!("there is no rank {rank}: there are {}", self.comm.size())))?;
        let layout = self.state.cluster.layout();
        let node = layout.place(device).0;
        Ok((node, layout.pod_of(node)))
    }

    /// The layer at which two ranks are joined: 0 in a server, 1 in a superpod, 2 beyond.
    fn layer(&self, a: u32, b: u32) -> Result<u32> {
        let (a, b) = (self.place(a)?, self.place(b)?);
        Ok(if a.0 == b.0 {
            0
        } else if a.1 == b.1 {
            1
        } else {
            2
        })
    }

    /// Layers that the communicator has.
    fn layers(&self) -> Result<Vec<u32>> {
        let mut layers = vec![0];
        for rank in 0..self.comm.size() {
            layers.push(self.layer(0, rank)?);
        }
        layers.sort_unstable();
        layers.dedup();
        Ok(layers)
    }

    /// Ranks that can be reached from this one at a layer: those of the layers below too, and itself.
    fn ranks(&self, layer: u32) -> Result<Vec<u32>> {
        self.has(layer)?;
        let mut ranks = Vec::new();
        for rank in 0..self.comm.size() {
            if self.layer(self.comm.rank(), rank)? <= layer {
                ranks.push(rank);
            }
        }
        Ok(ranks)
    }

    fn has(&self, layer: u32) -> Result<()> {
        let layers = self.layers()?;
        if layers.contains(&layer) {
            return Ok(());
        }
        Err(para(format!("there is no layer {layer}: there are {layers:?}")))
    }

    /// The numbers of ranks in the instances of a layer.
    fn sizes(&self, layer: u32) -> Result<Vec<u32>> {
        self.has(layer)?;
        let mut sizes: BTreeMap<u32, u32> = BTreeMap::new();
        for rank in 0..self.comm.size() {
            let (node, pod) = self.place(rank)?;
            *sizes
                .entry(match layer {
                    0 => node,
                    1 => pod,
                    _ => 0,
                })
                .or_default() += 1;
        }
        Ok(sizes.into_values().collect())
    }

    fn topology(&self, layer: u32) -> Result<i32> {
        self.has(layer)?;
        Ok(match (self.state.cluster.product(), layer) {
            (Product::A3, 0) => A3_PAIRS,
            (_, 0) => MESH,
            _ => CLOS,
        })
    }

    fn protocols(&self, from: u32, to: u32) -> &'static [Protocol] {
        let devices = self.comm.devices();
        let cluster = &self.state.cluster;
        let link = cluster.product().link(cluster.layout(), devices[from as usize], devices[to as usize]);
        Protocol::of_link(link)
    }

    fn links(&self, layer: u32, from: u32, to: u32) -> Result<Vec<Link>> {
        self.has(layer)?;
        if from == to || self.layer(from, to)? != layer {
            return Ok(Vec::new());
        }
        self.protocols(from, to).iter().map(|protocol| self.link(*protocol, from, to)).collect()
    }

    fn link(&self, protocol: Protocol, from: u32, to: u32) -> Result<Link> {
        let mut attributes = [u32::MAX; 32];
        attributes[0] = protocol as u32;
        attributes[1] = u32::MAX << 8 | 1;
        let header = Header { version: 1, magic: LINK_MAGIC, size: size_of::<Link>() as u32, reserved: 0 };
        Ok(Link { header, src: self.endpoint(protocol, from)?, dst: self.endpoint(protocol, to)?, attributes })
    }

    fn endpoint(&self, protocol: Protocol, rank: u32) -> Result<Endpoint> {
        const ADDR_ID: i32 = 2;
        const LOC_DEVICE: i32 = 0;
        let (node, pod) = self.place(rank)?;
        let device = self.comm.devices()[rank as usize];
        let mut end = Endpoint {
            protocol: protocol as i32,
            addr_type: ADDR_ID,
            addr: [u32::MAX; 9],
            loc_type: LOC_DEVICE,
            loc: [u32::MAX; 15],
            raws: [u32::MAX; 13],
        };
        end.addr[0] = device;
        end.loc[..4].copy_from_slice(&[device, device, node, pod]);
        Ok(end)
    }
}

/// Keeps what is given out, and gives it out.
///
/// # Safety
///
/// `out` and `count` are null or can be written.
unsafe fn give<T>(
    comm: *mut c_void,
    place: fn(&mut Given) -> &mut Vec<T>,
    found: Vec<T>,
    out: *mut *const T,
    count: *mut u32,
) -> Result<()> {
    let mut given = lock(&GIVEN);
    let kept = place(given.entry(ffi::number(comm)).or_default());
    *kept = found;
    // SAFETY: as the caller says.
    unsafe {
        put(count, "the number", kept.len() as u32)?;
        put(out, "the array", kept.as_ptr())
    }
}

c_functions! {
    hccl HcclRankGraphGetLayers(comm: *mut c_void, out: *mut *const u32, count: *mut u32) {
        let layers = Graph::new(comm)?.layers()?;
        // SAFETY: null or C's to write to.
        unsafe { give(comm, |given| &mut given.layers, layers, out, count) }
    }

    hccl HcclRankGraphGetRanksByLayer(comm: *mut c_void, layer: u32, out: *mut *const u32, count: *mut u32) {
        let ranks = Graph::new(comm)?.ranks(layer)?;
        // SAFETY: null or C's to write to.
        unsafe { give(comm, |given| &mut given.ranks, ranks, out, count) }
    }

    hccl HcclRankGraphGetRankSizeByLayer(comm: *mut c_void, layer: u32, count: *mut u32) {
        let ranks = Graph::new(comm)?.ranks(layer)?.len() as u32;
        // SAFETY: null or C's to write to.
        unsafe { put(count, "rankNum", ranks) }
    }

    hccl HcclRankGraphGetTopoTypeByLayer(comm: *mut c_void, layer: u32, topology: *mut i32) {
        let found = Graph::new(comm)?.topology(layer)?;
        // SAFETY: null or C's to write to.
        unsafe { put(topology, "topoType", found) }
    }

    hccl HcclRankGraphGetInstSizeListByLayer(
        comm: *mut c_void,
        layer: u32,
        out: *mut *const u32,
        count: *mut u32,
    ) {
        let sizes = Graph::new(comm)?.sizes(layer)?;
        // SAFETY: null or C's to write to.
        unsafe { give(comm, |given| &mut given.sizes, sizes, out, count) }
    }

    hccl HcclRankGraphGetLinks(
        comm: *mut c_void,
        layer: u32,
        from: u32,
        to: u32,
        out: *mut *const Link,
        count: *mut u32,
    ) {
        let links = Graph::new(comm)?.links(layer, from, to)?;
        // SAFETY: null or C's to write to.
        unsafe { give(comm, |given| &mut given.links, links, out, count) }
    }

    hccl HcclRankGraphGetTopoInstsByLayer(comm: *mut c_void, layer: u32, out: *mut *const u32, count: *mut u32) {
        // A rank is in one instance of each layer.
        Graph::new(comm)?.has(layer)?;
        // SAFETY: null or C's to write to.
        unsafe { give(comm, |given| &mut given.instances, vec![0], out, count) }
    }

    hccl HcclRankGraphGetTopoType(comm: *mut c_void, layer: u32, instance: u32, topology: *mut i32) {
        let found = Graph::new(comm)?.topology(layer)?;
        only(instance)?;
        // SAFETY: null or C's to write to.
        unsafe { put(topology, "topoType", found) }
    }

    hccl HcclRankGraphGetRanksByTopoInst(
        comm: *mut c_void,
        layer: u32,
        instance: u32,
        out: *mut *const u32,
        count: *mut u32,
    ) {
        let ranks = Graph::new(comm)?.ranks(layer)?;
        only(instance)?;
        // SAFETY: null or C's to write to.
        unsafe { give(comm, |given| &mut given.ranks, ranks, out, count) }
    }
}

fn only(instance: u32) -> Result<()> {
    if instance == 0 { Ok(()) } else { Err(para(format!("there is no instance {instance}: there is 0"))) }
}
