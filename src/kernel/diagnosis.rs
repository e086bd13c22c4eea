//! A diagnosis says what holds a candidate back.

use serde::{Deserialize, Serialize};

/// What bounds a kernel, by its profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BottleneckClass {
    Memory,
    Compute,
    Latency,
    Launch,
    NearLimit,
}

/// What holds a candidate back, with the numbers it rests on and what to try.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Diagnosis {
    pub class: BottleneckClass,
    /// One sentence each, with its number.
    pub findings: Vec<String>,
    /// Recipe verbs or expert tasks that address the findings, the best first.
    pub suggestions: Vec<String>,
}
