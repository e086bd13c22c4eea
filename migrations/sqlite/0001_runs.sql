-- The journal of every run. A run's state is the fold of its events; everything else here
-- can be derived from them or makes them smaller.
--
-- The views are for people. With the sqlite3 shell:
--
--   sqlite3 kernelbrain.db
--   > SELECT id, created, state, json_extract(outcome, '$.outcome') FROM runs;
--   > SELECT move, verdict, gate, reason FROM evaluations JOIN candidates USING (run, candidate)
--       WHERE run = '20261129-134501-softmax-3f2a';
--   > SELECT rung, decision, count(*) FROM decisions GROUP BY rung, decision;
--   > SELECT cast(text AS TEXT) FROM sources JOIN candidates USING (source) WHERE candidate = '…';
--
-- Changing tables by hand changes what a resumed run believes has happened.

-- 'kbrn': tells this database from another program's.
PRAGMA application_id = 1801613934;

CREATE TABLE runs (
    id          TEXT PRIMARY KEY NOT NULL,
    -- Identifies "the same command again".
    key         TEXT NOT NULL,
    -- The output folder.
    output      TEXT NOT NULL,
    -- The target as it stood, its source included (JSON).
    target      TEXT NOT NULL,
    -- Ladder, budget, seed and whatever else the search was configured with (JSON).
    plan        TEXT NOT NULL,
    -- What the timings hold for: device, driver, torch, triton, kernelbrain (JSON).
    environment TEXT,
    -- RFC 3339, UTC.
    created     TEXT NOT NULL,
    state       TEXT NOT NULL CHECK (state IN ('open', 'parked', 'ended')),
    -- How it ended (JSON); NULL while it is open.
    outcome     TEXT
) STRICT;

CREATE INDEX runs_by_key ON runs (key, state);

-- Sources of candidates, once each. A BLOB, because a TEXT ends at its first NUL for many tools.
CREATE TABLE sources (
    -- SHA-256 of the text, 64 hexadecimal digits.
    source TEXT PRIMARY KEY NOT NULL,
    text   BLOB NOT NULL
) STRICT;

-- Append-only.
CREATE TABLE events (
    run         TEXT NOT NULL REFERENCES runs (id),
    -- From 1, without gaps.
    seq         INTEGER NOT NULL,
    -- RFC 3339, UTC. For people: nothing is decided by it.
    recorded_at TEXT NOT NULL,
    -- 'candidate_added', 'evaluated', …
    kind        TEXT NOT NULL,
    -- The event (JSON), without the source of an added candidate.
    body        TEXT NOT NULL,
    -- The source of an added candidate.
    source      TEXT REFERENCES sources (source),
    PRIMARY KEY (run, seq)
) STRICT;

CREATE TRIGGER events_are_not_changed BEFORE UPDATE ON events
BEGIN
    SELECT RAISE(ABORT, 'the journal is append-only');
END;

-- One row a candidate. "move" is its recipe, the expert task it answers, or 'baseline'.
CREATE VIEW candidates AS
SELECT
    run,
    seq,
    recorded_at,
    json_extract(body, '$.candidate.id') AS candidate,
    json_extract(body, '$.candidate.parent') AS parent,
    json_extract(body, '$.candidate.move.kind') AS move_kind,
    coalesce(
        json_extract(body, '$.candidate.move.text'),
        json_extract(body, '$.candidate.move.task'),
        json_extract(body, '$.candidate.move.kind')
    ) AS move,
    source
FROM events
WHERE kind = 'candidate_added';

-- One row an evaluation that ended, the baseline's included. "cases" is a JSON list with the
-- latency of each; the view "timings" has it row by row.
CREATE VIEW evaluations AS
SELECT
    run,
    seq,
    recorded_at,
    json_extract(body, '$.evaluation.candidate') AS candidate,
    json_extract(body, '$.evaluation.rung') AS rung,
    json_extract(body, '$.evaluation.verdict') AS verdict,
    json_extract(body, '$.evaluation.gate') AS gate,
    json_extract(body, '$.evaluation.reason') AS reason,
    json_extract(body, '$.evaluation.case') AS rejected_on,
    json_extract(body, '$.evaluation.line') AS line,
    json_extract(body, '$.evaluation.cases') AS cases,
    json_extract(body, '$.evaluation.cost.gpu_seconds') AS gpu_seconds,
    json_extract(body, '$.evaluation.cost.wall_seconds') AS wall_seconds,
    kind = 'baseline_measured' AS is_baseline
FROM events
WHERE kind IN ('evaluated', 'baseline_measured');

-- One row a measured case of an evaluation, in microseconds.
CREATE VIEW timings AS
SELECT
    run,
    seq,
    candidate,
    rung,
    json_extract(measured.value, '$.case') AS case_name,
    json_extract(measured.value, '$.latency_us') AS latency_us,
    json_extract(measured.value, '$.host_us') AS host_us,
    json_extract(measured.value, '$.error') AS error
FROM evaluations, json_each(evaluations.cases) AS measured;

-- One row a promotion or pruning, with its reason.
CREATE VIEW decisions AS
SELECT
    run,
    seq,
    recorded_at,
    json_extract(body, '$.candidate') AS candidate,
    json_extract(body, '$.rung') AS rung,
    json_extract(body, '$.decision.decision') AS decision,
    json_extract(body, '$.decision.reason') AS reason
FROM events
WHERE kind = 'decided';
