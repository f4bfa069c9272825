//! The files of a package that are the same for every algorithm.

/// What an algorithm's class is written in: name and text.
pub const SCHEDULE: [(&str, &str); 5] = [
    ("problem.h", include_str!("../templates/common/problem.h")),
    ("chunks.h", include_str!("../templates/common/chunks.h")),
    ("chunks.cc", include_str!("../templates/common/chunks.cc")),
    ("schedule.h", include_str!("../templates/common/schedule.h")),
    ("schedule.cc", include_str!("../templates/common/schedule.cc")),
];
