//! GPU architectures, as a compiler is told of them.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// An architecture of NVIDIA's: `sm_90` is compute capability 9.0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Arch {
    pub major: u32,
    pub minor: u32,
}

/// A name that is none of an architecture.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is no GPU architecture: write sm_ and the compute capability, for example sm_80 for 8.0"
)]
pub struct NoArch(String);

impl FromStr for Arch {
    type Err = NoArch;

    fn from_str(text: &str) -> Result<Self, NoArch> {
        let no_arch = || NoArch(text.to_owned());
        let digits = text.strip_prefix("sm_").ok_or_else(no_arch)?;
        // sm_90a is sm_90 with what only that has; Triton adds it by itself.
        let digits = digits.strip_suffix('a').unwrap_or(digits);
        let known = (2..=3).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit());
        let number: u32 = digits.parse().ok().filter(|_| known).ok_or_else(no_arch)?;
        Ok(Self { major: number / 10, minor: number % 10 })
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sm_{}{}", self.major, self.minor)
    }
}

impl TryFrom<String> for Arch {
    type Error = NoArch;

    fn try_from(text: String) -> Result<Self, NoArch> {
        text.parse()
    }
}

impl From<Arch> for String {
    fn from(arch: Arch) -> Self {
        arch.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_and_written() {
        for (name, major, minor) in [("sm_80", 8, 0), ("sm_89", 8, 9), ("sm_120", 12, 0)] {
            let arch: Arch = name.parse().unwrap();
            assert_eq!((arch, arch.to_string().as_str()), (Arch { major, minor }, name));
        }
        assert_eq!("sm_90a".parse::<Arch>().unwrap(), Arch { major: 9, minor: 0 });
        for wrong in ["80", "sm_", "sm_8", "sm_8.0", "sm_+80", "gfx942", "sm_80000"] {
            let error = wrong.parse::<Arch>().unwrap_err().to_string();
            assert!(error.contains("sm_80 for 8.0"), "{error}");
        }
    }
}
