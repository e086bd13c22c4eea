//! What one flush to this disk costs: the floor under every answer.

use std::{fs::File, io::Write as _, path::Path, time::Instant};

use super::Latencies;

const FLUSHES: usize = 200;

/// Times of appending a page and flushing it.
pub(super) fn flush_times(folder: &Path) -> Latencies {
    let path = folder.join("flush");
    let mut file = File::create(&path).expect("a file can be made");
    let page = [7_u8; 4096];
    let times: Vec<_> = (0..FLUSHES)
        .map(|_| {
            let begun = Instant::now();
            file.write_all(&page).and_then(|()| file.sync_data()).expect("the disk can be written");
            begun.elapsed()
        })
        .collect();
    std::fs::remove_file(&path).ok();
    Latencies::of(times.into_iter())
}
