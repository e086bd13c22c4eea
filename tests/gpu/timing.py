"""How far times and comparisons can be trusted: on a CUDA GPU, with torch, triton and (for one part) ncu.

    python3 tests/gpu/timing.py BINARY [--benchmarks FOLDER] [--out timing.json] [--only same,slower,ncu,do_bench]

same      a kernel against itself, 14 cases from 5 µs to 3 ms: |ratio - 1|, and claims of 1.03 or more
slower    a kernel against one that takes 5 % more steps of the same loop: how often that is found
ncu       times against the durations that Nsight Compute measures, at the clocks that they ran at
do_bench  times of the operators in FOLDER (each with input_kernel.py and test.py; the first case) against
          triton.testing.do_bench

Every part is written to the JSON as soon as it is there, with the command that made it and what it took; a part that
cannot be measured says why. Exit status 1 if a limit is missed or a part failed. `--quick` makes a tenth of the
comparisons; `--device cpu` tries the script itself out.
"""
import argparse
import csv
import io
import json
import math
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

KERNELS = pathlib.Path(__file__).resolve().parent / "kernels"
SAME_LIMIT, CLAIM = 0.003, 1.03
NCU_SHARE, NCU_US, NCU_FROM_US = 0.03, 2.5, 20.0
DO_BENCH_SHARE = 0.03

# Calls the cases of a contract once warm and once to be profiled; alone in a process, as ncu wants it.
PROFILED = """
import importlib.util, sys, torch
def load(name, path):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
kernel, contract = load("kernel", sys.argv[1]), load("contract", sys.argv[2])
for case in contract.CASES:
    case = {key: value for key, value in case.items() if key not in ("name", "weight")}
    inputs = contract.make_inputs(device="cuda", seed=1, **case)
    kernel.kernel_function(*inputs)
    torch.cuda.synchronize()
    torch.cuda.cudart().cudaProfilerStart()
    for _ in range(5):
        kernel.kernel_function(*inputs)
    torch.cuda.synchronize()
    torch.cuda.cudart().cudaProfilerStop()
"""

# The first case of each pair of a kernel and a contract, one after the other.
DO_BENCH = PROFILED.split("kernel, contract =")[0] + """
import triton.testing
for kernel, contract in zip(sys.argv[1::2], sys.argv[2::2]):
    kernel, contract = load("kernel", kernel), load("contract", contract)
    case = {key: value for key, value in contract.CASES[0].items() if key not in ("name", "weight")}
    inputs = contract.make_inputs(device="cuda", seed=1, **case)
    for _ in range(3):
        kernel.kernel_function(*inputs)
    print(1e3 * triton.testing.do_bench(lambda: kernel.kernel_function(*inputs), return_mode="median"), flush=True)
    del inputs
    torch.cuda.empty_cache()
"""


class Failed(Exception):
    """A part could not be measured."""


def run(command, allowed=(0,)):
    ran = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    if ran.returncode not in allowed:
        last = (ran.stderr.strip() or ran.stdout.strip())[-800:]
        raise Failed(f"{' '.join(map(str, command[:4]))} … ended with {ran.returncode}: {last}")
    return ran.stdout


def compare(options, candidate, baseline, contract, count):
    """The comparisons of `bench --comparisons`, in one process of kernelbrain."""
    command = [
        options.binary, "bench", candidate, "--test", contract, "--against", baseline,
        "--comparisons", count, "--device", options.device, "--json",
    ]
    answer = json.loads(run(command, allowed=(0, 1)))
    if answer["rejection"] is not None:
        raise Failed(f"{candidate}: {json.dumps(answer['rejection'])}")
    return answer["comparisons"]


def same(options):
    per_case = 2 if options.quick else 15
    found = []
    for name in ("rotate", "add"):
        kernel = KERNELS / f"{name}.py"
        found += compare(options, kernel, kernel, KERNELS / f"{name}_contract.py", per_case)
    off = [abs(one["vs_baseline"]["median"] - 1) for one in found]
    claims = [one for one in found if one["claimed"]]
    cases = {one["case"]: [] for one in found}
    for one, error in zip(found, off):
        cases[one["case"]].append((one["candidate_us"], error))
    return {
        "comparisons": len(found),
        "median_off": statistics.median(off),
        "worst_off": max(off),
        "claims_of_1.03": len(claims),
        "gpu_seconds": sum(one["gpu_seconds"] for one in found),
        "disturbed_rounds": sum(one.get("disturbed", 0) for one in found),
        "cases": {
            case: {"us": statistics.median(us for us, _ in pairs), "median_off": statistics.median(e for _, e in pairs)}
            for case, pairs in cases.items()
        },
        "good": statistics.median(off) <= SAME_LIMIT and not claims,
        "raw": [one["vs_baseline"] for one in found],
    }


def slower(options):
    """100 tries, on the cases with steps enough for 5 % to be whole steps."""
    per_case = 2 if options.quick else 25
    contract = options.folder / "slower_contract.py"
    text = (KERNELS / "rotate_contract.py").read_text()
    kept = "CASES = [case for case in CASES if case['steps'] in (640, 1280, 2560, 6400)]\n"
    contract.write_text(text + kept)
    found = compare(options, KERNELS / "rotate.py", KERNELS / "rotate_slower.py", contract, per_case)
    claimed = sum(one["claimed"] for one in found)
    ratios = [one["vs_baseline"]["median"] for one in found]
    return {
        "tries": len(found),
        "found": claimed,
        "median_ratio": statistics.median(ratios),
        "gpu_seconds": sum(one["gpu_seconds"] for one in found),
        "good": claimed >= math.ceil(0.95 * len(found)),
        "raw": [one["vs_baseline"] for one in found],
    }


def ncu(options):
    profiler = shutil.which("ncu") or next(map(str, pathlib.Path("/usr/local/cuda/bin").glob("ncu")), None)
    if profiler is None:
        raise Failed("there is no ncu")
    script = options.folder / "profiled.py"
    script.write_text(PROFILED)
    rows = []
    for name in ("rotate", "add"):
        kernel, contract = KERNELS / f"{name}.py", KERNELS / f"{name}_contract.py"
        ours = {one["case"]: one["candidate_us"] for one in compare(options, kernel, kernel, contract, 1)}
        printed = run([
            profiler, "--csv", "--print-units", "base", "--clock-control", "none", "--profile-from-start", "off",
            "--kernel-name", f"regex:_{name}", "--metrics", "gpu__time_duration.sum",
            sys.executable, script, kernel, contract,
        ])
        durations = ncu_durations_us(printed)
        if len(durations) != 5 * len(ours):
            raise Failed(f"ncu shows {len(durations)} launches of {name} instead of {5 * len(ours)}")
        for at, (case, us) in enumerate(ours.items()):
            theirs = statistics.median(durations[5 * at : 5 * at + 5])
            limit = max(NCU_SHARE * theirs, NCU_US)
            counts = theirs > NCU_FROM_US
            rows.append({"case": case, "us": us, "ncu_us": theirs, "within": abs(us - theirs) <= limit, "counts": counts})
    return {"cases": rows, "good": all(row["within"] for row in rows if row["counts"])}


def ncu_durations_us(text):
    """The values of gpu__time_duration.sum (nanoseconds, base units), in the order of the launches."""
    start = next((at for at, line in enumerate(text.splitlines()) if line.startswith('"ID"')), None)
    if start is None:
        raise Failed(f"ncu printed no table: {text[-400:]}")
    table = csv.DictReader(io.StringIO("\n".join(text.splitlines()[start:])))
    values = [row["Metric Value"] for row in table if row["Metric Name"] == "gpu__time_duration.sum"]
    return [float(value.replace(",", "")) / 1e3 for value in values]


def do_bench(options):
    if options.benchmarks is None:
        raise Failed("name the operators' folder with --benchmarks")
    script = options.folder / "do_bench.py"
    script.write_text(DO_BENCH)
    names, pairs = [], []
    for folder in sorted(path for path in options.benchmarks.iterdir() if (path / "input_kernel.py").exists()):
        kernel, contract = folder / "input_kernel.py", options.folder / f"{folder.name}_contract.py"
        contract.write_text((folder / "test.py").read_text() + "\nCASES = CASES[:1]\nSMALL_CASES = SMALL_CASES[:1]\n")
        names.append(folder.name)
        pairs.append((kernel, contract))
    theirs = run([sys.executable, script, *(path for pair in pairs for path in pair)]).split()
    rows = []
    for name, (kernel, contract), us in zip(names, pairs, map(float, theirs)):
        try:
            ours = compare(options, kernel, kernel, contract, 1)[0]["candidate_us"]
        except Failed as failed:
            rows.append({"operator": name, "failed": str(failed)})
            continue
        rows.append({"operator": name, "us": ours, "do_bench_us": us, "off": ours / us - 1})
    return {"operators": rows, "good": all(abs(row.get("off", 1)) <= DO_BENCH_SHARE for row in rows)}


PARTS = {"same": same, "slower": slower, "ncu": ncu, "do_bench": do_bench}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", type=pathlib.Path)
    parser.add_argument("--benchmarks", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("timing.json"))
    parser.add_argument("--only", default=",".join(PARTS), help="parts, with commas between them")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    options.binary = options.binary.resolve()
    result = {"command": " ".join(sys.argv)}
    with tempfile.TemporaryDirectory() as folder:
        options.folder = pathlib.Path(folder)
        for name in options.only.split(","):
            started = time.monotonic()
            try:
                part = PARTS[name](options)
            except Failed as failed:
                part = {"good": False, "failed": str(failed)}
            result[name] = {"seconds": round(time.monotonic() - started, 1), **part}
            options.out.write_text(json.dumps(result, indent=1) + "\n")
            print(name, json.dumps({key: value for key, value in result[name].items() if key != "raw"}), flush=True)
    return 0 if all(result[name]["good"] for name in options.only.split(",")) else 1


if __name__ == "__main__":
    sys.exit(main())
