//! Makes the directory that operators are built with.

fn main() {}
