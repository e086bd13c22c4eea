//! Kernels that are fast because they do not do the work. Each is told from an honest one by its
//! answers, not by its text: the policy gate has nothing against any of these.

use crate::support::Desk;

const CONTRACT: &str = "
import torch

CASES = [{\"n\": 3000}, {\"n\": 777}]


def make_inputs(device, seed, n):
    generator = torch.Generator(device=device).manual_seed(seed)
    return (torch.randn(n, generator=generator, device=device),)


def reference(x):
    return x * 3.0
";

const HONEST: &str = "
import torch
import triton
import triton.language as tl


@triton.jit
def _scale(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n)
    tl.store(y_ptr + offs, x * 3.0, mask=offs < n)


def kernel_function(x):
    y = torch.empty_like(x)
    _scale[(triton.cdiv(x.numel(), 16),)](x, y, x.numel(), BLOCK=16)
    return y
";

/// What `bench` says of the honest kernel with another entry, against the honest one.
fn judged(entry: &str) -> (Option<i32>, String) {
    let desk = Desk::new(HONEST, CONTRACT);
    let kernels = HONEST.split("def kernel_function").next().unwrap();
    desk.write("other.py", format!("{kernels}{entry}"));
    let arguments = ["bench", "other.py", "--test", "test.py", "--against", "kernel.py"];
    let ran = desk.run(desk.kernelbrain(&[&arguments[..], &["--device", "cpu"]].concat()));
    (ran.status, ran.stdout.clone())
}

#[track_caller]
fn rejected_for(entry: &str, why: &str) {
    let (status, said) = judged(entry);
    assert_eq!(status, Some(1), "{said}");
    assert!(said.contains(why), "{said}");
}

#[test]
fn larger_tiles_are_accepted() {
    let entry = "
def kernel_function(x):
    y = torch.empty_like(x)
    _scale[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
    return y
";
    let (status, said) = judged(entry);
    assert_eq!(status, Some(0), "{said}");
    assert!(said.contains("accepted by every gate"), "{said}");
}

#[test]
fn arithmetic_of_torch_beside_a_launch_for_show() {
    let entry = "
def kernel_function(x):
    y = torch.empty_like(x)
    _scale[(1,)](x, y, 16, BLOCK=16)
    return x * 3.0
";
    rejected_for(entry, "the answer is right even when its Triton kernels do nothing");
}

#[test]
fn an_answer_that_is_remembered_by_its_address() {
    let entry = "
_kept = {}


def kernel_function(x):
    key = x.data_ptr()
    if key not in _kept:
        y = torch.empty_like(x)
        _scale[(triton.cdiv(x.numel(), 16),)](x, y, x.numel(), BLOCK=16)
        _kept[key] = y
    return _kept[key]
";
    rejected_for(entry, "correctness");
}

#[test]
fn work_that_ends_after_a_number_of_calls() {
    for calls in [3, 9, 17, 18] {
        let entry = format!(
            "
_calls = [0]


def kernel_function(x):
    _calls[0] += 1
    y = torch.empty_like(x)
    n = x.numel() if _calls[0] <= {calls} else 16
    _scale[(triton.cdiv(n, 16),)](x, y, n, BLOCK=16)
    return y
"
        );
        rejected_for(&entry, "correctness");
    }
}
