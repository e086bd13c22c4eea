-- What moves did on kinds of kernels and GPUs: one row a candidate of a run that was measured or
-- rejected. Rows may come from other machines, so a run need not be in "runs".
--
--   > SELECT move, count(*), max(json_extract(observation, '$.gain')) FROM experience
--       WHERE arch = 'sm_90' GROUP BY move;

CREATE TABLE experience (
    run         TEXT NOT NULL,
    candidate   TEXT NOT NULL,
    -- Fingerprint of the operator: 'reduction+exponential/f16:2'.
    operator    TEXT NOT NULL,
    -- 'sm_90', or 'cpu' for Triton's interpreter.
    arch        TEXT NOT NULL,
    -- What it is counted as: an expert task, or 'recipe ' and the recipe's verbs.
    move        TEXT NOT NULL,
    -- RFC 3339, UTC.
    recorded_at TEXT NOT NULL,
    -- All of it (JSON).
    observation TEXT NOT NULL,
    PRIMARY KEY (run, candidate)
) STRICT;

CREATE INDEX experience_by_kind ON experience (operator, arch);
