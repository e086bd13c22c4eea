//! Python and its packages, by metadata.

use std::{collections::HashMap, path::Path, process::Stdio, time::Duration};

use serde::Deserialize;
use tokio::process::Command;

use super::{
    Check,
    requirement::{Requirement, pinned},
};

/// Longer than any start from a cold disk.
const PATIENCE: Duration = Duration::from_secs(10);

const OWN_PYTHON: &str =
    "run `make setup`, or point to another with --python or KERNELBRAIN_PYTHON";

/// Prints versions as JSON. Imports the standard library only.
const PROBE: &str = r#"
import json, os, platform, sys, sysconfig
from importlib import metadata
def version(package):
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
header = os.path.join(sysconfig.get_paths()["include"], "Python.h")
print(json.dumps({"python": platform.python_version(), "header": header,
                  "has_header": os.path.exists(header), "packages": {p: version(p) for p in sys.argv[1:]}}))
"#;

#[derive(Debug, Deserialize)]
struct Found {
    python: String,
    /// Where `Python.h` lies or would lie.
    header: String,
    has_header: bool,
    packages: HashMap<String, Option<String>>,
}

/// Python itself, then each pinned package.
pub(super) async fn checks(python: &Path, has_gpu: bool) -> Vec<Check> {
    let requirements = pinned();
    match probe(python, &requirements).await {
        Err(trouble) => {
            vec![Check::missing("python", format!("{}: {trouble}", python.display()), OWN_PYTHON)]
        }
        Ok(found) => {
            let first = Check::ok("python", format!("{} ({})", found.python, python.display()));
            let package = |requirement: &Requirement| {
                let version = found.packages.get(&requirement.package).cloned().flatten();
                check(python, requirement, version.as_deref(), has_gpu)
            };
            let packages = requirements.iter().map(package);
            let header = has_gpu.then(|| header(&found));
            std::iter::once(first).chain(packages).chain(header).collect()
        }
    }
}

/// Triton's launchers are compiled against it.
fn header(found: &Found) -> Check {
    let name = "Python.h";
    if found.has_header {
        return Check::ok(name, found.header.as_str());
    }
    let advice = "install Python's headers (Debian, Ubuntu: apt-get install python3-dev)";
    Check::missing(name, format!("not at {}", found.header), advice)
}

async fn probe(python: &Path, requirements: &[Requirement]) -> Result<Found, String> {
    let packages = requirements.iter().map(|requirement| &requirement.package);
    let output = run(python, PROBE, packages, PATIENCE).await?;
    serde_json::from_str(output.trim()).map_err(|_| "does not behave like Python".into())
}

/// What `code` prints under `python`, isolated from the user's environment; the error is why
/// nothing came.
pub(super) async fn run(
    python: &Path,
    code: &str,
    arguments: impl IntoIterator<Item = impl AsRef<std::ffi::OsStr>>,
    patience: Duration,
) -> Result<String, String> {
    let running = Command::new(python)
        .args(["-I", "-c", code])
        .args(arguments)
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let output = tokio::time::timeout(patience, running)
        .await
        .map_err(|_| format!("does not answer within {} s", patience.as_secs()))?
        .map_err(|error| format!("cannot be started: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let last = said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("no message");
    Err(format!("ended with {} ({})", output.status, last.trim()))
}

fn check(python: &Path, requirement: &Requirement, version: Option<&str>, has_gpu: bool) -> Check {
    let name = requirement.package.as_str();
    let install = format!("{} -m pip install '{}'", python.display(), requirement.text());
    match version {
        None => Check::missing(name, "not installed", format!("{install}, or {OWN_PYTHON}")),
        Some(version) if requirement.admits(version) => Check::ok(name, version),
        // Only the interpreter trips over it.
        Some(version) if name == "numpy" && has_gpu => Check::warn(
            name,
            format!("{version}, too new for the cpu device"),
            format!("for --device cpu: {install}"),
        ),
        Some(version) if name == "numpy" => {
            Check::missing(name, format!("{version}, too new for the cpu device"), install)
        }
        Some(version) => Check::warn(
            name,
            format!("{version}; kernelbrain is tested with {}", requirement.text()),
            format!("if something fails: {install}"),
        ),
    }
}
