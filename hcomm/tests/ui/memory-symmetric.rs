use hcomm::collective;

// Windows are for operators whose buffers are the same on every rank, and for AI CPU.
collective! {
    pub Tree: broadcast {
        memory: symmetric;
        if rank == root { copy_in { output = input; } }
    }
}

collective! {
    pub Cores: all_gather {
        memory: symmetric;
        engines: ai_cpu, aiv;
        copy_in { output[rank] = input; }
    }
}

// `input` is read-only in a window too.
collective! {
    pub WritesInput: all_reduce {
        memory: symmetric;
        par for peer in peers {
            pre_sync  { signal peer; wait peer; }
            move      { peer.input[rank] += input[rank]; }
            post_sync { signal peer; wait peer; }
        }
    }
}

fn main() {}
