//! Statements that both databases understand; what they say differently stands with each of them.
//! Parameters are numbered (`$1`), because most are used more than once.

/// A query for whole jobs, to be read by [`super::rows::job`].
macro_rules! select_jobs {
    ($rest:literal) => {
        concat!(
            "SELECT id, installation, repository_id, pull, repository, head_sha, base_sha, \
             requested_by, origin, gpu, budget_seconds, request, state, version, runner, fence, \
             lease_until, attempts, spent_seconds, progress, result, reason, created, updated \
             FROM jobs ",
            $rest
        )
    };
}
pub(in crate::store) use select_jobs;

/// A query for whole effects, to be read by [`super::rows::effect`].
macro_rules! select_effects {
    ($rest:literal) => {
        concat!(
            "SELECT number, key, installation, priority, replaces, due, body, revision, state, \
             attempts, remote, error FROM effects ",
            $rest
        )
    };
}

// Deliveries.

pub(in crate::store) const DELIVERIES_DUE: &str = "SELECT id, event, body, received, attempts \
    FROM deliveries WHERE state = 'received' AND due <= $1 ORDER BY number LIMIT $2";

/// A failed one ended when its last try was due: `postpone_delivery` is told no other moment.
pub(in crate::store) const POSTPONE_DELIVERY: &str = "UPDATE deliveries \
    SET attempts = attempts + 1, error = $3, due = coalesce($2, due), \
    state = CASE WHEN $2 IS NULL THEN 'failed' ELSE 'received' END, \
    ended = CASE WHEN $2 IS NULL THEN due END \
    WHERE id = $1 AND state = 'received'";

/// `$3` is the empty body ([`NO_BODY`]): what is done is not read again, and SQLite would write the whole of
/// it anew with the row's new state. As a parameter, because both databases take an empty body so; what
/// SQLite makes of an empty one by `substr` is NULL.
pub(in crate::store) const DELIVERY_DONE: &str = "UPDATE deliveries \
    SET state = 'done', ended = $2, error = NULL, body = $3 WHERE id = $1";

/// Of a delivery that is done.
pub(in crate::store) const NO_BODY: &[u8] = &[];

pub(in crate::store) const DELIVERY_STATE: &str = "SELECT state FROM deliveries WHERE id = $1";

// Jobs.

pub(in crate::store) const JOB: &str = select_jobs!("WHERE id = $1");

pub(in crate::store) const JOBS_OF: &str = select_jobs!(
    "WHERE installation = $1 AND repository_id = $2 AND pull = $3 ORDER BY number DESC"
);

pub(in crate::store) const LOST_LEASES: &str = select_jobs!(
    "WHERE state IN ('leased', 'running') AND lease_until < $1 ORDER BY lease_until, number"
);

/// Changes no row where the origin is taken.
pub(in crate::store) const QUEUE: &str = "INSERT INTO jobs (id, installation, repository_id, \
    pull, repository, head_sha, base_sha, requested_by, origin, gpu, budget_seconds, request, \
    state, created, updated) \
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, 'queued', $13, $13) \
    ON CONFLICT (origin) DO NOTHING";

pub(in crate::store) const STEP: &str = "UPDATE jobs SET state = $3, version = version + 1, \
    progress = coalesce($4, progress), result = coalesce($5, result), \
    reason = coalesce($6, reason), spent_seconds = coalesce($7, spent_seconds), updated = $8 \
    WHERE id = $1 AND version = $2";

pub(in crate::store) const HEARTBEAT: &str = "UPDATE jobs SET lease_until = $3, \
    progress = coalesce($4, progress), updated = $5 \
    WHERE id = $1 AND fence = $2 AND state IN ('leased', 'running')";

macro_rules! spent {
    ($whose:literal) => {
        concat!(
            "SELECT CAST(coalesce(sum(CASE WHEN state IN ('queued', 'leased', 'running') \
             THEN budget_seconds ELSE coalesce(spent_seconds, 0) END), 0) AS BIGINT) AS seconds, \
             count(*) AS jobs FROM jobs WHERE created >= $1 AND installation = $2",
            $whose
        )
    };
}
pub(in crate::store) const SPENT_ON_PULL: &str = spent!(" AND repository_id = $3 AND pull = $4");
pub(in crate::store) const SPENT_ON_USER: &str = spent!(" AND requested_by = $3");
pub(in crate::store) const SPENT_ON_INSTALLATION: &str = spent!("");

/// Changes no row while somebody else has the right.
pub(in crate::store) const LEAD: &str = "INSERT INTO leaders (name, owner, until) \
    VALUES ($1, $2, $4) ON CONFLICT (name) DO UPDATE \
    SET owner = excluded.owner, until = excluded.until \
    WHERE leaders.owner = excluded.owner OR leaders.until <= $3";

// Effects.

pub(in crate::store) const EFFECTS_DUE: &str = select_effects!(
    "WHERE installation = $1 AND state = 'owed' AND due <= $2 ORDER BY priority, number LIMIT $3"
);

pub(in crate::store) const INSTALLATIONS_OWED: &str = "SELECT DISTINCT installation FROM effects \
    WHERE state = 'owed' AND due <= $1 ORDER BY installation";

pub(in crate::store) const EFFECT: &str = select_effects!("WHERE key = $1");

pub(in crate::store) const COUNT_JOBS: &str = "SELECT state, count(*) FROM jobs GROUP BY state";

pub(in crate::store) const OWED: &str = "SELECT count(*) FROM effects WHERE state = 'owed'";

pub(in crate::store) const OWE: &str = "INSERT INTO effects \
    (key, installation, priority, replaces, due, body, state) \
    VALUES ($1, $2, $3, $4, $5, $6, 'owed') \
    ON CONFLICT (key) DO UPDATE SET installation = excluded.installation, \
    priority = excluded.priority, replaces = excluded.replaces, due = excluded.due, \
    body = excluded.body, revision = effects.revision + 1, state = 'owed', attempts = 0, \
    error = NULL WHERE excluded.replaces";

/// What it made is worth knowing even where another revision is owed by now.
pub(in crate::store) const EFFECT_DONE: &str = "UPDATE effects \
    SET remote = coalesce($3, remote), \
    state = CASE WHEN revision = $2 THEN 'done' ELSE state END, \
    error = CASE WHEN revision = $2 THEN NULL ELSE error END WHERE key = $1";

pub(in crate::store) const DROP_EFFECT: &str =
    "UPDATE effects SET state = 'dropped' WHERE key = $1 AND state <> 'done'";

pub(in crate::store) const POSTPONE_EFFECT: &str = "UPDATE effects \
    SET attempts = attempts + 1, error = $4, due = coalesce($3, due), \
    state = CASE WHEN $3 IS NULL THEN 'failed' ELSE 'owed' END \
    WHERE key = $1 AND revision = $2 AND state = 'owed'";

// Journals.

pub(in crate::store) const KEEP_RUN: &str = "INSERT INTO job_runs \
    (job, kernel, record, root, updated) VALUES ($1, $2, $3, $4, $5) \
    ON CONFLICT (job, kernel) DO UPDATE SET record = excluded.record, root = excluded.root, \
    updated = excluded.updated";

pub(in crate::store) const KEPT_EVENTS: &str =
    "SELECT coalesce(max(seq), 0) FROM job_events WHERE job = $1 AND kernel = $2";

pub(in crate::store) const FORGET_EVENTS: &str =
    "DELETE FROM job_events WHERE job = $1 AND kernel = $2";

pub(in crate::store) const KEPT_RECORD: &str =
    "SELECT record, root FROM job_runs WHERE job = $1 AND kernel = $2";

pub(in crate::store) const EVENTS: &str = "SELECT body, text FROM job_events \
    LEFT JOIN sources USING (source) WHERE job = $1 AND kernel = $2 ORDER BY seq";

pub(in crate::store) const KEEP_TEXT: &str =
    "INSERT INTO sources (source, text) VALUES ($1, $2) ON CONFLICT DO NOTHING";

pub(in crate::store) const TEXT: &str = "SELECT text FROM sources WHERE source = $1";
