//! The library: one algorithm a file, written as a user would write it.
//!
//! Read these to learn the language. [`LIBRARY`] has them all, and `docs/algorithms.md` is a table of them.

// What `collective!` makes names `::hcomm`, which for users is the facade. The facade depends on this crate, so here
// the core stands in for it.
extern crate hcomm_core as hcomm;

use hcomm_core::Collective;
use hcomm_core::spec::Spec;

/// The modules of the operators, and the library in their order.
macro_rules! library {
    ($($operator:ident { $($algorithm:ident),* $(,)? })*) => {
        $(mod $operator;)*
        $(pub use $operator::{$($algorithm),*};)*

        /// All algorithms of the library, by operator.
        pub static LIBRARY: &[&Spec<'static>] = &[$($(&<$algorithm as Collective>::SPEC),*),*];
    };
}

library! {
    all_gather {
        MeshAllGather, BoundedMeshAllGather, RingAllGather, BidirectionalRingAllGather, RhdAllGather, NhrAllGather,
        NbAllGather, HierarchicalAllGather, ThreeLevelAllGather, PipelineAllGather, AhcAllGather,
        ZeroCopyMeshAllGather, ZeroCopyRingAllGather,
    }
    reduce_scatter {
        MeshReduceScatter, RingReduceScatter, RhdReduceScatter, NhrReduceScatter, NbReduceScatter,
        HierarchicalReduceScatter, ThreeLevelReduceScatter, PipelineReduceScatter, AhcReduceScatter,
        ZeroCopyMeshReduceScatter,
    }
    all_reduce {
        OneShotAllReduce, TwoShotAllReduce, RingAllReduce, BidirectionalRingAllReduce, RhdAllReduce, NhrAllReduce,
        NbAllReduce, HierarchicalAllReduce, ThreeLevelAllReduce, PipelineAllReduce, AhcAllReduce,
        ZeroCopyMeshAllReduce,
    }
    broadcast {
        MeshBroadcast, StarBroadcast, RingBroadcast, RhdBroadcast, NhrBroadcast, NbBroadcast, BinomialBroadcast,
        HierarchicalBroadcast, ThreeLevelBroadcast,
    }
    reduce {
        MeshReduce, StarReduce, RingReduce, RhdReduce, BinomialReduce, HierarchicalReduce, ThreeLevelReduce,
    }
    scatter {
        MeshScatter, StarScatter, NhrScatter, NbScatter, BinomialScatter, HierarchicalScatter,
    }
    gather {
        MeshGather, StarGather, BinomialGather, HierarchicalGather,
    }
    all_to_all {
        MeshAllToAll, GroupedMeshAllToAll, PairwiseAllToAll, HierarchicalAllToAll, ZeroCopyMeshAllToAll,
    }
    send_recv {
        ReadSendRecv, WriteSendRecv,
    }
    barrier {
        MeshBarrier, DisseminationBarrier,
    }
    all_gather_v {
        MeshAllGatherV, BoundedMeshAllGatherV, RingAllGatherV, NhrAllGatherV, HierarchicalAllGatherV,
    }
    reduce_scatter_v {
        MeshReduceScatterV, RingReduceScatterV, NhrReduceScatterV, HierarchicalReduceScatterV,
    }
    all_to_all_v {
        MeshAllToAllV, GroupedMeshAllToAllV, PairwiseAllToAllV, HierarchicalAllToAllV,
    }
    all_to_all_vc {
        MeshAllToAllVc, GroupedMeshAllToAllVc, PairwiseAllToAllVc, HierarchicalAllToAllVc,
    }
    batch_send_recv {
        GroupedMeshBatchSendRecv, PairwiseBatchSendRecv,
    }
}
