"""Recipes alone, a language model alone, and both: what each finds with the same GPU seconds.

    python3 tests/gpu/together.py BINARY BENCHMARKS RECORDINGS --gpu-budget 60s --out together.json

For each operator of BENCHMARKS that RECORDINGS has a search of (NAME-DEVICE.json.gz or NAME-…-DEVICE.json.gz, made by
record.py; the last in the order of their names): three runs from the same kernel, whose model, where they have one,
gives the recorded answers (`--model replay:`), but none about what recipes made: those could only be asked for where
there are recipes, and both runs are to have the same model. A request that was not made in the recorded search stays
without an answer and costs nothing; how many were answered is reported. Each mode is run once: the intervals are those
of the measurement, not of the search's luck. Then the winner of both is raced against that of each alone, interleaved
in one process (`bench --against`), because two runs cannot be compared to a percent. A run that improved nothing has
the baseline for its winner.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import restore

MODES = {"recipes": None, "model": "rewrites", "both": "both"}


def recorded(arguments, name):
    """The recording to take for an operator, if there is one."""
    last = f"-{arguments.recorded_on}.json.gz"
    found = sorted([*arguments.recordings.glob(f"{name}{last}"), *arguments.recordings.glob(f"{name}-*{last}")])
    return restore.load(found[-1]) if found else None


def available_to_a_model_alone(recording):
    """The exchanges about the baseline and about what a model made of it."""
    made_by = {
        event["candidate"]["id"]: event["candidate"]["move"]["kind"]
        for event in recording["events"] if isinstance(event.get("candidate"), dict)
    }
    return [exchange for exchange in recording["exchanges"] if made_by.get(exchange["parent"], "baseline") != "recipe"]


def optimize(arguments, name, mode, recording, folder):
    """The report of one run."""
    source, out = arguments.benchmarks / name, folder / mode
    moves = MODES[mode]
    command = [
        arguments.binary, "optimize", source / "input_kernel.py", "--test", source / "test.py", "--device", arguments.device,
        "--gpu-budget", arguments.gpu_budget, "--budget", arguments.budget, "--db", folder / "runs.db", "--out", out,
        "--plain", *(["--model", f"replay:{recording['run']}", "--moves", moves] if moves else []), *arguments.option,
    ]
    with open(folder / f"{mode}.log", "w") as log:
        status = subprocess.run(list(map(str, command)), stdout=subprocess.DEVNULL, stderr=log).returncode
    if status not in (0, 1):
        sys.exit(f"{name}, {mode}: exit status {status}\n{(folder / f'{mode}.log').read_text(errors='replace')[-2000:]}")
    return json.loads((out / "report.json").read_text())


def winner(arguments, name, mode, folder):
    best = folder / mode / "best.py"
    return best if best.exists() else arguments.benchmarks / name / "input_kernel.py"


def race(arguments, name, folder, against):
    """The winner of both over that of `against`: a ratio with its interval, over all cases."""
    ours, other = winner(arguments, name, "both", folder), winner(arguments, name, against, folder)
    if ours.read_bytes() == other.read_bytes():
        return {"same": True}
    command = [
        arguments.binary, "bench", ours, "--against", other, "--test", arguments.benchmarks / name / "test.py",
        "--device", arguments.device, "--allow-regression", "--json",
    ]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    if done.returncode not in (0, 1):
        sys.exit(f"{name}: bench ends with status {done.returncode}\n{done.stderr[-2000:]}")
    judged = json.loads(done.stdout)["results"][0]
    return {"same": False, "speedup": judged["vs_baseline"], "rejected": judged["reason"]}


def summary(report):
    generation = report.get("generation")
    spent = report["budget"]
    return {
        "outcome": report["outcome"],
        "speedup": report.get("speedup") and report["speedup"]["vs_baseline"],
        "cases": {case["name"]: {"best_us": case["best_us"], "baseline_us": case["baseline_us"]} for case in report["cases"]},
        "moves": report.get("best") and report["best"]["moves"],
        "gpu_seconds": spent["gpu_seconds_spent"],
        "wall_seconds": spent["wall_seconds_spent"],
        "evaluations": spent["evaluations_spent"],
        "asked": generation and generation["asked"],
        "answered": generation and generation["answered"],
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", type=pathlib.Path)
    parser.add_argument("benchmarks", type=pathlib.Path)
    parser.add_argument("recordings", type=pathlib.Path)
    parser.add_argument("--gpu-budget", default="60s", help="GPU seconds of each run's search (default 60s)")
    parser.add_argument("--budget", default="5m", help="wall clock of each run (default 5m)")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--recorded-on", default="h200", help="the last part of the recordings' names (default h200)")
    parser.add_argument("--only", nargs="*", help="operators (default: all with a recording)")
    parser.add_argument("--option", action="append", default=[], help="a further option of optimize")
    parser.add_argument("--keep", type=pathlib.Path, help="folder for databases, logs and reports")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    arguments.binary = arguments.binary.resolve()
    names = arguments.only or sorted(path.parent.name for path in arguments.benchmarks.glob("*/input_kernel.py"))
    operators = {}
    with tempfile.TemporaryDirectory() as scratch:
        for name in names:
            recording = recorded(arguments, name)
            if recording is None:
                print(f"{name}: no recorded search, left out", flush=True)
                continue
            folder = (arguments.keep or pathlib.Path(scratch)) / name
            folder.mkdir(parents=True)
            restore.write(arguments.binary, folder / "runs.db", recording, exchanges=available_to_a_model_alone(recording))
            found = {mode: summary(optimize(arguments, name, mode, recording, folder)) for mode in MODES}
            for mode in ("recipes", "model"):
                found["both"][f"over_{mode}"] = race(arguments, name, folder, mode)
            operators[name] = {"recording": recording["run"], **found}
            print(name, json.dumps(operators[name]), flush=True)
            arguments.out.write_text(json.dumps(
                {"command": ["tests/gpu/together.py", *sys.argv[1:]], "gpu_budget": arguments.gpu_budget, "operators": operators}, indent=1,
            ) + "\n")


if __name__ == "__main__":
    main()
