"""Does the ladder find what measuring everything finds, and for how much of the GPU's time?

    python3 tests/gpu/ranking.py BINARY BENCHMARKS --candidates 60 --out ranking.json

For each operator two runs with the same first candidates, without profiles: one evaluates every candidate on
the lowest and on the highest rung (`--full-evaluation`), one promotes over the default ladder. Both are ended when
their search is over and the verification begins. `--everything FILE` takes the first run from an earlier result,
to look at another ladder, or because there was no time for the second: what the first one measured is written as
soon as it is over. With `--keep FOLDER` the runs' own state stays, and the same command goes on where it was interrupted.
From the journals:

- Kendall's tau between the order on rung 0 and the order at full fidelity. Pairs whose latencies at full
  fidelity differ by less than `--tie` have no order that a measurement could find, and are left out;
  how many is reported.
- The winner of the ladder, looked up in the run that measured everything, against the best there of the candidates
  that both runs had; where nothing got past the top rung, the winner is the baseline.
- GPU seconds of the ladder over those of the highest rung for everything, without the baseline.
"""
import argparse
import itertools
import json
import math
import pathlib
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

# As in the default ladder, but for what goes on.
RUNG_0 = """
[[search.rung]]
cases = {cases}
seeds = 1
timing = {{ warmup = 3, repeat = 10 }}
keep = {keep}
"""

TOP = """
[[search.rung]]
cases = "all"
seeds = 3
timing = { warmup = 10, repeat = 50 }
"""


def run(arguments, name, folder, ladder, *options):
    """The journal of one run, as a list of (kind, body); goes on with what lies in the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "kernelbrain.toml").write_text(ladder)
    source = arguments.benchmarks / name
    command = [
        arguments.binary, "optimize", source / "input_kernel.py", "--test", source / "test.py", "--device", arguments.device,
        "--config", folder / "kernelbrain.toml", "--budget", arguments.budget, "--seeds", arguments.candidates,
        "--max-candidates", arguments.candidates, "--db", folder / "runs.db", "--out", folder / "out", "--plain",
        "--no-profile", "--no-calibrate", *options,
    ]
    with open(folder / "log", "a") as log:
        # In a session of its own it hears of an interruption from here only, and once: twice means at once.
        process = subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL, stderr=log, start_new_session=True)
        stopped = end_with_the_search(process, folder / "runs.db")
    text = (folder / "log").read_text(errors="replace")
    if arguments.logs:
        (arguments.logs / f"{name}-{folder.name}.log").write_text(text)
    if process.returncode and not stopped:
        sys.exit("\n".join(text.splitlines()[-20:]))
    return journal(folder / "runs.db")


def journal(database):
    rows = sqlite3.connect(database).execute("SELECT kind, body FROM events ORDER BY seq").fetchall()
    return [(kind, json.loads(body)) for kind, body in rows]


def end_with_the_search(process, database):
    """Waits for the process, and interrupts it when a verification begins; whether it was interrupted. A verification
    is debited on the rung past the top one, whose number is seen from the baseline's."""
    while process.poll() is None:
        try:
            time.sleep(0.5)
        except KeyboardInterrupt:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            process.send_signal(signal.SIGINT)
            process.wait()
            sys.exit("interrupted; with --keep the same command goes on")
        try:
            debits = [body for kind, body in journal(database) if kind == "debited"]
        except sqlite3.Error:
            continue
        if debits and any(body["rung"] > debits[0]["rung"] for body in debits):
            process.send_signal(signal.SIGINT)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGINT)
                process.wait()
            return True
    return False


def latencies(evaluation):
    return {case["case"]: case["latency_us"] for case in evaluation["cases"]}


def evaluations(journal):
    """{candidate: {rung: {case: µs}}} of what was accepted; GPU seconds by rung; the baseline's {case: µs}."""
    measured, seconds, baseline = {}, {}, {}
    for kind, body in journal:
        if kind == "baseline_measured":
            baseline = latencies(body["evaluation"])
        if kind == "evaluated":
            evaluation = body["evaluation"]
            rung = evaluation["rung"]
            seconds[rung] = seconds.get(rung, 0.0) + evaluation["cost"]["gpu_seconds"]
            if evaluation["verdict"] == "accepted":
                measured.setdefault(evaluation["candidate"], {})[rung] = latencies(evaluation)
    return measured, seconds, baseline


def geometric_mean(cases):
    return math.exp(sum(map(math.log, cases.values())) / len(cases))


def kendall(pairs, tie):
    """Tau of (x, y) over the pairs whose y differ by at least the share `tie`."""
    agree = disagree = tied = 0
    for (x1, y1), (x2, y2) in itertools.combinations(pairs, 2):
        if abs(math.log(y1 / y2)) < tie:
            tied += 1
        elif (x1 - x2) * (y1 - y2) > 0:
            agree += 1
        else:
            disagree += 1
    counted = agree + disagree
    return {"tau": (agree - disagree) / counted if counted else None, "pairs": counted, "tied_pairs": tied}


def measure_everything(arguments, name, folder):
    """Rung 0 and full fidelity of every candidate, GPU seconds of each rung and the baseline's latencies."""
    ladder = RUNG_0.format(cases=arguments.rung_0_cases, keep=1.0) + TOP
    measured, seconds, baseline = evaluations(run(arguments, name, folder / "all", ladder, "--full-evaluation"))
    both = {candidate: {"0": rungs[0], "1": rungs[1]} for candidate, rungs in measured.items() if {0, 1} <= rungs.keys()}
    everything = {str(rung): spent for rung, spent in seconds.items()}
    return {"gpu_seconds": {"everything": everything}, "baseline_us": baseline, "latencies_us": both}


def compare(arguments, name, folder, everything):
    """The ladder's run, beside what was found by measuring everything."""
    both, baseline = everything["latencies_us"], everything["baseline_us"]
    seconds = everything["gpu_seconds"]["everything"]
    full = {candidate: geometric_mean(rungs["1"]) for candidate, rungs in both.items()}
    by_rung_0 = [(geometric_mean(rungs["0"]), full[candidate]) for candidate, rungs in both.items()]
    by_first_case = [(next(iter(rungs["0"].values())), full[candidate]) for candidate, rungs in both.items()]
    its_cases = [
        (geometric_mean({case: rungs["1"][case] for case in rungs["0"]}), full[candidate]) for candidate, rungs in both.items()
    ]
    first_case = [(next(iter(rungs["0"].values())), next(iter(rungs["1"].values()))) for rungs in both.values()]
    of_ladder, ladder_seconds, _ = evaluations(run(arguments, name, folder / "ladder", ""))
    survivors = {candidate: geometric_mean(rungs[2]) for candidate, rungs in of_ladder.items() if 2 in rungs}
    winner = min(survivors, key=survivors.get, default=None)
    found = full.get(winner, geometric_mean(baseline)) if winner is None or winner in full else None
    best = min([*(full[candidate] for candidate in full.keys() & of_ladder.keys()), geometric_mean(baseline)])
    spent = sum(ladder_seconds.values())
    return {
        "candidates": len(both),
        "rung_0": kendall(by_rung_0, arguments.tie),
        "cases_of_rung_0_at_full_fidelity": kendall(its_cases, arguments.tie),
        "first_case_against_all": kendall(by_first_case, arguments.tie),
        "first_case_against_itself": kendall(first_case, arguments.tie),
        "winner": winner,
        "winner_over_best": found / best if found else None,
        "best_over_baseline": geometric_mean(baseline) / best,
        "evaluated": {rung: sum(rung in rungs for rungs in of_ladder.values()) for rung in ladder_seconds},
        "gpu_seconds": {"everything": seconds, "ladder": ladder_seconds, "share": spent / seconds["1"]},
        "baseline_us": baseline,
        "latencies_us": both,
        "ladder_latencies_us": of_ladder,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("benchmarks", type=pathlib.Path)
    parser.add_argument("--only", nargs="*", help="names of operators; default: all")
    parser.add_argument("--candidates", type=int, default=60)
    parser.add_argument("--budget", default="30m", help="of each run (default 30m)")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--rung-0-cases", default="{ spread = 6 }", help="the `cases` of rung 0, as in a configuration")
    parser.add_argument("--tie", type=float, default=0.01)
    parser.add_argument("--everything", type=pathlib.Path, help="an earlier result that measured everything")
    parser.add_argument("--keep", type=pathlib.Path, help="a folder for the runs' state")
    parser.add_argument("--logs", type=pathlib.Path, help="a folder for what kernelbrain logged (KERNELBRAIN_LOG)")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    names = arguments.only or sorted(path.parent.name for path in arguments.benchmarks.glob("*/input_kernel.py"))
    earlier = json.loads(arguments.everything.read_text())["operators"] if arguments.everything else {}
    result = {"command": " ".join(sys.argv), "tie": arguments.tie, "operators": dict(earlier)}

    def keep(found):
        result["operators"][name] = found
        arguments.out.write_text(json.dumps(result, indent=1) + "\n")

    for name in names:
        with tempfile.TemporaryDirectory() as scratch:
            folder = (arguments.keep or pathlib.Path(scratch)) / name
            everything = earlier.get(name) or measure_everything(arguments, name, folder)
            keep(everything)
            keep(compare(arguments, name, folder, everything))
        shown = {key: value for key, value in result["operators"][name].items() if not key.endswith("_us")}
        print(name, json.dumps(shown))


if __name__ == "__main__":
    main()
