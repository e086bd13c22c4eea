#!/usr/bin/env python3
"""Judges every case of an integrity corpus with `kernelbrain bench` and says where it was wrong.

    tests/corpus.py CORPUS [--binary target/debug/kernelbrain] [--device cpu] [--jobs 2] [--only cache] [--json out.json]

A corpus is a folder with cases/NAME/candidate.py, reference.py (a contract) and case.toml, which says in
`expect` whether the candidate deserves `reject` or `accept`. Exit status 1: a verdict differs from what is
expected, or there is none. A harness that crashes or runs out of time has rejected nothing.
"""
import argparse
import concurrent.futures
import dataclasses
import json
import pathlib
import subprocess
import sys
import time
import tomllib

# What `bench` ends with when it reached a verdict; anything else is a fault of the contract or the machine.
_VERDICT_STATUS = {0: "accepted", 1: "rejected"}
_EXPECTED = {"accept": "accepted", "reject": "rejected"}
# Gates whose words may come from a limit of the harness and not from the kernel.
_NO_VERDICT = ("did not end within",)


@dataclasses.dataclass
class Outcome:
    name: str
    category: str
    expected: str
    verdict: str  # accepted, rejected, left out, or crashed
    gate: str = ""
    reason: str = ""
    line: int | None = None
    seconds: float = 0.0

    @property
    def good(self):
        return self.verdict in (_EXPECTED[self.expected], "left out")


def case_of(folder):
    return tomllib.loads((folder / "case.toml").read_text())


def begin(folder):
    case = case_of(folder)
    return Outcome(folder.name, case.get("category", ""), case["expect"], "left out")


def in_groups(folders, options):
    """[[folder…]…]: cases with the same contract are judged by one `bench`, which imports it once."""
    groups = {}
    for folder in folders:
        groups.setdefault((folder / "reference.py").read_bytes(), []).append(folder)
    most = max(1, options.group)
    return [group[at : at + most] for group in groups.values() for at in range(0, len(group), most)]


def judge(folders, options):
    """The outcomes of cases that share a contract."""
    outcomes = {folder: begin(folder) for folder in folders}
    judged = []
    for folder, outcome in outcomes.items():
        if case_of(folder).get("needs_gpu") and options.device == "cpu":
            outcome.reason = "needs a GPU"
        else:
            judged.append(folder)
    if not judged:
        return list(outcomes.values())
    command = [options.binary, "bench", *(str(folder / "candidate.py") for folder in judged)]
    command += ["--test", str(judged[0] / "reference.py"), "--device", options.device, "--json", *options.bench_option]
    started, limit = time.monotonic(), options.timeout * len(judged)
    try:
        ran = subprocess.run(command, capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        ran = None
    for folder in judged:
        outcome = outcomes[folder]
        outcome.seconds = (time.monotonic() - started) / len(judged)
        if ran is None:
            outcome.verdict, outcome.reason = "crashed", f"no verdict within {limit:g} s"
        else:
            read_verdict(ran, folder, outcome)
    return list(outcomes.values())


def read_verdict(ran, folder, outcome):
    """The verdict of one file from what `bench` printed; its exit status must say the same of all of them."""
    outcome.verdict = "crashed"
    try:
        results = json.loads(ran.stdout)["results"]
        (result,) = [result for result in results if result["file"] == str(folder / "candidate.py")]
    except (ValueError, KeyError):
        outcome.reason = f"exit status {ran.returncode}: {ran.stderr.strip() or ran.stdout.strip()}"
        return
    outcome.gate, outcome.line = result.get("gate") or "", (result.get("evidence") or {}).get("line")
    outcome.reason = result.get("reason") or ""
    verdicts = {result["verdict"] for result in results}
    whole = "rejected" if "rejected" in verdicts else "accepted"
    if _VERDICT_STATUS.get(ran.returncode) != whole:
        outcome.reason = f"exit status {ran.returncode}, but the verdicts are {sorted(verdicts)}: {outcome.reason}"
    elif not any(words in outcome.reason for words in _NO_VERDICT):
        outcome.verdict = result["verdict"]


def write(path, outcomes):
    path.write_text(json.dumps([dataclasses.asdict(o) | {"good": o.good} for o in outcomes], indent=1) + "\n")


def table(outcomes, width):
    header = ("", "case", "expected", "verdict", "gate", "s", "reason")
    rows = [
        ("ok" if o.good else "NO", o.name, o.expected, o.verdict, o.gate, f"{o.seconds:.1f}", " ".join(o.reason.split()))
        for o in outcomes
    ]
    widths = [max(len(row[column]) for row in (header, *rows)) for column in range(len(header) - 1)]
    for row in (header, *rows):
        start = "  ".join(cell.ljust(size) for cell, size in zip(row, widths))
        room = max(width - len(start) - 2, 20)
        reason = row[-1] if len(row[-1]) <= room else row[-1][: room - 1] + "…"
        print(f"{start}  {reason}".rstrip())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpus", type=pathlib.Path)
    parser.add_argument("--binary", default="target/debug/kernelbrain")
    parser.add_argument("--device", default="cpu", help="cpu, cuda or cuda:N; cpu leaves out what needs a GPU")
    parser.add_argument("--jobs", type=int, default=2, help="cases at once; on a GPU take 1, so that times mean something")
    parser.add_argument("--only", default="", help="cases whose name or category contains this")
    parser.add_argument("--timeout", type=float, default=300.0, help="seconds a case")
    parser.add_argument("--group", type=int, default=4, help="cases of one contract that share a process")
    parser.add_argument("--width", type=int, default=180, help="columns of the table")
    parser.add_argument("--bench-option", action="append", default=[], help="passed on to bench, for example --no-timing")
    parser.add_argument("--json", type=pathlib.Path, help="write the outcomes to this file too")
    options = parser.parse_args()

    folders = sorted(path.parent for path in (options.corpus / "cases").glob("*/case.toml"))
    if not folders:
        parser.error(f"{options.corpus} has no cases/NAME/case.toml: is it a corpus?")
    category = {folder: case_of(folder).get("category", "") for folder in folders}
    chosen = [folder for folder in folders if options.only in folder.name or options.only in category[folder]]
    started = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(max(options.jobs, 1)) as pool:
        pending = [pool.submit(judge, group, options) for group in in_groups(chosen, options)]
        for done in concurrent.futures.as_completed(pending):
            for outcome in done.result():
                mark = "ok" if outcome.good else "NO"
                print(f"{mark}  {outcome.name}  {outcome.verdict}  {outcome.seconds:.1f} s", file=sys.stderr, flush=True)
            if options.json:
                write(options.json, [outcome for future in pending if future.done() for outcome in future.result()])
        outcomes = sorted((outcome for future in pending for outcome in future.result()), key=lambda o: o.name)
    table(outcomes, options.width)
    judged = [o for o in outcomes if o.verdict != "left out"]
    wrong = [o for o in outcomes if not o.good]
    print(f"\n{len(judged)} cases on {options.device} in {time.monotonic() - started:.0f} s, {len(wrong)} wrong", end="")
    left_out = len(outcomes) - len(judged)
    print(f"; {left_out} left out, which need a GPU" if left_out else "")
    return 1 if wrong or not judged else 0


if __name__ == "__main__":
    sys.exit(main())
