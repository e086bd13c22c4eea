//! The directions in which a kernel can be changed.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A coverage axis: expert tasks on one axis pull the same lever. The names of the first eight are
/// those by which a diagnosis suggests them (`task memory-traffic`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Axis {
    /// Which program computes what, and how many there are.
    WorkPartitioning,
    /// How partial results are combined: within a program, across programs.
    Reduction,
    /// Which bytes move when, and how often a cache serves them.
    MemoryTraffic,
    /// Tile shapes, and the order in which programs take tiles.
    Tiling,
    /// Kernels joined or taken apart.
    Fusion,
    /// What the tensor cores are given.
    TensorCores,
    /// Warps, stages, registers, and configurations to choose from.
    LaunchConfiguration,
    /// Fewer or cheaper operations for the same result.
    Algebra,
    /// Several passes over the data made one.
    SinglePass,
    /// Values that stay in registers or shared memory between uses.
    OnChip,
    /// Which thread touches which address.
    Layout,
    /// Programs that stay and take tile after tile.
    Persistence,
    /// Loads that run ahead of their use.
    Pipelining,
    /// Tiles moved by the tensor memory accelerator.
    Descriptors,
    /// Warps with jobs of their own.
    WarpSpecialization,
    /// Several kernels, chosen by shape.
    Dispatch,
    /// Addresses and masks.
    Indexing,
    /// What happens between the last accumulation and the store.
    Epilogue,
    /// Work so small that launching it is what takes time.
    SmallBatch,
    /// Gradients.
    Backward,
}

impl Axis {
    pub const ALL: [Self; 20] = [
        Self::WorkPartitioning,
        Self::Reduction,
        Self::MemoryTraffic,
        Self::Tiling,
        Self::Fusion,
        Self::TensorCores,
        Self::LaunchConfiguration,
        Self::Algebra,
        Self::SinglePass,
        Self::OnChip,
        Self::Layout,
        Self::Persistence,
        Self::Pipelining,
        Self::Descriptors,
        Self::WarpSpecialization,
        Self::Dispatch,
        Self::Indexing,
        Self::Epilogue,
        Self::SmallBatch,
        Self::Backward,
    ];

    /// As it is written in task files and in suggestions.
    pub fn name(self) -> &'static str {
        match self {
            Self::WorkPartitioning => "work-partitioning",
            Self::Reduction => "reduction",
            Self::MemoryTraffic => "memory-traffic",
            Self::Tiling => "tiling",
            Self::Fusion => "fusion",
            Self::TensorCores => "tensor-cores",
            Self::LaunchConfiguration => "launch-configuration",
            Self::Algebra => "algebra",
            Self::SinglePass => "single-pass",
            Self::OnChip => "on-chip",
            Self::Layout => "layout",
            Self::Persistence => "persistence",
            Self::Pipelining => "pipelining",
            Self::Descriptors => "descriptors",
            Self::WarpSpecialization => "warp-specialization",
            Self::Dispatch => "dispatch",
            Self::Indexing => "indexing",
            Self::Epilogue => "epilogue",
            Self::SmallBatch => "small-batch",
            Self::Backward => "backward",
        }
    }
}

impl fmt::Display for Axis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
