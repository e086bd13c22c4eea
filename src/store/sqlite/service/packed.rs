//! Bodies of deliveries as they lie in the file: packed, because SQLite writes every page twice, to its log and
//! from there to the database, and what GitHub sends is long and says the same many times over.

use lz4_flex::block::{compress_prepend_size, decompress_size_prepended};

/// Stands before a packed body. JSON cannot begin with it: a file of before, with bodies as they came, stays
/// readable.
const PACKED: u8 = 1;

/// No body is unpacked to more: GitHub sends 25 MB at most.
const LONGEST: usize = 64 << 20;

/// An empty body stays empty.
pub(super) fn pack(body: &[u8]) -> Vec<u8> {
    if body.is_empty() {
        return Vec::new();
    }
    let mut packed = compress_prepend_size(body);
    packed.insert(0, PACKED);
    packed
}

/// What was packed; as it is what was not, or cannot be read: whoever handles it will say so.
pub(super) fn unpack(stored: Vec<u8>) -> Vec<u8> {
    match stored.split_first() {
        Some((&PACKED, packed)) if length(packed) <= LONGEST => {
            decompress_size_prepended(packed).unwrap_or(stored)
        }
        _ => stored,
    }
}

/// Of what will be unpacked, as it claims.
fn length(packed: &[u8]) -> usize {
    packed.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_comes_back_as_it_was() {
        let long = br#"{"action": "labeled", "label": "labeled"}"#.repeat(500);
        for body in [&b""[..], b"{", b"\x01\x02", br#"{"a": 1}"#, &long] {
            assert_eq!(unpack(pack(body)), body);
        }
        assert!(pack(&long).len() < long.len() / 10);
    }

    #[test]
    fn what_was_not_packed_stays() {
        for stored in [&b""[..], b"{}", b"\x01", b"\x01\xff\xff\xff\xff", b"\x01\x05\0\0\0\xf0"] {
            assert_eq!(unpack(stored.to_vec()), stored);
        }
    }
}
