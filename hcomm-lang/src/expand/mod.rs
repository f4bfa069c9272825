//! The items that `collective!` makes. They name nothing but `::core` and `::hcomm`.

mod budget;
mod emit;
mod item;
mod spec;

pub(crate) use item::item;
