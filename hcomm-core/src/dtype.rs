//! Data types and reductions, by HCCL's names (facts 3.1).

/// An element type of `HcclDataType`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "each is the type of its name")]
pub enum DataType {
    Int8,
    Int16,
    Int32,
    Int64,
    Uint8,
    Uint16,
    Uint32,
    Uint64,
    Fp16,
    Fp32,
    Fp64,
    Bf16,
    Int128,
    Hif8,
    Fp8e4m3,
    Fp8e5m2,
    Fp8e8m0,
}

impl DataType {
    /// All types.
    pub const ALL: [DataType; 17] = [
        DataType::Int8,
        DataType::Int16,
        DataType::Int32,
        DataType::Int64,
        DataType::Uint8,
        DataType::Uint16,
        DataType::Uint32,
        DataType::Uint64,
        DataType::Fp16,
        DataType::Fp32,
        DataType::Fp64,
        DataType::Bf16,
        DataType::Int128,
        DataType::Hif8,
        DataType::Fp8e4m3,
        DataType::Fp8e5m2,
        DataType::Fp8e8m0,
    ];

    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            DataType::Int8 => "int8",
            DataType::Int16 => "int16",
            DataType::Int32 => "int32",
            DataType::Int64 => "int64",
            DataType::Uint8 => "uint8",
            DataType::Uint16 => "uint16",
            DataType::Uint32 => "uint32",
            DataType::Uint64 => "uint64",
            DataType::Fp16 => "fp16",
            DataType::Fp32 => "fp32",
            DataType::Fp64 => "fp64",
            DataType::Bf16 => "bf16",
            DataType::Int128 => "int128",
            DataType::Hif8 => "hif8",
            DataType::Fp8e4m3 => "fp8e4m3",
            DataType::Fp8e5m2 => "fp8e5m2",
            DataType::Fp8e8m0 => "fp8e8m0",
        }
    }

    /// The type of that name.
    pub fn from_name(name: &str) -> Option<DataType> {
        DataType::ALL.into_iter().find(|dtype| dtype.name() == name)
    }

    /// Bytes of an element.
    pub const fn size(self) -> u32 {
        match self {
            DataType::Int8
            | DataType::Uint8
            | DataType::Hif8
            | DataType::Fp8e4m3
            | DataType::Fp8e5m2
            | DataType::Fp8e8m0 => 1,
            DataType::Int16 | DataType::Uint16 | DataType::Fp16 | DataType::Bf16 => 2,
            DataType::Int32 | DataType::Uint32 | DataType::Fp32 => 4,
            DataType::Int64 | DataType::Uint64 | DataType::Fp64 => 8,
            DataType::Int128 => 16,
        }
    }

    /// The value in `HcclDataType`.
    pub const fn hccl(self) -> u32 {
        match self {
            DataType::Int8 => 0,
            DataType::Int16 => 1,
            DataType::Int32 => 2,
            DataType::Fp16 => 3,
            DataType::Fp32 => 4,
            DataType::Int64 => 5,
            DataType::Uint64 => 6,
            DataType::Uint8 => 7,
            DataType::Uint16 => 8,
            DataType::Uint32 => 9,
            DataType::Fp64 => 10,
            DataType::Bf16 => 11,
            DataType::Int128 => 12,
            DataType::Hif8 => 14,
            DataType::Fp8e4m3 => 15,
            DataType::Fp8e5m2 => 16,
            DataType::Fp8e8m0 => 17,
        }
    }

    /// Whether nothing reduces the type: it is only copied (facts 9.2).
    pub const fn is_copied_only(self) -> bool {
        matches!(self, DataType::Int128 | DataType::Hif8 | DataType::Fp8e4m3 | DataType::Fp8e5m2 | DataType::Fp8e8m0)
    }
}

/// A reduction of `HcclReduceOp`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "each is the reduction of its name")]
pub enum ReduceOp {
    Sum,
    Prod,
    Max,
    Min,
}

impl ReduceOp {
    /// All reductions, in the order of their values in `HcclReduceOp`.
    pub const ALL: [ReduceOp; 4] = [ReduceOp::Sum, ReduceOp::Prod, ReduceOp::Max, ReduceOp::Min];

    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            ReduceOp::Sum => "sum",
            ReduceOp::Prod => "prod",
            ReduceOp::Max => "max",
            ReduceOp::Min => "min",
        }
    }

    /// The reduction of that name.
    pub fn from_name(name: &str) -> Option<ReduceOp> {
        ReduceOp::ALL.into_iter().find(|op| op.name() == name)
    }
}

impl std::fmt::Display for DataType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

impl std::fmt::Display for ReduceOp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}
