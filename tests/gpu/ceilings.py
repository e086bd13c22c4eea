"""Calibrated ceilings beside what torch reaches on the same machine in the same run.

    python3 tests/gpu/ceilings.py BINARY --out ceilings.json

Torch's copy and bf16 product are measured here, before and after `kernelbrain calibrate --json`, with code
of its own: the best of a few groups of calls between two events, since both must name what the device can
do. Writes both, their ratios, and whether they agree within 3 %; exits with 1 where they do not. Takes
under 40 seconds, most of them the calibration's.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import torch

WITHIN = 0.03
GIB = 1 << 30


def best_seconds(call, groups=6, calls=20):
    for _ in range(3):
        call()
    torch.cuda.synchronize()
    best = float("inf")
    for _ in range(groups):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        for _ in range(calls):
            call()
        end.record()
        torch.cuda.synchronize()
        best = min(best, begin.elapsed_time(end) / calls / 1e3)
    return best


def copy_gbps():
    """The best of copying 1 and 2 GiB, bytes read and bytes written."""
    rates = []
    for size in (GIB, 2 * GIB):
        source = torch.randn(size // 4, device="cuda")
        target = torch.empty_like(source)
        for call in (lambda: target.copy_(source), lambda: torch.neg(source, out=target)):
            rates.append(2 * size / best_seconds(call) / 1e9)
        del source, target
        torch.cuda.empty_cache()
    return max(rates)


def bf16_tflops():
    """The best product of square matrices of 4096 and 8192 rows, the second operand in either layout."""
    rates = []
    for side in (4096, 8192):
        a, b = (torch.randn(side, side, device="cuda", dtype=torch.bfloat16) for _ in range(2))
        for call in (lambda: torch.matmul(a, b), lambda: torch.matmul(a, b.t())):
            rates.append(2 * side**3 / best_seconds(call) / 1e12)
    return max(rates)


def calibrate(binary, folder):
    environment = {**os.environ, "KERNELBRAIN_PYTHON": os.environ.get("KERNELBRAIN_PYTHON", sys.executable)}
    command = [binary, "calibrate", "--device", "cuda:0", "--json", "--db", os.path.join(folder, "ceilings.db")]
    started = time.monotonic()
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, timeout=120)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} ended with status {done.returncode}")
    return json.loads(done.stdout), time.monotonic() - started


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    started = time.monotonic()
    before = {"copy_gbps": copy_gbps(), "bf16_tflops": bf16_tflops()}
    torch.cuda.empty_cache()
    with tempfile.TemporaryDirectory() as folder:
        calibrated, seconds = calibrate(arguments.binary, folder)
    after = {"copy_gbps": copy_gbps(), "bf16_tflops": bf16_tflops()}

    reached = {name: max(before[name], after[name]) for name in before}
    ceilings = calibrated["ceilings"]
    ratios = {
        "copy": (ceilings["copy_gbps"] or 0) / reached["copy_gbps"],
        "bf16": ceilings["products"].get("bf16", 0) / reached["bf16_tflops"],
    }
    passed = all(abs(ratio - 1) <= WITHIN for ratio in ratios.values())
    result = {
        "device": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "torch_reached": reached,
        "torch_before": before,
        "torch_after": after,
        "calibrated": calibrated,
        "calibrate_seconds": seconds,
        "ratios": ratios,
        "within": WITHIN,
        "passed": passed and seconds < 30,
        "seconds": time.monotonic() - started,
    }
    arguments.out.write_text(json.dumps(result, indent=2) + "\n")
    for name, ratio in ratios.items():
        print(f"{name}: calibrated over torch {ratio:.4f}")
    print(f"calibrated in {seconds:.1f} s; {'agrees' if result['passed'] else 'does NOT agree'}: {arguments.out}")
    return 0 if result["passed"] else 1


if __name__ == "__main__":
    sys.exit(main())
