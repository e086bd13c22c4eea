//! The Python that runs the harness.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde::Deserialize;

/// Asks for paths only: importing torch would take seconds.
const PROBE: &str = "
import importlib.util, json, os, site, sys
paths = [sys.prefix, sys.base_prefix, sys.exec_prefix, *site.getsitepackages()]
paths += [os.path.dirname(os.path.realpath(sys.executable)), *(p for p in sys.path if p)]
print(json.dumps({
    'executable': sys.executable,
    'paths': sorted({os.path.realpath(p) for p in paths} | set(paths)),
    'missing': [m for m in ('torch', 'triton', 'numpy') if importlib.util.find_spec(m) is None],
}))
";

/// A Python that exists, and what it can import.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Interpreter {
    pub executable: PathBuf,
    /// Folders that it reads its libraries from.
    pub(crate) paths: Vec<PathBuf>,
    /// Which of torch, triton and numpy it lacks.
    pub missing: Vec<String>,
}

impl Interpreter {
    /// Asks `python`; the error says what is wrong with it.
    pub fn probe(python: &Path) -> Result<Self, String> {
        let output = Command::new(python)
            .args(["-I", "-B", "-c", PROBE])
            .stdin(Stdio::null())
            .output()
            .map_err(|error| format!("cannot run {}: {error}", python.display()))?;
        let told = serde_json::from_slice::<Self>(&output.stdout).ok();
        told.filter(|_| output.status.success()).ok_or_else(|| {
            let text = String::from_utf8_lossy(&output.stderr);
            let last = text.lines().last().unwrap_or("no message");
            format!("{} is not a working Python 3: {last}", python.display())
        })
    }
}
