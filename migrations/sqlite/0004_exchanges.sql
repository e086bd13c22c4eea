-- What was said between runs and language models: one row a request, so that a run that is resumed
-- asks the same question again and no answer is paid for twice.
--
--   > SELECT parent, kind, json_extract(body, '$.task'), json_extract(body, '$.result') FROM exchanges
--       WHERE run = '20261129-134501-softmax-3f2a';

CREATE TABLE exchanges (
    -- In the order in which they were begun.
    seq    INTEGER PRIMARY KEY NOT NULL,
    run    TEXT NOT NULL REFERENCES runs (id),
    -- The candidate that is rewritten or repaired.
    parent TEXT NOT NULL,
    -- The rung that it was promoted from; -1 at the start of the run and for repairs.
    rung   INTEGER NOT NULL,
    -- Which request of the occasion it is (JSON): '{"rewrite":0}', '{"repair":1}'.
    kind   TEXT NOT NULL,
    -- Conversation, answers, what came of them, what was spent (JSON).
    body   TEXT NOT NULL,
    UNIQUE (run, parent, rung, kind)
) STRICT;
