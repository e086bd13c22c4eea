//! Whether a winner compiles for other architectures than the one it was measured on.

use serde_json::json;

use super::{
    blame::Stage,
    error::EvaluateError,
    judge::Stop,
    plane::{Device, Plane},
    protocol::Compiled,
    subject::Subject,
    tuning::Tuning,
};
use crate::kernel::{Arch, Candidate, Rejection};

impl Plane {
    /// Compiles every case for each architecture of the target, within the limits of each; what
    /// to tell about it, or the rejection.
    pub(super) async fn check_archs(
        &self,
        candidate: &Candidate,
    ) -> Result<Result<Vec<String>, Rejection>, EvaluateError> {
        let archs = &self.config.target.archs;
        if archs.is_empty() {
            return Ok(Ok(Vec::new()));
        }
        let names = archs.iter().map(Arch::to_string).collect::<Vec<_>>().join(", ");
        if self.config.device == Device::Cpu {
            let note = format!("not compiled for {names}: the cpu device interprets kernels");
            return Ok(Ok(vec![note]));
        }
        match self.compile_for(candidate, archs).await {
            Ok(mut notes) => {
                if notes.is_empty() {
                    notes.push(format!("compiles for {names} within their limits"));
                }
                Ok(Ok(notes))
            }
            Err(Stop::Rejected(rejection)) => Ok(Err(rejection)),
            Err(Stop::Fault(error)) => Err(error),
        }
    }

    /// Notes on what could not be compiled without a call.
    async fn compile_for(
        &self,
        candidate: &Candidate,
        archs: &[Arch],
    ) -> Result<Vec<String>, Stop> {
        let mut subject = Subject::start(self, candidate, Tuning::Brief).await?;
        let result = async {
            let mut notes = Vec::new();
            for &arch in archs {
                for case in 0..self.contract.cases.len() {
                    if let Some(reason) = subject.compile_for(case, arch).await? {
                        let name = &self.contract.cases[case].name;
                        notes.push(format!("not all compiled for {arch}, case {name}: {reason}"));
                    }
                }
            }
            Ok(notes)
        }
        .await;
        subject.end().await;
        result
    }
}

impl Subject<'_> {
    /// Compiles one case for `arch`; gives why something was left out.
    async fn compile_for(&mut self, case: usize, arch: Arch) -> Result<Option<String>, Stop> {
        let plane = self.plane();
        let layout = plane.layout(case, 0).await?;
        let request = json!({
            "inputs": layout,
            "call": self.call,
            "capability": [arch.major, arch.minor],
            "properties": plane.properties_of(arch),
        });
        match self.child.compile(request, plane.config.limits.compile).await {
            Ok(Compiled { skipped, .. }) => Ok(skipped),
            Err(error) => Err(match self.blame(Stage::Compile, error).await {
                Stop::Rejected(mut rejection) => {
                    rejection.reason = format!("for {arch}, {}", rejection.reason);
                    rejection.on_case(&plane.contract.cases[case].name).into()
                }
                fault => fault,
            }),
        }
    }
}
