//! The files of a package that are the same for every algorithm.

/// What an algorithm's class is written in: name and text, in the folder `common` of a package.
pub const SCHEDULE: [(&str, &str); 5] = [
    ("problem.h", include_str!("../templates/common/problem.h")),
    ("chunks.h", include_str!("../templates/common/chunks.h")),
    ("chunks.cc", include_str!("../templates/common/chunks.cc")),
    ("schedule.h", include_str!("../templates/common/schedule.h")),
    ("schedule.cc", include_str!("../templates/common/schedule.cc")),
];

macro_rules! files {
    ($($to:literal: $from:literal,)*) => { &[$(($to, include_str!(concat!("../templates/", $from)))),*] };
}

/// Files that packages of both engines have, some with names to be filled in: path and text.
pub(crate) const FILES: &[(&str, &str)] = files! {
    "common/data_type.cc": "common/data_type.cc",
    "common/data_type.h": "common/data_type.h",
    "common/log.h": "common/log.h",
    "op_host/checks.cc": "op_host/checks.cc",
    "op_host/checks.h": "op_host/checks.h",
    "op_host/execute.h": "op_host/execute.h",
    "op_host/needs.cc": "op_host/needs.cc",
    "op_host/needs.h": "op_host/needs.h",
    "op_host/topology.cc": "op_host/topology.cc",
    "op_host/topology.h": "op_host/topology.h",
};

/// Files of packages for AI CPU.
pub(crate) const AI_CPU_FILES: &[(&str, &str)] = files! {
    "CMakeLists.txt": "CMakeLists.txt",
    "common/op_param.cc": "common/op_param.cc",
    "common/op_param.h": "common/op_param.h",
    "common/reduction.cc": "common/reduction.cc",
    "common/reduction.h": "common/reduction.h",
    "op_host/execute.cc": "op_host/execute.cc",
    "op_host/launch.cc": "op_host/launch.cc",
    "op_host/launch.h": "op_host/launch.h",
    "op_kernel_aicpu/hcomm_queue.cc": "op_kernel_aicpu/hcomm_queue.cc",
    "op_kernel_aicpu/hcomm_queue.h": "op_kernel_aicpu/hcomm_queue.h",
    "op_kernel_aicpu/kernel.cc": "op_kernel_aicpu/kernel.cc",
};

/// What packages for AI CPU have in addition if the buffers are in symmetric windows.
pub(crate) const WINDOW_FILES: &[(&str, &str)] = files! {
    "op_host/windows.cc": "op_host/windows.cc",
    "op_host/windows.h": "op_host/windows.h",
};

/// Files of packages for AIV.
pub(crate) const AIV_FILES: &[(&str, &str)] = files! {
    "CMakeLists.txt": "aiv/CMakeLists.txt",
    "op_host/execute.cc": "aiv/execute.cc",
    "op_host/launch_aiv.cc": "aiv/launch.cc",
    "op_host/launch_aiv.h": "aiv/launch_aiv.h",
    "op_kernel_aiv/aiv_param.h": "aiv/aiv_param.h",
    "op_kernel_aiv/aiv_schedule.h": "aiv/aiv_schedule.h",
    "op_kernel_aiv/kernel.cc": "aiv/kernel.cc",
};

/// The test of a package: a text with names to be filled in.
pub(crate) const TEST: &str = include_str!("../templates/testcase/main.cc");
/// Its description.
pub(crate) const README: &str = include_str!("../templates/README.md");
/// What is said in it of building for an engine, and of what there is to know.
pub(crate) const README_AI_CPU: [&str; 3] = [
    include_str!("../templates/readme/folders_aicpu.md"),
    include_str!("../templates/readme/building_aicpu.md"),
    include_str!("../templates/readme/notes_aicpu.md"),
];
/// The same for AIV.
pub(crate) const README_AIV: [&str; 3] = [
    include_str!("../templates/readme/folders_aiv.md"),
    include_str!("../templates/readme/building_aiv.md"),
    include_str!("../templates/readme/notes_aiv.md"),
];
