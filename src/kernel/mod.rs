//! Floor 2: the words every other floor speaks. Plain data, no I/O.

mod arch;
mod candidate;
mod case;
mod ceilings;
mod contract;
mod diagnosis;
mod evaluation;
mod event;
mod experience;
mod profile;
mod ratio;
mod review;
pub mod roofline;
pub mod syntax;
mod target;

pub use arch::{Arch, NoArch};
pub use candidate::{Candidate, CandidateId, Move};
pub use case::Case;
pub use ceilings::{Bound, CeilingMethod, Ceilings, Headroom, Limiter, Precision, Work};
pub use contract::{Contract, ContractKind};
pub use diagnosis::{Bottleneck, BottleneckClass, Diagnosis, Figure, Finding};
pub use evaluation::{
    BuildFacts, CaseComparison, CaseMeasurement, Cost, Evaluation, Gate, Observed, Rejection,
    Verdict, Verification,
};
pub use event::{Decision, Event, Limits, Outcome, RequestKind, Spend};
pub use experience::{Failure, HARMFUL, HELPFUL, Observation, Unsound, arch_name};
pub use profile::{
    Atomics, Issue, KernelProfile, Launch, Occupancy, OccupancyLimit, Pipes, Profile, Profiling,
    SharedMemory, Throughput, Traffic,
};
pub use ratio::{Ratio, geometric_mean};
pub use review::{Review, ReviewLabel};
pub use target::{Entry, Package, Target};
