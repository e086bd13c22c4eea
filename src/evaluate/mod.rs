//! Floor 3: the evaluation plane. Gates, referee, zygote, GPU turn, timing, sandbox.
//!
//! Three kinds of process, each with one job (`docs/design.md`): this parent owns the clock, the
//! GPU turn and every verdict; the referee owns inputs and reference answers; the zygote forks a
//! confined child per evaluation. `harness/PROTOCOL.md` says what they say to each other.

mod alone;
mod archs;
mod blame;
mod burst;
mod calibrator;
mod child;
mod clock;
mod companion;
mod comparisons;
mod course;
mod driver;
mod error;
mod field;
mod habits;
mod harness;
mod hearing;
mod held;
mod identity;
mod in_turn;
mod interpreter;
mod judge;
mod launched;
mod light;
mod log_tail;
mod measure;
mod observe;
mod openings;
mod plane;
pub mod policy;
mod probes;
pub mod profile;
mod protocol;
mod race;
mod referee;
mod repository_tests;
pub mod sandbox;
mod scratch;
mod spawn;
mod standards;
mod starter;
mod statistics;
mod steps;
mod subject;
mod supervision;
mod tuning;
mod turn;
mod verify;
mod watch;
mod wire;
mod zygote;

pub use alone::{AgainstPytorch, CaseAgainstPytorch};
pub use calibrator::Calibrator;
pub use comparisons::{Repetition, Repetitions};
pub use course::Rounds;
pub use error::{EvaluateError, Lost, Part};
pub use harness::REQUIREMENTS;
pub use interpreter::Interpreter;
pub use judge::Fidelity;
pub use plane::{Device, Plane, PlaneConfig, SharedPlane, TimeLimits};
pub use probes::{Proof, ProofPlan};
pub use protocol::{Mutant, Timing, Versions};

pub use verify::VerifyPlan;
pub use watch::Quota;
pub use wire::{RemoteError, WireError};
