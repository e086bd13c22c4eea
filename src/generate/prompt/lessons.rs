//! Experience as a prompt tells it.

use super::Lesson;
use crate::generate::task::{Experience, Standing};

/// So many lessons of a kind go into a prompt (KernelOPT, section 5: memory queue capacity).
const MOST: usize = 8;

/// The queue of the best and of the most instructive on `operator` and `arch`: what helped, the
/// largest gain first; and what to avoid, the most often tried first, followed by what has not helped
/// yet and left a note on how it went wrong.
pub fn lessons(experience: &Experience, operator: &str, arch: &str) -> (Vec<Lesson>, Vec<Lesson>) {
    let (mut helped, mut avoid) = (Vec::new(), Vec::new());
    let known = experience.iter().filter(|(it, _)| it.operator == operator && it.arch == arch);
    for (subject, tally) in known {
        let lesson = Lesson {
            step: subject.task.clone(),
            standing: tally.standing(),
            tries: tally.tries,
            successes: tally.successes,
            median_gain: tally.median_gain,
            note: experience.note(subject).map(str::to_owned),
        };
        match lesson.standing {
            Standing::Avoid => avoid.push(lesson),
            Standing::Use | Standing::Open if tally.successes > 0 => helped.push(lesson),
            Standing::Use | Standing::Open if lesson.note.is_some() => avoid.push(lesson),
            Standing::Use | Standing::Open => {}
        }
    }
    let gain = |lesson: &Lesson| lesson.median_gain.unwrap_or(1.0);
    helped.sort_by(|a, b| gain(b).total_cmp(&gain(a)));
    avoid.sort_by_key(|lesson| std::cmp::Reverse(lesson.tries));
    helped.truncate(MOST);
    avoid.truncate(MOST);
    (helped, avoid)
}
