//! `report.json`: for programs. Fields in the order of `docs/report.md`.

use super::{Report, clean::clean};

/// The report as indented JSON with a final newline. A number that is not finite becomes `null`.
pub fn render(report: &Report) -> Result<String, serde_json::Error> {
    serde_json::to_string_pretty(&clean(report)).map(|text| text + "\n")
}
