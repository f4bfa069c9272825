//! The C API of HCOMM, of HCCL's communicator, and of the part of the ACL runtime that operators use, on the communicator
//! of `hcomm-sim`. `docs/stand-in.md` says how to use it, and lists every function.
//!
//! The functions are for C: from Rust, use [`hcomm_sim`]. What can be used from Rust is the recording of what was called.

mod acl;
mod ffi;
mod hccl;
mod hcomm;
mod log;
mod memory;
mod objects;
pub mod record;
mod recorder;
mod state;

/// Headers and package file of the stand-in: path in its directory, and text.
pub fn files() -> Vec<(&'static str, &'static str)> {
    vec![
        ("include/acl/acl.h", include_str!("../include/acl/acl.h")),
        ("include/acl/acl_base.h", include_str!("../include/acl/acl_base.h")),
        ("include/acl/acl_rt.h", include_str!("../include/acl/acl_rt.h")),
        ("include/hccl.h", include_str!("../include/hccl.h")),
        ("include/hccl/hccl.h", include_str!("../include/hccl/hccl.h")),
        ("include/hccl/hccl_channel.h", include_str!("../include/hccl/hccl_channel.h")),
        ("include/hccl/hccl_comm.h", include_str!("../include/hccl/hccl_comm.h")),
        ("include/hccl/hccl_launch.h", include_str!("../include/hccl/hccl_launch.h")),
        ("include/hccl/hccl_rank_graph.h", include_str!("../include/hccl/hccl_rank_graph.h")),
        ("include/hccl/hccl_res.h", include_str!("../include/hccl/hccl_res.h")),
        ("include/hccl/hccl_res_expt.h", include_str!("../include/hccl/hccl_res_expt.h")),
        ("include/hccl/hccl_sym_win.h", include_str!("../include/hccl/hccl_sym_win.h")),
        ("include/hccl/hccl_types.h", include_str!("../include/hccl/hccl_types.h")),
        ("include/hccl/hcomm_channel.h", include_str!("../include/hccl/hcomm_channel.h")),
        ("include/hccl/hcomm_primitives.h", include_str!("../include/hccl/hcomm_primitives.h")),
        ("include/hccl/hcomm_primitives_expt.h", include_str!("../include/hccl/hcomm_primitives_expt.h")),
        ("include/hccl/hcomm_res.h", include_str!("../include/hccl/hcomm_res.h")),
        ("include/hccl/hcomm_res_defs.h", include_str!("../include/hccl/hcomm_res_defs.h")),
        ("include/hccl_channel.h", include_str!("../include/hccl_channel.h")),
        ("include/hccl_comm.h", include_str!("../include/hccl_comm.h")),
        ("include/hccl_launch.h", include_str!("../include/hccl_launch.h")),
        ("include/hccl_rank_graph.h", include_str!("../include/hccl_rank_graph.h")),
        ("include/hccl_res.h", include_str!("../include/hccl_res.h")),
        ("include/hccl_res_expt.h", include_str!("../include/hccl_res_expt.h")),
        ("include/hccl_sym_win.h", include_str!("../include/hccl_sym_win.h")),
        ("include/hccl_types.h", include_str!("../include/hccl_types.h")),
        ("include/hcomm/hcomm_primitives_expt.h", include_str!("../include/hcomm/hcomm_primitives_expt.h")),
        ("include/hcomm_channel.h", include_str!("../include/hcomm_channel.h")),
        ("include/hcomm_primitives.h", include_str!("../include/hcomm_primitives.h")),
        ("include/hcomm_primitives_expt.h", include_str!("../include/hcomm_primitives_expt.h")),
        ("include/hcomm_res.h", include_str!("../include/hcomm_res.h")),
        ("include/hcomm_res_defs.h", include_str!("../include/hcomm_res_defs.h")),
        ("include/kernel_operator.h", include_str!("../include/kernel_operator.h")),
        ("include/securec.h", include_str!("../include/securec.h")),
        ("cmake/hcomm-standin-config.cmake", include_str!("../cmake/hcomm-standin-config.cmake")),
    ]
}
