//! Where symbolic links lead, worked out on paper before any of them exists.

use std::collections::HashMap;

/// As many links as a kernel follows before it gives up.
const MOST_LINKS: usize = 40;

/// Symbolic links of a tree: path of the link, text of its target.
#[derive(Debug, Default)]
pub(super) struct Links(HashMap<Vec<u8>, Vec<u8>>);

impl Links {
    pub(super) fn add(&mut self, path: Vec<u8>, target: Vec<u8>) {
        self.0.insert(path, target);
    }

    /// Whether following the link, through other links of the tree too, ever leaves the tree. A
    /// link that leads in circles counts as one that leaves.
    pub(super) fn stays_inside(&self, link: &[u8]) -> bool {
        // What is still to walk, next component last; and where the walk is.
        let mut ahead: Vec<Vec<u8>> = components(link);
        let mut here: Vec<Vec<u8>> = Vec::new();
        let mut followed = 0;
        while let Some(part) = ahead.pop() {
            if part == b".." {
                if here.pop().is_none() {
                    return false;
                }
                continue;
            }
            here.push(part);
            let Some(target) = self.0.get(&here.join(&b'/')) else { continue };
            followed += 1;
            if followed > MOST_LINKS || target.is_empty() || target.starts_with(b"/") {
                return false;
            }
            here.pop();
            ahead.extend(components(target));
        }
        true
    }
}

/// Components in reverse, so that the next one is popped first.
fn components(path: &[u8]) -> Vec<Vec<u8>> {
    let parts = path.split(|byte| *byte == b'/').filter(|part| !part.is_empty() && *part != b".");
    let mut parts: Vec<Vec<u8>> = parts.map(<[u8]>::to_vec).collect();
    parts.reverse();
    parts
}

#[cfg(test)]
mod tests {
    use super::Links;

    #[test]
    fn a_link_is_judged_by_where_the_whole_chain_leads() {
        let mut links = Links::default();
        for (path, target) in [
            ("inside", "kernels/softmax.py"),
            ("kernels/up", "../README.md"),
            ("out", "../outside"),
            ("kernels/deep/out", "../../../outside"),
            ("absolute", "/etc/passwd"),
            ("chain", "out"),
            ("through", "dir/../../x"),
            ("dir", "kernels/deep"),
            ("circle", "circle"),
            ("dangling", "not/there"),
            // On paper this is x; through the link it is the tree's parent.
            ("tricky", "root/../x"),
            ("root", "."),
        ] {
            links.add(path.into(), target.into());
        }
        let inside = |path: &str| links.stays_inside(path.as_bytes());
        for path in ["inside", "kernels/up", "dir", "dangling", "root", "through"] {
            assert!(inside(path), "{path}");
        }
        for path in ["out", "kernels/deep/out", "absolute", "chain", "circle", "tricky"] {
            assert!(!inside(path), "{path}");
        }
    }
}
