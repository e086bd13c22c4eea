//! Floor 4: wires a run. Adapters behind the search's ports, the journal, resume, the report.
//! Called by the command line, and later by the worker of the service and the sweep.

mod audit;
mod bench;
mod ceilings;
mod comparisons;
pub mod doctor;
mod error;
pub mod experience;
mod facts;
mod fidelity;
pub mod machine;
mod memory;
mod optimize;
mod plane_evaluator;
mod profile;
mod profiles;
pub mod project;
mod recipes_generator;
mod reporting;
mod review;
mod run_plan;
mod runs;
mod session;
mod stored_journal;
mod target;
mod tenancy;

pub use audit::{Audited, audit_contract};
pub use bench::{BenchRequest, bench};
pub use ceilings::{CalibrateRequest, Calibrated, calibrate};
pub use comparisons::{Compared, ComparisonsRequest, compare};
pub use error::{EngineError, exit};
pub use machine::DeviceChoice;
pub use memory::{Imported, MoveMemory, export_memory, forget_memory, import_memory, list_memory};
pub use optimize::{Audience, Finished, OptimizeRequest, optimize};
pub use profile::{KernelDiagnosis, ProfileRequest, profile_kernel};
pub use recipes_generator::RecipesGenerator;
pub use review::{ReviewFacts, Reviewer};
pub use run_plan::RunPlan;
pub use runs::{list_runs, rebuild_report, rewrite_report};
pub use session::{PlaneOptions, database_path};
pub use stored_journal::StoredJournal;
pub use target::{Selection, read_source};
pub use tenancy::look_for_tenants;
