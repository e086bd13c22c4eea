"""Kernels that do their worst on a GPU, each followed by an honest one, all on one evaluation plane.

    python3 tests/gpu/faults.py BINARY [--seconds 90] [--out faults.json]

One `kernelbrain bench` judges them in turn, with a time limit of 6 s a step. Each of the bad ones must be
rejected with a reason; every honest one must be accepted, at the speed of the first one (25 % either way: this
is about disturbances, not about precision), which also shows that the memory it needs is back; and in the end
the GPU's memory must be where it was. What a candidate can do to the host is tested without a GPU, in
tests/faults.rs.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import threading
import time

CONTRACT = '''
import torch
CASES = [{"name": "row", "n": 1 << 22}]
TOLERANCE = {"float32": {"rtol": 1e-5, "atol": 1e-6}}
def make_inputs(*, n, device, seed):
    generator = torch.Generator(device=device).manual_seed(seed)
    return (torch.randn(n, generator=generator, device=device),)
def reference(x):
    return x * 2
'''
KERNEL = '''
import torch
import triton
import triton.language as tl

HELD = []

@triton.jit
def double(x_ptr, y_ptr, n, flag, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    DEVICE
    tl.store(y_ptr + at, x * 2, mask=at < n)

def kernel_function(x):
    y = torch.empty_like(x)
    HOST
    double[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), FLAG, BLOCK=1024)
    return y
'''
# On the device, on the host.
MISDEEDS = {
    "endless-loop": ("while flag > 0:\n        x += tl.load(x_ptr + flag, volatile=True) * 0", "pass"),
    "illegal-access": ("x += tl.load(x_ptr + (tl.full((BLOCK,), 1 << 44, tl.int64) + at))", "pass"),
    "trap": (
        'tl.inline_asm_elementwise("trap; mov.u32 $0, $1;", "=r,r", [at], dtype=tl.int32, is_pure=False, pack=1)',
        "pass",
    ),
    "all-memory": ("pass", "held = [torch.empty(1 << 30, dtype=torch.uint8, device=x.device) for _ in range(4096)]"),
    "leak": ("pass", "HELD.append(torch.empty(4 << 30, dtype=torch.uint8, device=x.device))"),
}
SLACK_MIB = 64


def used_mib():
    words = subprocess.run(
        ["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits", "-i", "0"],
        capture_output=True, text=True, check=True,
    ).stdout.split()
    return int(words[0])


def settled_mib(at_most, patience=5.0):
    """Used memory once it is no more than `at_most`; that of a killed process goes within a moment."""
    begun = time.monotonic()
    while (used := used_mib()) > at_most and time.monotonic() - begun < patience:
        time.sleep(0.1)
    return used


class Watched:
    """The most memory that was used while it is entered."""

    def __enter__(self):
        self.most, self._over = 0, threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def _watch(self):
        while not self._over.wait(1.0):
            self.most = max(self.most, used_mib())

    def __exit__(self, *_):
        self._over.set()
        self._thread.join()


def kernel(flag, device="pass", host="pass"):
    # The scalar makes each a program of its own: one that was measured before would not be launched.
    return KERNEL.replace("DEVICE", device).replace("HOST", host).replace("FLAG", str(flag))


def write(folder):
    """[(path, name of the misdeed or None)]: an honest kernel, then each bad one followed by an honest one."""
    files = [(folder / "0-honest.py", None, kernel(1))]
    for at, (name, (device, host)) in enumerate(MISDEEDS.items(), 1):
        files.append((folder / f"{at}-{name}.py", name, kernel(100 + at, device, host)))
        files.append((folder / f"{at}-then-honest.py", None, kernel(1 + at)))
    for path, _, text in files:
        path.write_text(text)
    return [(path, misdeed) for path, misdeed, _ in files]


def latency(result):
    """The candidate's time on the case, whatever it is called beside others' times."""
    case = (result.get("cases") or [{}])[0]
    return next((case[name] for name in ("latency_us", "candidate_us", "us") if case.get(name)), None)


def judged(result, misdeed, normal):
    """Whether the result is what it must be."""
    if misdeed is None:
        us = latency(result)
        return result["verdict"] == "accepted" and (normal is None or us is None or 0.75 < us / normal < 1.25)
    # A leak is no fault by itself: its memory must be back, whatever the verdict.
    return misdeed == "leak" or result["verdict"] == "rejected" and bool(result.get("reason"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--seconds", type=float, default=90)
    parser.add_argument("--out", type=pathlib.Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, Watched() as memory:
        folder = pathlib.Path(name)
        (folder / "test.py").write_text(CONTRACT)
        files = write(folder)
        before, begun = used_mib(), time.monotonic()
        command = [arguments.binary, "bench", *(str(path) for path, _ in files), "--test", str(folder / "test.py")]
        command += ["--device", "cuda", "--json", "--candidate-timeout", "6s"]
        try:
            ran = subprocess.run(command, capture_output=True, text=True, timeout=arguments.seconds)
        except subprocess.TimeoutExpired:
            sys.exit(f"not over within {arguments.seconds} s: {' '.join(command)}")
        seconds, after = time.monotonic() - begun, settled_mib(before + SLACK_MIB)
    try:
        results = json.loads(ran.stdout)["results"]
    except (ValueError, KeyError):
        sys.exit(f"bench ended with {ran.returncode}: {(ran.stdout + ran.stderr)[-2000:]}")
    rows, normal = [], None
    for (path, misdeed), result in zip(files, results, strict=True):
        passed = judged(result, misdeed, normal)
        normal = normal or latency(result)
        rows.append({"file": path.name, "passed": passed, "latency_us": latency(result),
                     **{key: result.get(key) for key in ("verdict", "gate", "reason")}})
        print(f"{'ok  ' if passed else 'FAIL'} {path.name}: {result['verdict']}"
              f" {latency(result) or ''} {str(result.get('reason') or '')[:120]}")
    returned = after <= before + SLACK_MIB
    print(f"{'ok  ' if returned else 'FAIL'} memory: {before} MiB before, {memory.most} at most, {after} afterwards")
    result = {
        "command": " ".join(sys.argv), "seconds": seconds, "memory_mib": {"before": before, "most": memory.most, "after": after},
        "rows": rows,
    }
    if arguments.out:
        arguments.out.write_text(json.dumps(result, indent=1) + "\n")
    sys.exit(0 if returned and all(row["passed"] for row in rows) else 1)


if __name__ == "__main__":
    main()
