//! Tries what [`super::examine`] only looked at.

use std::{path::Path, time::Duration};

use super::{Check, python::run};

/// Importing torch from a cold disk, and a first CUDA context.
const PATIENCE: Duration = Duration::from_secs(180);

/// Adds two vectors with a Triton kernel in its interpreter, in a file of its own because Triton
/// reads a kernel's source.
const INTERPRET: &str = r#"
import os, runpy, tempfile
os.environ["TRITON_INTERPRET"] = "1"
KERNEL = '''
import torch, triton, triton.language as tl
@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) + tl.load(y + at, mask=at < n), mask=at < n)
x, y, out = torch.arange(100.0), torch.ones(100), torch.empty(100)
add[(4,)](x, y, out, 100, BLOCK=32)
assert torch.equal(out, x + y), "the interpreter computes a sum wrongly"
print(f"torch {torch.__version__} and triton {triton.__version__} import; a kernel ran")
'''
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "probe.py")
    with open(path, "w") as file:
        file.write(KERNEL)
    runpy.run_path(path)
"#;

/// Allocates on the first GPU and runs the same kernel, compiled.
const CUDA: &str = r#"
import os, runpy, tempfile
KERNEL = '''
import torch, triton, triton.language as tl
assert torch.version.cuda, f"torch {torch.__version__} is built without CUDA"
@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) + tl.load(y + at, mask=at < n), mask=at < n)
x, y = torch.arange(100.0, device="cuda"), torch.ones(100, device="cuda")
out = torch.empty_like(x)
add[(4,)](x, y, out, 100, BLOCK=32)
assert torch.equal(out, x + y), "the GPU computes a sum wrongly"
print(f"a kernel compiled and ran on {torch.cuda.get_device_name()} (CUDA {torch.version.cuda})")
'''
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "probe.py")
    with open(path, "w") as file:
        file.write(KERNEL)
    runpy.run_path(path)
"#;

/// Imports torch and triton and runs a kernel in the interpreter, and on the GPU where there is
/// one. Seconds, not milliseconds.
pub async fn try_out(python: &Path, has_gpu: bool) -> Vec<Check> {
    let mut checks = vec![attempt(python, "cpu device", INTERPRET).await];
    if has_gpu {
        checks.push(attempt(python, "cuda device", CUDA).await);
    }
    checks
}

async fn attempt(python: &Path, name: &str, code: &str) -> Check {
    match run(python, code, [""; 0], PATIENCE).await {
        Ok(said) => Check::ok(name, said.trim()),
        Err(trouble) => Check::missing(
            name,
            trouble,
            format!("`{} -c 'import torch, triton'` shows more", python.display()),
        ),
    }
}
