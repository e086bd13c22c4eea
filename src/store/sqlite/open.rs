//! Opening, creating and bringing up to date.

use std::{
    fs,
    path::Path,
    time::{Duration, Instant},
};

use sqlx::{
    ConnectOptions, Connection, SqliteConnection, SqlitePool,
    migrate::{MigrateError, Migration, MigrationType, Migrator},
    query_scalar,
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous},
};

use super::failure::{explain, is_busy};
use crate::store::StoreError;

/// `kbrn`, as `migrations/sqlite/0001_runs.sql` sets it.
const APPLICATION_ID: i64 = 0x6b62_726e;

/// How a database is opened.
#[derive(Clone, Copy, Debug)]
pub struct SqliteOptions {
    /// How long to wait for another process that is writing.
    pub busy_timeout: Duration,
    /// Whether what is acknowledged survives the loss of power too, at the price of a disk flush a
    /// transaction.
    pub survives_power_loss: bool,
}

impl SqliteOptions {
    /// For a service: what GitHub was told to have arrived must not be lost.
    pub fn service() -> Self {
        Self { survives_power_loss: true, ..Self::default() }
    }
}

impl Default for SqliteOptions {
    fn default() -> Self {
        Self { busy_timeout: Duration::from_secs(10), survives_power_loss: false }
    }
}

pub(super) async fn open(path: &Path, options: SqliteOptions) -> Result<SqlitePool, StoreError> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        fs::create_dir_all(folder)
            .map_err(|source| StoreError::Folder { folder: folder.to_owned(), source })?;
    }
    let looking = SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(true)
        .foreign_keys(true)
        .busy_timeout(options.busy_timeout)
        .disable_statement_logging();
    // Already a write-ahead log is a change to the file, so not before it is known to be ours.
    let synchronous = match options.survives_power_loss {
        true => SqliteSynchronous::Full,
        false => SqliteSynchronous::Normal,
    };
    let connect = looking.clone().journal_mode(SqliteJournalMode::Wal).synchronous(synchronous);

    let mut first = connect_patiently(path, &looking, options.busy_timeout).await?;
    prepare(path, &mut first).await?;
    let _ = first.close().await;
    let first = connect_patiently(path, &connect, options.busy_timeout).await?;
    let _ = first.close().await;

    // Writers wait for one another inside SQLite; a few connections let reports read meanwhile.
    SqlitePoolOptions::new()
        .max_connections(4)
        .connect_with(connect)
        .await
        .map_err(|error| explain(path, error))
}

/// Changing a fresh file to a write-ahead log needs it alone, and SQLite does not wait for that
/// by itself: two processes that start together would otherwise fail one another.
async fn connect_patiently(
    path: &Path,
    connect: &SqliteConnectOptions,
    patience: Duration,
) -> Result<SqliteConnection, StoreError> {
    let begun = Instant::now();
    loop {
        match connect.connect().await {
            Ok(connection) => return Ok(connection),
            Err(error) if is_busy(&error) && begun.elapsed() < patience => {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            Err(error) => return Err(explain(path, error)),
        }
    }
}

/// Refuses what is not ours or newer than this program, migrates what is older.
async fn prepare(path: &Path, connection: &mut SqliteConnection) -> Result<(), StoreError> {
    let failed = |error| explain(path, error);
    if up_to_date(path, connection).await? {
        return Ok(());
    }
    // All migrations in one exclusive transaction: of several processes one migrates, the others
    // wait and then find it done.
    let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await.map_err(failed)?;
    if up_to_date(path, &mut transaction).await? {
        return Ok(());
    }
    // `run` asks for a lifetime that a spawned future cannot give; `run_direct` is its body.
    migrator().run_direct(None, &mut *transaction, false).await.map_err(|error| match error {
        MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _) => failed(error),
        other => {
            StoreError::Damaged { database: path.display().to_string(), detail: other.to_string() }
        }
    })?;
    transaction.commit().await.map_err(failed)
}

async fn up_to_date(path: &Path, connection: &mut SqliteConnection) -> Result<bool, StoreError> {
    let failed = |error| explain(path, error);
    let database = path.display().to_string();
    let tables: i64 = query_scalar("SELECT count(*) FROM sqlite_schema")
        .fetch_one(&mut *connection)
        .await
        .map_err(failed)?;
    if tables == 0 {
        return Ok(false);
    }
    let application: i64 =
        query_scalar("PRAGMA application_id").fetch_one(&mut *connection).await.map_err(failed)?;
    if application != APPLICATION_ID {
        return Err(StoreError::Foreign { database });
    }
    let applied: Option<i64> = query_scalar("SELECT max(version) FROM _sqlx_migrations")
        .fetch_one(&mut *connection)
        .await
        .map_err(failed)?;
    let newest = migrator().iter().map(|migration| migration.version).max();
    match applied {
        Some(migration) if applied > newest => Err(StoreError::Newer { database, migration }),
        _ => Ok(applied == newest),
    }
}

/// The migrations, embedded. A new one is a new file and a new line here; none is ever changed.
fn migrator() -> Migrator {
    let files = [
        (1, "runs", include_str!("../../../migrations/sqlite/0001_runs.sql")),
        (2, "ceilings", include_str!("../../../migrations/sqlite/0002_ceilings.sql")),
        (3, "experience", include_str!("../../../migrations/sqlite/0003_experience.sql")),
        (4, "exchanges", include_str!("../../../migrations/sqlite/0004_exchanges.sql")),
        (5, "service", include_str!("../../../migrations/sqlite/0005_service.sql")),
    ];
    let migrations = files.map(|(version, name, sql)| {
        let sql = sqlx::SqlSafeStr::into_sql_str(sql);
        Migration::new(version, name.into(), MigrationType::Simple, sql, false)
    });
    Migrator::with_migrations(migrations.to_vec())
}
