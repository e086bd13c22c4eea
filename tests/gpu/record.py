"""One run of a database as a file that tests can replay without a GPU or a model:

    python3 tests/gpu/record.py runs.db RUN tests/recordings/NAME.json.gz [PROMPTS]

It holds the plan, the target, every event with the sources of its candidates, and every exchange with the
language model. The database is only read. Of a run that has not ended it is what restore.py goes on with, together
with the answers in the folder PROMPTS that the run has not taken yet.
"""
import gzip
import json
import pathlib
import sqlite3
import sys


def recording(database, run):
    connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
    row = connection.execute("SELECT target, plan, environment, outcome FROM runs WHERE id = ?", (run,)).fetchone()
    if row is None:
        sys.exit(f"no run {run} in {database}")
    target, plan, environment, outcome = (json.loads(text) if text else None for text in row)
    query = "SELECT body, text FROM events LEFT JOIN sources USING (source) WHERE run = ? ORDER BY seq"
    events = []
    for body, text in connection.execute(query, (run,)):
        event = json.loads(body)
        if text is not None:
            event["candidate"]["source"] = text.decode()
        events.append(event)
    exchanges = [
        {"parent": parent, "rung": None if rung < 0 else rung, "kind": json.loads(kind), "said": json.loads(said)}
        for parent, rung, kind, said in connection.execute(
            "SELECT parent, rung, kind, body FROM exchanges WHERE run = ? ORDER BY seq", (run,)
        )
    ]
    # Where it lay on the machine that made it is nobody's business.
    target["source"], target["contract"] = (pathlib.Path(target[name]).name for name in ("source", "contract"))
    plan["command"], plan["folder"] = "", ""
    plan["model"] = plan["model"] and plan["model"].partition(":")[0]
    return {
        "run": run, "target": target, "plan": plan, "environment": environment, "outcome": outcome,
        "events": events, "exchanges": exchanges,
    }


def waiting(recording, prompts):
    """{question: answer} of the folder's answers that no exchange has."""
    taken = {exchange["said"].get("answer") for exchange in recording["exchanges"]}
    answers = {path.name.removesuffix(".answer.md"): path.read_text() for path in sorted(prompts.glob("*.answer.md"))}
    return {question: answer for question, answer in answers.items() if answer not in taken}


def main():
    database, run, out, *prompts = sys.argv[1:]
    recorded = recording(database, run)
    if prompts and recorded["outcome"] is None:
        recorded["waiting"] = waiting(recorded, pathlib.Path(prompts[0]))
    text = json.dumps(recorded, separators=(",", ":")).encode()
    # Without the time of day, so that the same run gives the same file.
    pathlib.Path(out).write_bytes(gzip.compress(text, mtime=0))
    print(f"{out}: {len(text)} bytes, compressed {pathlib.Path(out).stat().st_size}")


if __name__ == "__main__":
    main()
