//! Git's wire protocol, version 2: one request that asks for commits, one answer read as it comes.
//! See `gitprotocol-v2` and `gitprotocol-common` in git's documentation.

use super::Sha;
use super::error::printable;

/// What the answer is made of, as far as a fetch cares.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Part<'a> {
    /// Bytes of the pack.
    Pack(&'a [u8]),
    /// The remote gave up, with its reason.
    Failed(String),
    /// Nothing of interest: progress, acknowledgements, which commits are shallow.
    Other,
}

/// The body of a `fetch` of commits without their history. `kept` are commits that are here, each
/// without its parents: files that they share with what is wanted need not come again.
pub(super) fn request(wanted: &[&Sha], kept: &[Sha]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut line = |text: String| out.extend_from_slice(packet(&text).as_bytes());
    line("command=fetch\n".into());
    line(concat!("agent=kernelbrain/", env!("CARGO_PKG_VERSION"), "\n").into());
    line("object-format=sha1\n".into());
    line(String::new());
    line("no-progress\n".into());
    line("ofs-delta\n".into());
    if !kept.is_empty() {
        // Without this, git's server sends files that commits have in common again: it looks at
        // what is here only to find bases for differences.
        line("thin-pack\n".into());
    }
    for sha in kept {
        line(format!("shallow {sha}\n"));
    }
    line("deepen 1\n".into());
    for sha in wanted {
        line(format!("want {sha}\n"));
    }
    for sha in kept {
        line(format!("have {sha}\n"));
    }
    line("done\n".into());
    out.extend_from_slice(b"0000");
    out
}

/// One packet; an empty one is the delimiter between a command and its arguments.
fn packet(text: &str) -> String {
    if text.is_empty() { "0001".into() } else { format!("{:04x}{text}", text.len() + 4) }
}

/// Longest packet there is, length included.
const LONGEST: usize = 65_520;

/// Takes the answer apart, in whatever pieces it arrives.
#[derive(Debug, Default)]
pub(super) struct Reader {
    waiting: Vec<u8>,
    in_pack: bool,
    ended: bool,
}

impl Reader {
    /// Reads on; hands every whole packet to `take`. Errors say what is not git's protocol.
    pub(super) fn read<E: From<String>>(
        &mut self,
        bytes: &[u8],
        mut take: impl FnMut(Part<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.waiting.extend_from_slice(bytes);
        let mut at = 0;
        while let Some(head) = self.waiting.get(at..at + 4) {
            let length = std::str::from_utf8(head)
                .ok()
                .and_then(|digits| usize::from_str_radix(digits, 16).ok())
                .ok_or_else(|| E::from("a packet has no length".into()))?;
            if length < 4 {
                // 0 ends the answer, 1 a section, 2 a connection.
                self.ended |= self.in_pack && length == 0;
                at += 4;
                continue;
            }
            if length > LONGEST {
                return Err(E::from(format!("a packet of {length} bytes")));
            }
            let Some(body) = self.waiting.get(at + 4..at + length) else { break };
            if self.ended {
                return Err(E::from("something follows the pack".into()));
            }
            at += length;
            let part = part(body, &mut self.in_pack).map_err(E::from)?;
            take(part)?;
        }
        self.waiting.drain(..at);
        Ok(())
    }

    /// Whether the answer came to its proper end.
    pub(super) fn ended(&self) -> bool {
        self.ended && self.waiting.is_empty()
    }
}

fn part<'a>(body: &'a [u8], in_pack: &mut bool) -> Result<Part<'a>, String> {
    let said = |bytes: &[u8]| printable(String::from_utf8_lossy(bytes).trim());
    if !*in_pack {
        if let Some(reason) = body.strip_prefix(b"ERR ") {
            return Ok(Part::Failed(said(reason)));
        }
        *in_pack = body.strip_suffix(b"\n").unwrap_or(body) == b"packfile";
        return Ok(Part::Other);
    }
    match body {
        [1, data @ ..] => Ok(Part::Pack(data)),
        [2, ..] => Ok(Part::Other),
        [3, reason @ ..] => Ok(Part::Failed(said(reason))),
        _ => Err("a packet of the pack belongs to no band".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::{Part, Reader, request};

    fn collect(bytes: &[u8], step: usize) -> Result<(Vec<u8>, bool), String> {
        let (mut reader, mut pack) = (Reader::default(), Vec::new());
        for chunk in bytes.chunks(step) {
            reader.read(chunk, |part| match part {
                Part::Pack(data) => {
                    pack.extend_from_slice(data);
                    Ok(())
                }
                Part::Failed(why) => Err(why),
                Part::Other => Ok(()),
            })?;
        }
        Ok((pack, reader.ended()))
    }

    const ANSWER: &[u8] =
        b"0011shallow-info\n0001000dpackfile\n0009\x01PACK0007\x02hm0008\x01abc0000";

    #[test]
    fn an_answer_may_arrive_in_any_pieces() {
        for step in [1, 2, 3, 7, 1000] {
            assert_eq!(collect(ANSWER, step), Ok((b"PACKabc".to_vec(), true)), "{step}");
        }
        let cut = &ANSWER[..ANSWER.len() - 6];
        assert_eq!(collect(cut, 5), Ok((b"PACK".to_vec(), false)));
    }

    #[test]
    fn what_is_no_answer_is_an_error() {
        assert!(collect(b"<html>", 6).is_err());
        assert!(collect(b"fff1", 4).is_err());
        assert_eq!(collect(b"0011ERR not here\n", 9), Err("not here".into()));
        assert_eq!(collect(b"000dpackfile\n000b\x03broken", 9), Err("broken".into()));
    }

    #[test]
    fn a_request_asks_for_one_commit_and_none_of_its_history() {
        let (new, old) = ("a".repeat(40), "b".repeat(40));
        let body = request(&[&new.parse().unwrap()], &[old.parse().unwrap()]);
        let text = String::from_utf8(body).unwrap();
        assert!(text.starts_with("0012command=fetch\n"), "{text}");
        assert!(
            text.ends_with(&format!("0032want {new}\n0032have {old}\n0009done\n0000")),
            "{text}"
        );
        assert!(
            text.contains(&format!("000ethin-pack\n0035shallow {old}\n000ddeepen 1\n")),
            "{text}"
        );
    }
}
