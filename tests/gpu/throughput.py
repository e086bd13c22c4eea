"""Candidates a minute at rung 0, beside a fresh process per evaluation, in one run.

    python3 tests/gpu/throughput.py BINARY KERNEL TEST --candidates 200 --fresh 3 --out throughput.json

Ours: `kernelbrain optimize` with a ladder whose rung 0 is the default one, ended when rung 0 is done;
counted are the distinct programs that were launched, compared by the referee and timed between the first
debit and the last evaluation of rung 0, as the journal recorded them; a candidate that shares another's
measurement, being the same program, is not counted. `while_candidates_were_left` counts until the last candidate
is begun: after it the children run dry, and a compiler at its last, slowest kernel is all there is. `steps_ms` has the median and the 90th percentile of each step of these
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
import signal
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
keep = 0.001

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


def within(log):
    """Median milliseconds of the parts of each answer of a child or the referee, of those that have several."""
    parts = {}
    for found in re.finditer(r'answered op="(\w+)" ms=\S+ within=(\[\[.*?\]\])', re.sub(r"\x1b\[[0-9;]*m", "", log)):
        for part, ms in json.loads(found.group(2)):
            parts.setdefault(found.group(1), {}).setdefault(part, []).append(ms)
    return {op: {part: statistics.median(ms) for part, ms in of.items()} for op, of in parts.items()}


def journal(database):
    """The events so far, as (when, kind, body)."""
    if not database.exists():
        return []
    connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=5)
    try:
        rows = connection.execute("SELECT recorded_at, kind, body FROM events ORDER BY seq").fetchall()
    except sqlite3.OperationalError:  # not made yet
        return []
    finally:
        connection.close()
    return [(at, kind, json.loads(body)) for at, kind, body in rows]


def of_rung_0(events):
    return [(at, body["evaluation"]) for at, kind, body in events
            if kind == "evaluated" and body["evaluation"]["rung"] == 0]


def until_rung_0_is_done(command, database, candidates, limit, log):
    """Runs until that many candidates are past rung 0, or the limit in seconds; the journal, and the seconds."""
    started = time.monotonic()
    environment = {**os.environ, "KERNELBRAIN_LOG": "kernelbrain::evaluate=debug"}
    process = subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL, stderr=log, env=environment)
    while process.poll() is None and time.monotonic() - started < limit:
        if len(of_rung_0(journal(database))) >= candidates:
            break
        time.sleep(0.5)
    seconds = time.monotonic() - started
    for _ in range(2):  # the second one: now
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            time.sleep(0.5)
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
    return journal(database), seconds


def tally(evaluated, seconds):
    """What came of evaluations that ended within that many seconds."""
    accepted, shared, rejected, turn, wall = 0, 0, {}, 0.0, 0.0
    for _, evaluation in evaluated:
        turn += evaluation["cost"]["gpu_seconds"]
        wall += evaluation["cost"]["wall_seconds"]
        verdict = evaluation["verdict"]
        if evaluation.get("same_program_as"):
            shared += 1
        elif verdict == "accepted":
            accepted += 1
        else:
            rejected[evaluation["gate"]] = rejected.get(evaluation["gate"], 0) + 1
    return {
        "candidates_measured": accepted,
        "candidates_sharing_a_measurement": shared,
        "candidates_rejected": rejected,
        "seconds": seconds,
        "candidates_a_minute": 60 * accepted / seconds,
        "gpu_turn_seconds": turn,
        "gpu_turn_share": turn / seconds,
        "seconds_an_evaluation": wall / len(evaluated),
    }


def ours(arguments, folder):
    config, database, log = folder / "kernelbrain.toml", folder / "runs.db", folder / "log"
    config.write_text(LADDER)
    command = [
        arguments.binary, "optimize", arguments.kernel, "--test", arguments.test, "--config", config,
        "--device", arguments.device, "--budget", "10m", "--seeds", str(arguments.candidates),
        "--max-candidates", str(arguments.candidates), "--db", database, "--out", folder / "out", "--plain", "--no-calibrate",
    ]
    if arguments.children:
        command += ["--children", str(arguments.children)]
    with open(log, "wb") as file:
        events, whole = until_rung_0_is_done(command, database, arguments.candidates, arguments.limit, file)
    text = log.read_text(errors="replace")
    if arguments.log:
        arguments.log.write_text(text)
    begun, evaluated = [at for at, kind, body in events if kind == "debited" and body["rung"] == 0], of_rung_0(events)
    if len(evaluated) < 2:
        sys.exit("nothing was measured:\n" + "\n".join(text.splitlines()[-20:]))
    start, last_begun = instant(min(begun)), instant(max(begun))
    supplied = [(at, evaluation) for at, evaluation in evaluated if instant(at) <= last_begun]
    return {
        **tally(evaluated, (instant(evaluated[-1][0]) - start).total_seconds()),
        "while_candidates_were_left": tally(supplied, (last_begun - start).total_seconds()),
        "whole_run_seconds": whole,
        "steps_ms": steps(text),
        "within_ms": within(text),
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
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--limit", type=float, default=300, help="seconds after which rung 0 is ended as it is")
    parser.add_argument("--log", type=pathlib.Path, help="where to keep what kernelbrain logged")
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
