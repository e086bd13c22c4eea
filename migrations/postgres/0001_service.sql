-- What `kernelbrain serve` keeps: deliveries of GitHub, jobs, what is owed to GitHub, copies of the
-- runs that jobs make. migrations/sqlite/0005_service.sql says the same for SQLite.
--
-- Moments are milliseconds since 1970, as the service's clock gave them. JSON is kept as text: its
-- numbers and the order of its members stay as they were written, and it may hold \u0000.
--
--   > SELECT id, event, state, attempts, error FROM deliveries ORDER BY number DESC LIMIT 20;
--   > SELECT id, repository, pull, state, runner, progress::json ->> 'rung' FROM jobs;
--   > SELECT key, priority, attempts, error FROM effects WHERE state = 'owed';

CREATE TABLE deliveries (
    -- In the order in which they came.
    number   BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- X-GitHub-Delivery.
    id       TEXT NOT NULL UNIQUE,
    -- X-GitHub-Event.
    event    TEXT NOT NULL,
    -- As it was signed.
    body     BYTEA NOT NULL,
    received BIGINT NOT NULL,
    state    TEXT NOT NULL CHECK (state IN ('received', 'done', 'failed')),
    -- Times that it was tried in vain.
    attempts BIGINT NOT NULL DEFAULT 0,
    -- Not to be tried before.
    due      BIGINT NOT NULL,
    -- Why the last try was in vain.
    error    TEXT,
    -- NULL while it waits. Of a failed one: when its last try was due.
    ended    BIGINT
);

CREATE INDEX deliveries_that_wait ON deliveries (number) WHERE state = 'received';
CREATE INDEX deliveries_that_ended ON deliveries (ended) WHERE ended IS NOT NULL;

CREATE TABLE jobs (
    -- In the order in which they were queued.
    number         BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id             TEXT NOT NULL UNIQUE,
    installation   BIGINT NOT NULL,
    repository_id  BIGINT NOT NULL,
    pull           BIGINT NOT NULL,
    -- owner/name at the time.
    repository     TEXT NOT NULL,
    head_sha       TEXT NOT NULL,
    base_sha       TEXT NOT NULL,
    requested_by   TEXT NOT NULL,
    -- What asked for it, once: 'comment:123', 'label:<delivery>'.
    origin         TEXT NOT NULL UNIQUE,
    -- Label of GPUs that may take it; empty for any.
    gpu            TEXT NOT NULL,
    budget_seconds BIGINT NOT NULL,
    -- What is to be done (JSON).
    request        TEXT NOT NULL,
    state          TEXT NOT NULL CHECK (state IN ('queued', 'leased', 'running', 'measured',
                   'reported', 'failed', 'cancelled', 'superseded')),
    -- Increases with every transition; compared before the next.
    version        BIGINT NOT NULL DEFAULT 1,
    -- The newest lease; current while the state is 'leased' or 'running'.
    runner         TEXT,
    fence          BIGINT NOT NULL DEFAULT 0,
    lease_until    BIGINT,
    -- Leases that were given.
    attempts       BIGINT NOT NULL DEFAULT 0,
    spent_seconds  BIGINT,
    -- What people are shown (JSON).
    progress       TEXT NOT NULL DEFAULT 'null',
    -- What came of it (JSON).
    result         TEXT NOT NULL DEFAULT 'null',
    reason         TEXT NOT NULL DEFAULT '',
    created        BIGINT NOT NULL,
    updated        BIGINT NOT NULL
);

CREATE INDEX jobs_by_state ON jobs (state, number);
CREATE INDEX jobs_by_pull ON jobs (installation, repository_id, pull, number);
CREATE INDEX jobs_by_moment ON jobs (installation, created);

CREATE TABLE effects (
    -- In the order in which they were first asked for.
    number       BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- What makes it the same effect: 'comment:<job>'.
    key          TEXT NOT NULL UNIQUE,
    installation BIGINT NOT NULL,
    -- 0 comes first.
    priority     BIGINT NOT NULL,
    replaces     BOOLEAN NOT NULL,
    -- Not to be performed before.
    due          BIGINT NOT NULL,
    -- What to do (JSON).
    body         TEXT NOT NULL,
    -- Increases with every new body.
    revision     BIGINT NOT NULL DEFAULT 1,
    state        TEXT NOT NULL CHECK (state IN ('owed', 'done', 'dropped', 'failed')),
    -- Times that this revision was tried in vain.
    attempts     BIGINT NOT NULL DEFAULT 0,
    -- What a revision of it made at GitHub: id of a comment, name of a branch.
    remote       TEXT,
    -- Why the last try was in vain.
    error        TEXT
);

CREATE INDEX effects_owed ON effects (installation, priority, number) WHERE state = 'owed';

-- Rights to be the only one of a name.
CREATE TABLE leaders (
    name  TEXT PRIMARY KEY NOT NULL,
    owner TEXT NOT NULL,
    until BIGINT NOT NULL
);

-- Texts by their content hash. BYTEA, because a TEXT of Postgres cannot hold a NUL.
CREATE TABLE sources (
    -- SHA-256 of the text, 64 hexadecimal digits.
    source TEXT PRIMARY KEY NOT NULL,
    text   BYTEA NOT NULL
);

-- Copies of runs, one a job and kernel. Sources lie in "sources".
CREATE TABLE job_runs (
    job     TEXT NOT NULL REFERENCES jobs (id),
    kernel  TEXT NOT NULL,
    -- The run as it stood when it was copied last (JSON).
    record  TEXT NOT NULL,
    -- The folder below which the host that copied it had everything of the job.
    root    TEXT NOT NULL,
    updated BIGINT NOT NULL,
    PRIMARY KEY (job, kernel)
);

CREATE TABLE job_events (
    job    TEXT NOT NULL,
    kernel TEXT NOT NULL,
    -- From 1, without gaps.
    seq    BIGINT NOT NULL,
    kind   TEXT NOT NULL,
    -- The event (JSON), without the source of an added candidate.
    body   TEXT NOT NULL,
    source TEXT REFERENCES sources (source),
    PRIMARY KEY (job, kernel, seq),
    FOREIGN KEY (job, kernel) REFERENCES job_runs (job, kernel)
);
