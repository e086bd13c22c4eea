"""A recorded run as a run again, so that a search that was interrupted goes on, here or elsewhere:

    python3 tests/gpu/restore.py BINARY RECORDING.json.gz BENCHMARKS OUT

RECORDING is what record.py wrote; the kernel and its contract are taken from BENCHMARKS/NAME. OUT becomes a folder of
rewrites.sh, which goes on with the run: its database holds it, OUT/NAME.run names it, and in OUT/NAME.prompts lie the
answers that had been given and not yet been taken.
"""
import argparse
import gzip
import hashlib
import json
import pathlib
import sqlite3
import subprocess


def load(path):
    return json.loads(gzip.decompress(path.read_bytes()))


def write(binary, database, recording, *, exchanges, output="", journal=False):
    """Writes a recorded run into a database, with these of its exchanges. With its journal it is a run that goes on;
    without, one that has ended and can only be asked for what a model said."""
    subprocess.run([binary, "runs", "--db", database], check=True, stdout=subprocess.DEVNULL)
    run, created = recording["run"], "2026-01-01T00:00:00Z"
    ended = None if journal else json.dumps(recording["outcome"] or {"outcome": "no_improvement", "reason": "interrupted"})
    connection = sqlite3.connect(database)
    with connection:
        connection.execute(
            "INSERT INTO runs (id, key, output, target, plan, environment, created, state, outcome)"
            " VALUES (?, '', ?, ?, ?, ?, ?, ?, ?)",
            (
                run, str(output), json.dumps(recording["target"]), json.dumps(recording["plan"]),
                json.dumps(recording["environment"]), created, "open" if journal else "ended", ended,
            ),
        )
        for number, event in enumerate(recording["events"] if journal else [], 1):
            connection.execute(
                "INSERT INTO events (run, seq, recorded_at, kind, body, source) VALUES (?, ?, ?, ?, ?, ?)",
                (run, number, created, event["event"], *without_source(connection, event)),
            )
        connection.executemany(
            "INSERT INTO exchanges (run, parent, rung, kind, body) VALUES (?, ?, ?, ?, ?)",
            [
                (
                    run, exchange["parent"], -1 if exchange["rung"] is None else exchange["rung"],
                    json.dumps(exchange["kind"], separators=(",", ":")), json.dumps(exchange["said"]),
                )
                for exchange in exchanges
            ],
        )
    connection.close()


def without_source(connection, event):
    """The event's text without the source of its candidate, and that source's key among the sources."""
    candidate = event.get("candidate")
    if not isinstance(candidate, dict) or "source" not in candidate:
        return json.dumps(event), None
    text = candidate["source"].encode()
    key = hashlib.sha256(text).hexdigest()
    connection.execute("INSERT OR IGNORE INTO sources (source, text) VALUES (?, ?)", (key, text))
    return json.dumps({**event, "candidate": {**candidate, "source": ""}}), key


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", type=pathlib.Path)
    parser.add_argument("recording", type=pathlib.Path)
    parser.add_argument("benchmarks", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    arguments = parser.parse_args()
    recording, out = load(arguments.recording), arguments.out.resolve()
    if recording["outcome"]:
        parser.error(f"the run of {arguments.recording} has ended")
    target = recording["target"]
    name, folder = target["name"], arguments.benchmarks.resolve() / target["name"]
    target["source"], target["contract"] = str(folder / "input_kernel.py"), str(folder / "test.py")
    prompts = out / f"{name}.prompts"
    prompts.mkdir(parents=True, exist_ok=True)
    for question, answer in recording.get("waiting", {}).items():
        (prompts / f"{question}.answer.md").write_text(answer)
    recording["plan"]["model"] = f"folder:{prompts}"
    write(
        arguments.binary.resolve(), out / "runs.db", recording, exchanges=recording["exchanges"], output=out / name, journal=True,
    )
    (out / f"{name}.run").write_text(recording["run"])
    print(f"{out / name}.run: {recording['run']}, {len(recording['events'])} events")


if __name__ == "__main__":
    main()
