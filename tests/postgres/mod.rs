//! A fresh Postgres database for every test: in the server that `TEST_DATABASE_URL` names, or in one
//! that the tests start for themselves. Where there is no way to have one the tests fail and say what
//! to install.

mod binaries;
mod cluster;

use std::{
    env,
    str::FromStr,
    sync::{
        OnceLock,
        atomic::{AtomicU32, Ordering},
    },
    time::SystemTime,
};

use sqlx::{AssertSqlSafe, ConnectOptions, Connection, postgres::PgConnectOptions};

use cluster::Cluster;

/// A database that nobody else uses. In somebody's server it is deleted with this.
#[derive(Debug)]
pub(crate) struct Database {
    pub(crate) url: String,
    name: String,
    /// Where databases are created; `None` where the server ends with the tests anyway.
    lent_by: Option<PgConnectOptions>,
}

/// An empty database.
pub(crate) async fn fresh_database() -> Database {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let moment = SystemTime::UNIX_EPOCH.elapsed().unwrap().as_nanos();
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let name = format!("kernelbrain_test_{}_{count}_{moment}", std::process::id());
    let lent_by = env::var("TEST_DATABASE_URL").ok().map(|url| {
        PgConnectOptions::from_str(&url).expect("TEST_DATABASE_URL is the address of a database")
    });
    let server = lent_by.clone().unwrap_or_else(own_server);
    let mut connection = server.connect().await.unwrap();
    // What may be run is made of letters, digits and underscores.
    let create = AssertSqlSafe(format!("CREATE DATABASE {name} TEMPLATE template0"));
    sqlx::query(create).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
    let url = server.database(&name).to_url_lossy().to_string();
    Database { url, name, lent_by }
}

fn own_server() -> PgConnectOptions {
    static CLUSTER: OnceLock<Cluster> = OnceLock::new();
    let cluster = CLUSTER.get_or_init(Cluster::start);
    PgConnectOptions::new_without_pgpass()
        .socket(&cluster.folder)
        .username("postgres")
        .database("postgres")
}

impl Drop for Database {
    fn drop(&mut self) {
        let Some(server) = self.lent_by.take() else { return };
        let drop = AssertSqlSafe(format!("DROP DATABASE {} WITH (FORCE)", self.name));
        // A runtime of its own, because this may be the end of one.
        let dropping = std::thread::spawn(move || {
            tokio::runtime::Runtime::new().unwrap().block_on(async {
                let mut connection = server.connect().await.unwrap();
                sqlx::query(drop).execute(&mut connection).await.unwrap();
            });
        });
        dropping.join().unwrap();
    }
}
