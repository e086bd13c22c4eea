//! What of a source the contract's cases do not reach: moves there change nothing that is measured.

use std::{
    collections::{BTreeSet, HashSet},
    ops::RangeInclusive,
};

use tree_sitter::Node;

use crate::kernel::syntax::{Function, Source, descendants};

/// Lines of kernels that no case launches, of their launches, and of functions that launch nothing else.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Idle(Vec<RangeInclusive<u32>>);

impl Idle {
    /// `launched` are the names of the kernels that the cases launch, those of other files among them.
    /// Where none of them is of this source nothing is known, and nothing idle.
    pub fn of(source: &Source, launched: &BTreeSet<String>) -> Self {
        let functions = source.functions();
        let kernels: Vec<&Function<'_>> = functions.iter().filter(|it| it.is_jit()).collect();
        let seen = |kernel: &&&Function<'_>| launched.contains(kernel.name());
        let mut busy: Vec<&Function<'_>> = kernels.iter().filter(seen).copied().collect();
        if busy.is_empty() {
            return Self::default();
        }
        // Launched under a name of their own making, they cannot be told by it.
        busy.extend(kernels.iter().filter(|kernel| names_itself(kernel)));
        let mut reached: HashSet<usize> = HashSet::new();
        while let Some(function) = busy.pop() {
            if reached.insert(function.node().id()) {
                let named: HashSet<&str> = descendants(function.node())
                    .filter(|node| node.kind() == "identifier")
                    .map(|node| source.slice(node))
                    .collect();
                busy.extend(kernels.iter().filter(|kernel| named.contains(kernel.name())));
            }
        }
        let is_idle = |kernel: Node<'_>| !reached.contains(&kernel.id());
        let mut spans: Vec<Node<'_>> =
            kernels.iter().map(|kernel| kernel.node()).filter(|it| is_idle(*it)).collect();
        let launches = source.launches();
        spans.extend(launches.iter().filter(|it| is_idle(it.kernel.node())).map(|it| it.node));
        for host in functions.iter().filter(|it| !it.is_jit()) {
            let mut own = launches
                .iter()
                .filter(|it| it.host.is_some_and(|around| around.node() == host.node()))
                .peekable();
            if own.peek().is_some() && own.all(|it| is_idle(it.kernel.node())) {
                spans.push(host.node());
            }
        }
        Self(spans.into_iter().map(|node| lines(source, node)).collect())
    }

    pub fn contains(&self, line: u32) -> bool {
        self.0.iter().any(|lines| lines.contains(&line))
    }
}

/// Whether its decorator makes the name that it is launched under.
fn names_itself(kernel: &Function<'_>) -> bool {
    kernel.decorators().iter().any(|text| text.contains("repr"))
}

/// With the decorators.
fn lines(source: &Source, node: Node<'_>) -> RangeInclusive<u32> {
    let decorated = node.parent().filter(|it| it.kind() == "decorated_definition");
    let whole = decorated.unwrap_or(node);
    let last = u32::try_from(whole.end_position().row + 1).unwrap_or(u32::MAX);
    source.line(whole)..=last
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = r"
@triton.jit
def helper(x):
    return x

@triton.jit
def forward(x, y):
    tl.store(y, helper(tl.load(x)))

@triton.autotune(configs=[], key=[])
@triton.jit
def backward(x, y):
    tl.store(y, tl.load(x))

@triton.jit(repr=named)
def renamed(x):
    tl.store(x, 0)

def run(x, y):
    BLOCK = 64
    forward[(1,)](x, y)

def run_back(x, y):
    BLOCK = 64
    backward[(1,)](x, y)

def both(x, y):
    BLOCK = 64
    forward[(1,)](x, y)
    backward[(1,)](x, y)
";

    fn idle(launched: &[&str]) -> Vec<u32> {
        let source = Source::parse(SOURCE).unwrap();
        let launched = launched.iter().map(|&name| name.to_owned()).collect();
        let idle = Idle::of(&source, &launched);
        (1..=SOURCE.lines().count() as u32).filter(|line| idle.contains(*line)).collect()
    }

    #[test]
    fn kernels_that_nothing_launches_and_what_serves_them_alone() {
        assert_eq!(idle(&["forward"]), [10, 11, 12, 13, 23, 24, 25, 30]);
        assert_eq!(idle(&["backward", "of_another_file"]), [2, 3, 4, 6, 7, 8, 19, 20, 21, 29]);
    }

    #[test]
    fn where_nothing_is_known_nothing_is_idle() {
        assert!(idle(&["forward", "backward"]).is_empty());
        assert!(idle(&["of_another_file"]).is_empty());
        assert!(idle(&[]).is_empty());
    }
}
