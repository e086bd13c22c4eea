-- What `kernelbrain serve` keeps: deliveries of GitHub, jobs, what is owed to GitHub, copies of the
-- runs that jobs make. migrations/postgres/0001_service.sql says the same for Postgres.
--
-- Moments are milliseconds since 1970, as the service's clock gave them.
--
--   > SELECT id, event, state, attempts, error FROM deliveries ORDER BY number DESC LIMIT 20;
--   > SELECT id, repository, pull, state, runner, json_extract(progress, '$.rung') FROM jobs;
--   > SELECT key, priority, attempts, error FROM effects WHERE state = 'owed';

CREATE TABLE deliveries (
    -- In the order in which they came.
    number   INTEGER PRIMARY KEY NOT NULL,
    -- X-GitHub-Delivery.
    id       TEXT NOT NULL UNIQUE,
    -- X-GitHub-Event.
    event    TEXT NOT NULL,
    -- As it was signed.
    body     BLOB NOT NULL,
    received INTEGER NOT NULL,
    state    TEXT NOT NULL CHECK (state IN ('received', 'done', 'failed')),
    -- Times that it was tried in vain.
    attempts INTEGER NOT NULL DEFAULT 0,
    -- Not to be tried before.
    due      INTEGER NOT NULL,
    -- Why the last try was in vain.
    error    TEXT,
    -- NULL while it waits. Of a failed one: when its last try was due.
    ended    INTEGER
) STRICT;

CREATE INDEX deliveries_that_wait ON deliveries (number) WHERE state = 'received';
CREATE INDEX deliveries_that_ended ON deliveries (ended) WHERE ended IS NOT NULL;

CREATE TABLE jobs (
    -- In the order in which they were queued.
    number         INTEGER PRIMARY KEY NOT NULL,
    id             TEXT NOT NULL UNIQUE,
    installation   INTEGER NOT NULL,
    repository_id  INTEGER NOT NULL,
    pull           INTEGER NOT NULL,
    -- owner/name at the time.
    repository     TEXT NOT NULL,
    head_sha       TEXT NOT NULL,
    base_sha       TEXT NOT NULL,
    requested_by   TEXT NOT NULL,
    -- What asked for it, once: 'comment:123', 'label:<delivery>'.
    origin         TEXT NOT NULL UNIQUE,
    -- Label of GPUs that may take it; empty for any.
    gpu            TEXT NOT NULL,
    budget_seconds INTEGER NOT NULL,
    -- What is to be done (JSON).
    request        TEXT NOT NULL,
    state          TEXT NOT NULL CHECK (state IN ('queued', 'leased', 'running', 'measured',
                   'reported', 'failed', 'cancelled', 'superseded')),
    -- Increases with every transition; compared before the next.
    version        INTEGER NOT NULL DEFAULT 1,
    -- The newest lease; current while the state is 'leased' or 'running'.
    runner         TEXT,
    fence          INTEGER NOT NULL DEFAULT 0,
    lease_until    INTEGER,
    -- Leases that were given.
    attempts       INTEGER NOT NULL DEFAULT 0,
    spent_seconds  INTEGER,
    -- What people are shown (JSON).
    progress       TEXT NOT NULL DEFAULT 'null',
    -- What came of it (JSON).
    result         TEXT NOT NULL DEFAULT 'null',
    reason         TEXT NOT NULL DEFAULT '',
    created        INTEGER NOT NULL,
    updated        INTEGER NOT NULL
) STRICT;

CREATE INDEX jobs_by_state ON jobs (state, number);
CREATE INDEX jobs_by_pull ON jobs (installation, repository_id, pull, number);
CREATE INDEX jobs_by_moment ON jobs (installation, created);

CREATE TABLE effects (
    -- In the order in which they were first asked for.
    number       INTEGER PRIMARY KEY NOT NULL,
    -- What makes it the same effect: 'comment:<job>'.
    key          TEXT NOT NULL UNIQUE,
    installation INTEGER NOT NULL,
    -- 0 comes first.
    priority     INTEGER NOT NULL,
    replaces     INTEGER NOT NULL CHECK (replaces IN (0, 1)),
    -- Not to be performed before.
    due          INTEGER NOT NULL,
    -- What to do (JSON).
    body         TEXT NOT NULL,
    -- Increases with every new body.
    revision     INTEGER NOT NULL DEFAULT 1,
    state        TEXT NOT NULL CHECK (state IN ('owed', 'done', 'dropped', 'failed')),
    -- Times that this revision was tried in vain.
    attempts     INTEGER NOT NULL DEFAULT 0,
    -- What a revision of it made at GitHub: id of a comment, name of a branch.
    remote       TEXT,
    -- Why the last try was in vain.
    error        TEXT
) STRICT;

CREATE INDEX effects_owed ON effects (installation, priority, number) WHERE state = 'owed';

-- Rights to be the only one of a name.
CREATE TABLE leaders (
    name  TEXT PRIMARY KEY NOT NULL,
    owner TEXT NOT NULL,
    until INTEGER NOT NULL
) STRICT;

-- Copies of runs, one a job and kernel. Sources lie in "sources".
CREATE TABLE job_runs (
    job     TEXT NOT NULL REFERENCES jobs (id),
    kernel  TEXT NOT NULL,
    -- The run as it stood when it was copied last (JSON).
    record  TEXT NOT NULL,
    -- The folder below which the host that copied it had everything of the job.
    root    TEXT NOT NULL,
    updated INTEGER NOT NULL,
    PRIMARY KEY (job, kernel)
) STRICT;

CREATE TABLE job_events (
    job    TEXT NOT NULL,
    kernel TEXT NOT NULL,
    -- From 1, without gaps.
    seq    INTEGER NOT NULL,
    kind   TEXT NOT NULL,
    -- The event (JSON), without the source of an added candidate.
    body   TEXT NOT NULL,
    source TEXT REFERENCES sources (source),
    PRIMARY KEY (job, kernel, seq),
    FOREIGN KEY (job, kernel) REFERENCES job_runs (job, kernel)
) STRICT;
