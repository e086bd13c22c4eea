//! What the referee is asked beyond the contract's own cases and inputs.

use serde_json::{Value, json};

use super::{Referee, WireError};
use crate::evaluate::{
    error::EvaluateError,
    protocol::{Compared, Probes, Returned, Sizes},
};

/// One set of inputs: a case, listed or not, with a seed, perhaps changed by a probe.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Question<'a> {
    pub(crate) case: usize,
    /// The case in words.
    pub(crate) name: &'a str,
    pub(crate) seed: u64,
    pub(crate) probe: Option<&'a str>,
}

impl Question<'_> {
    fn body(self) -> Value {
        json!({"case": self.case, "seed": self.seed, "probe": self.probe})
    }
}

impl Referee {
    /// The probes that make sense for a case.
    pub(crate) async fn probes(&mut self, question: Question<'_>) -> Result<Probes, EvaluateError> {
        let what = format!("looking for probes of case {}", question.name);
        self.ask("probes", question.body(), &what).await
    }

    /// Sizes that the contract does not list.
    pub(crate) async fn sizes(&mut self) -> Result<Sizes, EvaluateError> {
        self.ask("sizes", json!({}), "looking for unlisted sizes").await
    }

    /// Fills the buffers with inputs that the contract does not promise to have. The inner error
    /// says why it has none: the reference refuses the size, has no finite answer, lacks memory.
    pub(crate) async fn pose(
        &mut self,
        question: Question<'_>,
    ) -> Result<Result<Value, String>, EvaluateError> {
        let answer = self.connection.request("inputs", question.body(), self.limit).await;
        match answer {
            Ok(inputs) => Ok(Ok(inputs)),
            Err(WireError::Refused(remote)) if remote.kind != "internal" => Ok(Err(remote.message)),
            Err(error) => Err(self
                .fault(&format!("making further inputs of case {}", question.name), error)
                .await),
        }
    }

    /// Judges what a call on them left in the buffers.
    pub(crate) async fn mark(
        &mut self,
        question: Question<'_>,
        returned: &[Returned],
        gradients: Option<&[Option<Returned>]>,
    ) -> Result<Compared, EvaluateError> {
        let mut body = question.body();
        body["returned"] = json!(returned);
        body["gradients"] = json!(gradients);
        self.ask("compare", body, &format!("comparing case {}", question.name)).await
    }
}
