//! All-to-all in two levels, of slices of different sizes.

use hcomm_macros::collective;

collective! {
    /// Hierarchical all-to-all of slices of different sizes: on the mesh inside to the rank of the right place, then
    /// pairwise between nodes.
    ///
    /// The first half of scratch holds what came from the own node, by the node and the rank it goes on to; the second
    /// half what has arrived, by the rank it came from.
    ///
    /// Cost for slices of at most m bytes on N nodes of L ranks: α + Nmβ inside + (N-1)(α + Lmβ) between. Sends 1/L as
    /// many messages over the slow links.
    /// Source: HCCL's algorithms, levels of all-to-all (inside, then between); Pairwise.
    pub HierarchicalAllToAllV: all_to_all_v {
        scratch: 2 * ranks;
        verify: layout { 4, 2 x 1, 2 x 2, 3 x 2, 5 x 1, 2 x 4, 4 x 3, 2 x 2 x 2 };
        copy_in { for to in 0..nodes { scratch[to * locals + local] = input[rank_of(to, local)]; } }
        par for peer in local_peers {
            pre_sync  { signal peer; wait peer; }
            move {
                for to in 0..nodes {
                    peer.scratch[to * locals + local] = input[rank_of(to, local_of(peer))];
                }
            }
            post_sync { signal peer; wait peer; }
        }
        let arrived = ranks + node * locals;
        for k in 1..nodes {
            let to = rank_of(wrap(node + k, nodes), local);
            let from = rank_of(wrap(node - k, nodes), local);
            let low = wrap(node + k, nodes) * locals;
            pre_sync  { signal from; wait to; }
            move      { to.scratch[arrived..arrived + locals] = scratch[low..low + locals]; }
            post_sync { signal to; wait from; }
        }
        move { scratch[arrived..arrived + locals] = scratch[node * locals..node * locals + locals]; }
        copy_out { output = scratch[ranks..2 * ranks]; }
    }
}
