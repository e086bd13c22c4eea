//! Connecting, preparing and bringing up to date.

use std::{str::FromStr, time::Duration};

use sqlx::{
    ConnectOptions, Connection, PgConnection, PgPool,
    migrate::{MigrateError, Migration, MigrationType, Migrator},
    postgres::{PgConnectOptions, PgPoolOptions},
    query, query_scalar,
};

use super::failure::explain;
use crate::store::StoreError;

/// `kbrn`: the advisory lock of whoever migrates.
const MIGRATING: i64 = 0x6b62_726e;

/// A table of our own, so that another program's migrations in the same database are not taken for
/// ours.
const MIGRATIONS: &str = "kernelbrain_migrations";

/// How long a call waits for a connection.
const PATIENCE: Duration = Duration::from_secs(10);

/// Connections and the name of the database.
pub(super) async fn connect(url: &str) -> Result<(PgPool, String), StoreError> {
    let options = options(url)?;
    let name = name(&options);
    // By itself, because a pool keeps trying and then says no more than that it took too long.
    let connected = tokio::time::timeout(PATIENCE, PgConnection::connect_with(&options)).await;
    let mut first = connected
        .map_err(|_| StoreError::Unreachable {
            database: name.clone(),
            detail: format!("no answer within {} s", PATIENCE.as_secs()),
        })?
        .map_err(|error| explain(&name, error))?;
    prepare(&name, &mut first).await?;
    let _ = first.close().await;
    let pool = PgPoolOptions::new()
        .max_connections(10)
        .acquire_timeout(PATIENCE)
        .connect_with(options)
        .await
        .map_err(|error| explain(&name, error))?;
    Ok((pool, name))
}

fn options(url: &str) -> Result<PgConnectOptions, StoreError> {
    let wrong = |problem: String| StoreError::Address { problem };
    if !["postgres://", "postgresql://"].iter().any(|scheme| url.starts_with(scheme)) {
        return Err(wrong("it does not begin with postgres://".to_owned()));
    }
    let options = PgConnectOptions::from_str(url).map_err(|error| match error {
        sqlx::Error::Configuration(error) => wrong(error.to_string()),
        other => wrong(other.to_string()),
    })?;
    Ok(options.application_name("kernelbrain").disable_statement_logging())
}

fn name(options: &PgConnectOptions) -> String {
    let user = options.get_username();
    let place = match options.get_socket() {
        Some(socket) => socket.display().to_string(),
        None => format!("{}:{}", options.get_host(), options.get_port()),
    };
    format!("{} at {place} (user {user})", options.get_database().unwrap_or(user))
}

/// Refuses what is newer than this program, migrates what is older.
async fn prepare(name: &str, connection: &mut PgConnection) -> Result<(), StoreError> {
    let failed = |error| explain(name, error);
    if up_to_date(name, connection).await? {
        return Ok(());
    }
    // All migrations in one transaction under a lock that ends with it: of several processes one
    // migrates, the others wait and then find it done.
    let mut transaction = connection.begin().await.map_err(failed)?;
    query("SELECT pg_advisory_xact_lock($1)")
        .bind(MIGRATING)
        .execute(&mut *transaction)
        .await
        .map_err(failed)?;
    if up_to_date(name, &mut transaction).await? {
        return Ok(());
    }
    let unprepared = |detail: String| StoreError::Unprepared { database: name.to_owned(), detail };
    // `run` asks for a lifetime that a spawned future cannot give; `run_direct` is its body.
    migrator().run_direct(None, &mut *transaction, false).await.map_err(|error| match error {
        MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _) => {
            match error.as_database_error() {
                Some(refused) => unprepared(refused.message().to_owned()),
                None => failed(error),
            }
        }
        other => unprepared(other.to_string()),
    })?;
    transaction.commit().await.map_err(failed)
}

async fn up_to_date(name: &str, connection: &mut PgConnection) -> Result<bool, StoreError> {
    let failed = |error| explain(name, error);
    let begun: bool = query_scalar("SELECT to_regclass($1) IS NOT NULL")
        .bind(MIGRATIONS)
        .fetch_one(&mut *connection)
        .await
        .map_err(failed)?;
    if !begun {
        return Ok(false);
    }
    let applied: Option<i64> = query_scalar("SELECT max(version) FROM kernelbrain_migrations")
        .fetch_one(&mut *connection)
        .await
        .map_err(failed)?;
    let newest = migrator().iter().map(|migration| migration.version).max();
    match applied {
        Some(migration) if applied > newest => {
            Err(StoreError::NewerServer { database: name.to_owned(), migration })
        }
        _ => Ok(applied == newest),
    }
}

/// The migrations, embedded. A new one is a new file and a new line here; none is ever changed.
fn migrator() -> Migrator {
    let files = [(1, "service", include_str!("../../../migrations/postgres/0001_service.sql"))];
    let migrations = files.map(|(version, name, sql)| {
        let sql = sqlx::SqlSafeStr::into_sql_str(sql);
        Migration::new(version, name.into(), MigrationType::Simple, sql, false)
    });
    let mut migrator = Migrator::with_migrations(migrations.to_vec());
    migrator.dangerous_set_table_name(MIGRATIONS);
    migrator.set_locking(false);
    migrator
}
