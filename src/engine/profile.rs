//! One kernel under the GPU's counters, without a search.

use std::path::PathBuf;

use super::{error::EngineError, session::PlaneOptions};
use crate::{
    evaluate::{
        Device,
        profile::{DeviceFacts, Profiler, diagnose},
    },
    kernel::{Candidate, Diagnosis, Profile, Profiling, Target},
};

/// What is to be profiled.
#[derive(Clone, Debug)]
pub struct ProfileRequest {
    pub target: Target,
    pub plane: PlaneOptions,
    /// Name of the case; the contract's main one by default.
    pub case: Option<String>,
    pub seed: u64,
    /// Nsight Compute's command line; the one of this machine by default.
    pub ncu: Option<PathBuf>,
}

/// What the counters say and what it means.
#[derive(Clone, Debug)]
pub struct KernelDiagnosis {
    pub profile: Profile,
    pub diagnosis: Diagnosis,
    pub device_name: String,
    pub notes: Vec<String>,
}

/// Profiles a kernel on one case. No gate is applied: whether its answers are right is not asked.
///
/// # Errors
/// Also where the machine has no counters to read, or keeps them to itself.
pub async fn profile_kernel(request: ProfileRequest) -> Result<KernelDiagnosis, EngineError> {
    let unavailable = |reason: &str| EngineError::Environment(format!("no profile: {reason}"));
    if request.plane.device == Device::Cpu {
        return Err(unavailable("--device cpu has no hardware counters to read; run on a GPU"));
    }
    let profiler = match request.ncu {
        Some(ncu) => Profiler::at(ncu),
        None => Profiler::find().map_err(|reason| unavailable(&reason))?,
    };
    let candidate = Candidate::baseline(request.target.text.clone());
    let plane = request.plane.start(request.target).await?;
    let contract = plane.contract().clone();
    let case = match &request.case {
        None => Some(0),
        Some(name) => contract.cases.iter().position(|case| case.name == *name),
    };
    let profiled = match case {
        Some(case) => Some(plane.profile(&profiler, &candidate, case, request.seed).await),
        None => None,
    };
    let device_name = plane.device_name().to_owned();
    plane.close().await;
    match profiled.map(|profiled| profiled.profiling) {
        Some(Profiling::Done { profile }) => Ok(KernelDiagnosis {
            diagnosis: diagnose(&profile, None, &DeviceFacts::default()),
            profile: *profile,
            device_name,
            notes: contract.notes,
        }),
        Some(Profiling::Missing { reason }) => Err(unavailable(&reason)),
        None => {
            let names: Vec<&str> = contract.cases.iter().map(|case| case.name.as_str()).collect();
            let wanted = request.case.unwrap_or_default();
            Err(EngineError::Usage(format!(
                "the contract has no case \"{wanted}\"; there are: {}",
                names.join(", ")
            )))
        }
    }
}
