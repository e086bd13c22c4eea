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
    judged_under(CONTRACT, entry)
}

fn judged_under(contract: &str, entry: &str) -> (Option<i32>, String) {
    let desk = Desk::new(HONEST, contract);
    desk.write("other.py", beside_the_kernels(entry));
    let arguments = ["bench", "other.py", "--test", "test.py", "--against", "kernel.py"];
    let ran = desk.run(desk.kernelbrain(&[&arguments[..], &["--device", "cpu"]].concat()));
    // As it flows, wherever lines are broken.
    (ran.status, ran.stdout.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// The honest kernels with another entry.
fn beside_the_kernels(entry: &str) -> String {
    let kernels = HONEST.split("def kernel_function").next().unwrap();
    format!("{kernels}{entry}")
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
    assert!(said.contains("✓ other.py accepted"), "{said}");
}

#[test]
fn arithmetic_of_torch_beside_a_launch_for_show() {
    let entry = "
def kernel_function(x):
    y = torch.empty_like(x)
    _scale[(1,)](x, y, 16, BLOCK=16)
    return x * 3.0
";
    rejected_for(entry, "computes with torch's operator mul outside its Triton kernels");
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
    rejected_for(entry, "returned the same output for two different inputs");
}

#[test]
fn an_answer_that_is_remembered_by_a_few_of_its_values() {
    let entry = "
_kept = {}


def kernel_function(x):
    key = (x.numel(), x[0].item(), x[-1].item())
    if key not in _kept:
        y = torch.empty_like(x)
        _scale[(triton.cdiv(x.numel(), 16),)](x, y, x.numel(), BLOCK=16)
        _kept[key] = y
    y = torch.empty_like(x)
    _copy[(triton.cdiv(x.numel(), 1024),)](_kept[key], y, x.numel(), BLOCK=1024)
    return y


@triton.jit
def _copy(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + offs, tl.load(x_ptr + offs, mask=offs < n), mask=offs < n)
";
    rejected_for(entry, "after the middle of its inputs changed in the same memory");
}

#[test]
fn outputs_that_share_their_memory_with_earlier_ones() {
    let entry = "
_pool = {}
_turn = [0]


def kernel_function(x):
    _turn[0] += 1
    y = _pool.setdefault((x.numel(), _turn[0] % 3), torch.empty_like(x))
    _scale[(triton.cdiv(x.numel(), 16),)](x, y, x.numel(), BLOCK=16)
    return y
";
    rejected_for(entry, "returned the same memory as output 0 of two calls");
}

#[test]
fn a_tail_that_only_unlisted_sizes_have() {
    let entry = "
def kernel_function(x):
    y = torch.empty_like(x)
    blocks = (3000 if x.numel() >= 3000 else 777) // 16 + 1
    _scale[(blocks,)](x, y, x.numel(), BLOCK=16)
    return y
";
    rejected_for(entry, "for a size that the contract does not list");
}

#[test]
fn a_nan_that_is_taken_for_zero() {
    let entry = "
def kernel_function(x):
    y = torch.empty_like(x)
    _clean[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
    return y


@triton.jit
def _clean(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n)
    tl.store(y_ptr + offs, tl.where(x == x, x, 0.0) * 3.0, mask=offs < n)
";
    rejected_for(entry, "with a NaN in argument 0");
}

#[test]
fn half_precision_that_large_values_overflow() {
    let entry = "
def kernel_function(x):
    y = torch.empty_like(x)
    _half[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
    return y


@triton.jit
def _half(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n).to(tl.float16)
    tl.store(y_ptr + offs, (x * 3.0).to(tl.float32), mask=offs < n)
";
    let loose = format!("{CONTRACT}\n\nTOLERANCE = {{\"rtol\": 1e-2, \"atol\": 1e-2}}\n");
    let (status, said) = judged_under(&loose, entry);
    assert_eq!(status, Some(1), "{said}");
    assert!(said.contains("correctness gate") && said.contains("for inputs"), "{said}");
}

#[test]
fn work_that_ends_after_a_number_of_calls() {
    let entry = |calls: u32| {
        format!(
            "
_calls = [0]


def kernel_function(x):
    _calls[0] += 1
    y = torch.empty_like(x)
    n = x.numel() if _calls[0] <= {calls} else 16
    _scale[(triton.cdiv(n, 16),)](x, y, n, BLOCK=16)
    return y
"
        )
    };
    let desk = Desk::new(HONEST, CONTRACT);
    let files = [3, 9, 17, 18].map(|calls| (format!("after_{calls}.py"), entry(calls)));
    for (name, entry) in &files {
        desk.write(name, beside_the_kernels(entry));
    }
    let mut arguments = vec!["bench", "--test", "test.py", "--against", "kernel.py"];
    arguments.extend(["--device", "cpu"]);
    arguments.extend(files.iter().map(|(name, _)| name.as_str()));
    let ran = desk.run(desk.kernelbrain(&arguments));
    ran.exits_with(1).says("0 of 4 files accepted");
    for (name, _) in &files {
        ran.says(&format!("✗ {name} rejected by the correctness gate"));
    }
}
