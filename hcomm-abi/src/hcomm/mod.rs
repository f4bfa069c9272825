//! HCOMM's primitives.

mod primitives;
