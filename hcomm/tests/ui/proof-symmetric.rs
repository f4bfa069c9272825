use hcomm::collective;

// There is no scratch unless it is asked for.
collective! {
    pub Scratch: all_gather {
        memory: symmetric;
        copy_in { scratch[rank] = input; }
    }
}

// The caller may change `input` as soon as its rank is done: who reads it has to say so.
collective! {
    pub NoDone: all_gather {
        memory: symmetric;
        copy_in { output[rank] = input; }
        par for peer in peers {
            pre_sync { signal peer; wait peer; }
            move     { output[peer] = peer.input; }
        }
    }
}

// A peer's output is the last invocation's until its rank has begun.
collective! {
    pub NoReady: all_gather {
        memory: symmetric;
        copy_in { output[rank] = input; }
        par for peer in peers {
            move      { peer.output[rank] = input; }
            post_sync { signal peer; wait peer; }
        }
    }
}

fn main() {}
