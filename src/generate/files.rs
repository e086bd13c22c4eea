//! Files that a user's folder of tasks or templates holds.

use std::{
    fs::{self, File},
    io::{self, Read},
    path::Path,
};

/// Such a file is a page or two; what is longer, or no file at all, is a mistake.
const LONGEST: u64 = 256 << 10;

/// The text of a small file.
pub(super) fn read_small(path: &Path) -> io::Result<String> {
    let metadata = fs::metadata(path)?;
    if !metadata.is_file() || metadata.len() > LONGEST {
        return Err(io::Error::other(format!("not a file of at most {} KiB", LONGEST >> 10)));
    }
    let mut text = String::new();
    File::open(path)?.take(LONGEST).read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_and_long_files_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let small = folder.path().join("small");
        fs::write(&small, "text").unwrap();
        assert_eq!(read_small(&small).unwrap(), "text");
        let long = folder.path().join("long");
        fs::write(&long, vec![b'x'; 300 << 10]).unwrap();
        for odd in [long.as_path(), folder.path(), Path::new("/dev/zero")] {
            let error = read_small(odd).unwrap_err().to_string();
            assert_eq!(error, "not a file of at most 256 KiB", "{}", odd.display());
        }
    }
}
