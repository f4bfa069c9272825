//! Who takes part: how many ranks, how they are laid out, and who is root, source and destination.

/// The most ranks that an algorithm can be instantiated for.
pub const MAX_RANKS: u32 = 4096;
/// The most nodes that a layout of unequal nodes can have.
pub const MAX_UNEQUAL_NODES: usize = 64;

/// Pods × nodes × locals. Ranks are numbered node by node, so with equal nodes rank = node · locals + local.
///
/// A node is a server (the ranks that a full mesh joins), a pod a superpod of `nodes / pods` nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Layout {
    pods: u32,
    nodes: u32,
    ranks: u32,
    /// Locals of every node, or 0 where nodes differ.
    equal: u32,
    /// Locals of each node where nodes differ.
    each: [u16; MAX_UNEQUAL_NODES],
}

impl Layout {
    /// One node that holds all ranks. `None` if there are none, or more than [`MAX_RANKS`].
    pub const fn flat(ranks: u32) -> Option<Layout> {
        Layout::equal(1, 1, ranks)
    }

    /// `pods` pods of `nodes` nodes of `locals` ranks. `None` if a number is zero or there are more than
    /// [`MAX_RANKS`] ranks.
    pub const fn equal(pods: u32, nodes: u32, locals: u32) -> Option<Layout> {
        if pods == 0 || nodes == 0 || locals == 0 || pods > MAX_RANKS || nodes > MAX_RANKS || locals > MAX_RANKS {
            return None;
        }
        let all = pods as u64 * nodes as u64 * locals as u64;
        if all > MAX_RANKS as u64 {
            return None;
        }
        Some(Layout { pods, nodes: pods * nodes, ranks: all as u32, equal: locals, each: [0; MAX_UNEQUAL_NODES] })
    }

    /// One pod of nodes with `locals[i]` ranks each. `None` if a number is zero or there are more than
    /// [`MAX_UNEQUAL_NODES`] nodes or [`MAX_RANKS`] ranks.
    pub const fn unequal(locals: &[u32]) -> Option<Layout> {
        if locals.is_empty() || locals.len() > MAX_UNEQUAL_NODES {
            return None;
        }
        let mut each = [0; MAX_UNEQUAL_NODES];
        let (mut i, mut all, mut same) = (0, 0u32, true);
        while i < locals.len() {
            if locals[i] == 0 || locals[i] > MAX_RANKS {
                return None;
            }
            each[i] = locals[i] as u16;
            all += locals[i];
            same = same && locals[i] == locals[0];
            i += 1;
        }
        if same {
            return Layout::equal(1, locals.len() as u32, locals[0]);
        }
        if all > MAX_RANKS {
            return None;
        }
        Some(Layout { pods: 1, nodes: locals.len() as u32, ranks: all, equal: 0, each })
    }

    /// All ranks.
    pub const fn ranks(&self) -> u32 {
        self.ranks
    }

    /// Nodes in all pods.
    pub const fn nodes(&self) -> u32 {
        self.nodes
    }

    /// Pods.
    pub const fn pods(&self) -> u32 {
        self.pods
    }

    /// Ranks of node `node`; `None` if there is no such node.
    pub const fn locals_of(&self, node: u32) -> Option<u32> {
        if node >= self.nodes {
            None
        } else if self.equal != 0 {
            Some(self.equal)
        } else {
            Some(self.each[node as usize] as u32)
        }
    }

    /// The first rank of node `node`, which is below [`nodes`](Self::nodes).
    pub const fn first_of(&self, node: u32) -> u32 {
        if self.equal != 0 {
            return node * self.equal;
        }
        let (mut i, mut first) = (0, 0);
        while i < node && i < self.nodes {
            first += self.each[i as usize] as u32;
            i += 1;
        }
        first
    }

    /// The node and the place in it of `rank`, which is below [`ranks`](Self::ranks).
    pub const fn place(&self, rank: u32) -> (u32, u32) {
        if let (Some(node), Some(local)) = (rank.checked_div(self.equal), rank.checked_rem(self.equal)) {
            return (node, local);
        }
        let (mut node, mut rest) = (0, rank);
        while node + 1 < self.nodes && rest >= self.each[node as usize] as u32 {
            rest -= self.each[node as usize] as u32;
            node += 1;
        }
        (node, rest)
    }

    /// The pod of node `node`.
    pub const fn pod_of(&self, node: u32) -> u32 {
        node / (self.nodes / self.pods)
    }

    /// Whether every node has the same number of ranks.
    pub const fn is_equal(&self) -> bool {
        self.equal != 0
    }
}

impl std::fmt::Display for Layout {
    /// `8`, `2 x 4`, `2 x 2 x 4`, or `[3, 5]` for unequal nodes.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.equal == 0 {
            return write!(f, "{:?}", &self.each[..self.nodes as usize]);
        }
        match (self.pods, self.nodes) {
            (1, 1) => write!(f, "{}", self.ranks),
            (1, nodes) => write!(f, "{nodes} x {}", self.equal),
            (pods, nodes) => write!(f, "{pods} x {} x {}", nodes / pods, self.equal),
        }
    }
}

/// A layout and the roles in it. Roles that an operator does not have are 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shape {
    /// The ranks and their places.
    pub layout: Layout,
    /// The root of broadcast, reduce, scatter and gather.
    pub root: u32,
    /// The sender of send_recv.
    pub src: u32,
    /// The receiver of send_recv.
    pub dst: u32,
}

impl Shape {
    /// `layout` with root 0, source 0 and destination 1 (0 if there is one rank).
    pub const fn new(layout: Layout) -> Shape {
        Shape { layout, root: 0, src: 0, dst: if layout.ranks > 1 { 1 } else { 0 } }
    }

    /// All ranks.
    pub const fn ranks(&self) -> u32 {
        self.layout.ranks
    }
}
