//! Who is still running.

use std::{
    fs,
    path::Path,
    time::{Duration, Instant},
};

/// What processes get to notice that their parent is gone.
const GRACE: Duration = Duration::from_secs(20);

/// Processes that belong to `folder` and do not end by themselves within the grace: those with
/// the folder in their command line, environment or working directory. Every process of a run has
/// its home there, whatever it forks from itself, and inherits the environment.
pub(crate) fn orphans(folder: &Path) -> Vec<String> {
    let begun = Instant::now();
    loop {
        let left = belonging_to(folder);
        if left.is_empty() || begun.elapsed() > GRACE {
            return left;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn belonging_to(folder: &Path) -> Vec<String> {
    let name = folder.to_string_lossy();
    let describe = |process: &Path| {
        let read = |file: &str| {
            let bytes = fs::read(process.join(file)).unwrap_or_default();
            String::from_utf8_lossy(&bytes).replace('\0', " ")
        };
        let line = read("cmdline");
        let at = fs::read_link(process.join("cwd")).unwrap_or_default();
        let belongs = [line.as_str(), &read("environ"), &at.to_string_lossy()]
            .iter()
            .any(|text| text.contains(&*name));
        belongs.then(|| format!("{}: {line} (in {})", process.display(), at.display()))
    };
    fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.ok())
        .filter(|entry| entry.file_name().to_string_lossy().parse::<u32>().is_ok())
        .filter_map(|entry| describe(&entry.path()))
        .collect()
}
