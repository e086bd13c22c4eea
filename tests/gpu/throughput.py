"""Candidates a minute at rung 0, beside a fresh process per evaluation, in one run.

    python3 tests/gpu/throughput.py BINARY KERNEL TEST --candidates 200 --fresh 3 --out throughput.json

Ours: `kernelbrain optimize` with a ladder whose rung 0 is the default one; counted are the distinct
programs that were launched, compared by the referee and timed between the first debit and the last
evaluation of rung 0, as the journal recorded them; a candidate that shares another's measurement, being
the same program, is not counted. `steps_ms` has the median and the 90th percentile of each step of these
evaluations, those under `turn` while the GPU was held. Fresh processes: for each of a few candidates one
process that imports, makes the inputs on the GPU and compares, and a second that times candidate,
eager and torch.compile, the way agents without a fork server do.
"""
import argparse
import datetime
import json
import os
import pathlib
import re
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

LADDER = """
[[search.rung]]
cases = { first = 1 }
seeds = 1
timing = { warmup = 3, repeat = 10 }
keep = 0.02

[[search.rung]]
cases = "all"
seeds = 1
timing = { warmup = 3, repeat = 10 }
"""

CHECK = """
import importlib.util, sys, torch
def load(name, path):
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
test, candidate = load("contract", sys.argv[1]), load("candidate", sys.argv[2])
inputs = test.make_inputs(device="cuda", seed=1, **{k: v for k, v in test.CASES[0].items() if k not in ("name", "weight")})
tolerance = test.TOLERANCE[test.CASES[0]["dtype"]]
"""
COMPARE = CHECK + """
torch.testing.assert_close(candidate.kernel_function(*inputs), test.reference(*inputs), **tolerance)
"""
TIME = CHECK + """
import triton.testing
compiled = torch.compile(test.reference)
for call in (candidate.kernel_function, test.reference, compiled):
    print(triton.testing.do_bench(lambda: call(*inputs)))
"""


def instant(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))


def steps(log):
    """Milliseconds by step, of evaluations that stood ready before their turn: those of rung 0."""
    before, turn = {}, {}
    for found in re.finditer(r"steps=(\[\[.*?\]\])", re.sub(r"\x1b\[[0-9;]*m", "", log)):
        made = json.loads(found.group(1))
        if "attach" not in [name for name, _ in made]:
            continue
        part, seen = before, {}
        for name, ms in made:
            seen[name] = seen.get(name, 0) + 1
            label = name if seen[name] == 1 else f"{name} {seen[name]}"
            part.setdefault(label, []).append(ms)
            if name == "wait for the turn":
                part = turn
            elif name == "turn":
                part = before

    def summary(times):
        ordered = {name: sorted(values) for name, values in times.items()}
        return {name: {"median": statistics.median(v), "p90": v[int(0.9 * (len(v) - 1))], "count": len(v)}
                for name, v in ordered.items()}

    return {"before_and_after": summary(before), "turn": summary(turn)}


def ours(arguments, folder):
    config, database = folder / "kernelbrain.toml", folder / "runs.db"
    config.write_text(LADDER)
    command = [
        arguments.binary, "optimize", arguments.kernel, "--test", arguments.test, "--config", config,
        "--device", "cuda", "--budget", "10m", "--seeds", str(arguments.candidates),
        "--max-candidates", str(arguments.candidates), "--db", database, "--out", folder / "out", "--plain",
    ]
    if arguments.children:
        command += ["--children", str(arguments.children)]
    started = time.monotonic()
    environment = {**os.environ, "KERNELBRAIN_LOG": "kernelbrain::evaluate=debug"}
    ran = subprocess.run(list(map(str, command)), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                         env=environment, errors="replace")
    if ran.returncode:
        sys.exit("\n".join(ran.stderr.splitlines()[-20:]))
    whole = time.monotonic() - started
    rows = sqlite3.connect(database).execute("SELECT recorded_at, kind, body FROM events ORDER BY seq").fetchall()
    begun, ended, accepted, shared, rejected, turn, wall = [], [], 0, 0, {}, 0.0, 0.0
    for at, kind, body in rows:
        body = json.loads(body)
        if kind == "debited" and body["rung"] == 0:
            begun.append(at)
        if kind == "evaluated" and body["evaluation"]["rung"] == 0:
            evaluation = body["evaluation"]
            ended.append(at)
            turn += evaluation["cost"]["gpu_seconds"]
            wall += evaluation["cost"]["wall_seconds"]
            if evaluation.get("same_program_as"):
                shared += 1
            elif evaluation["verdict"] == "accepted":
                accepted += 1
            else:
                rejected[evaluation["gate"]] = rejected.get(evaluation["gate"], 0) + 1
    seconds = (instant(max(ended)) - instant(min(begun))).total_seconds()
    report = json.loads((folder / "out" / "report.json").read_text())
    return {
        "candidates_measured": accepted,
        "candidates_sharing_a_measurement": shared,
        "candidates_rejected": rejected,
        "seconds": seconds,
        "candidates_a_minute": 60 * accepted / seconds,
        "gpu_turn_seconds": turn,
        "gpu_turn_share": turn / seconds,
        "seconds_an_evaluation": wall / max(1, len(ended)),
        "whole_run_seconds": whole,
        "steps_ms": steps(ran.stderr),
        "device": report["device"],
    }


def fresh(arguments):
    seconds = []
    for _ in range(arguments.fresh):
        started = time.monotonic()
        for script in (COMPARE, TIME):
            subprocess.run([sys.executable, "-c", script, arguments.test, arguments.kernel],
                           check=True, stdout=subprocess.DEVNULL)
        seconds.append(time.monotonic() - started)
    return {"seconds_an_evaluation": seconds, "candidates_a_minute": 60 * len(seconds) / sum(seconds)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("kernel")
    parser.add_argument("test")
    parser.add_argument("--candidates", type=int, default=200)
    parser.add_argument("--children", type=int)
    parser.add_argument("--fresh", type=int, default=3)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        result = {"command": " ".join(sys.argv), "ours": ours(arguments, pathlib.Path(folder))}
    if arguments.fresh:
        result["fresh_process"] = fresh(arguments)
        result["ratio"] = result["ours"]["candidates_a_minute"] / result["fresh_process"]["candidates_a_minute"]
    arguments.out.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
