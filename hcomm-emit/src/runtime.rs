//! The files of a package that are the same for every algorithm.

/// What an algorithm's class is written in: name and text, in the folder `common` of a package.
pub const SCHEDULE: [(&str, &str); 5] = [
    ("problem.h", include_str!("../templates/common/problem.h")),
    ("chunks.h", include_str!("../templates/common/chunks.h")),
    ("chunks.cc", include_str!("../templates/common/chunks.cc")),
    ("schedule.h", include_str!("../templates/common/schedule.h")),
    ("schedule.cc", include_str!("../templates/common/schedule.cc")),
];

/// The other files of a package, with names of the operator in some: path and text.
pub(crate) const FILES: [(&str, &str); 16] = [
    ("common/log.h", include_str!("../templates/common/log.h")),
    ("common/op_param.h", include_str!("../templates/common/op_param.h")),
    ("common/op_param.cc", include_str!("../templates/common/op_param.cc")),
    ("common/reduction.h", include_str!("../templates/common/reduction.h")),
    ("common/reduction.cc", include_str!("../templates/common/reduction.cc")),
    ("op_host/execute.h", include_str!("../templates/op_host/execute.h")),
    ("op_host/execute.cc", include_str!("../templates/op_host/execute.cc")),
    ("op_host/launch.h", include_str!("../templates/op_host/launch.h")),
    ("op_host/launch.cc", include_str!("../templates/op_host/launch.cc")),
    ("op_host/needs.h", include_str!("../templates/op_host/needs.h")),
    ("op_host/needs.cc", include_str!("../templates/op_host/needs.cc")),
    ("op_host/topology.h", include_str!("../templates/op_host/topology.h")),
    ("op_host/topology.cc", include_str!("../templates/op_host/topology.cc")),
    ("op_kernel_aicpu/hcomm_queue.h", include_str!("../templates/op_kernel_aicpu/hcomm_queue.h")),
    ("op_kernel_aicpu/hcomm_queue.cc", include_str!("../templates/op_kernel_aicpu/hcomm_queue.cc")),
    ("op_kernel_aicpu/kernel.cc", include_str!("../templates/op_kernel_aicpu/kernel.cc")),
];

/// The test: a text with names to be filled in.
pub(crate) const TEST: &str = include_str!("../templates/testcase/main.cc");
/// See [`TEST`].
pub(crate) const CMAKE: &str = include_str!("../templates/CMakeLists.txt");
/// See [`TEST`].
pub(crate) const README: &str = include_str!("../templates/README.md");
