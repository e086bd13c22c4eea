//! Numbers given to the compiler at a launch: `num_warps=4`, `num_stages=2`.

use crate::generate::recipe::{Place, RecipeError, Step, Verb};
use crate::kernel::syntax::{Edit, Function, Launch, Source, appended_argument, integer};

/// An option and the values that it takes.
pub(super) struct LaunchOption {
    /// The keyword at the launch.
    pub keyword: &'static str,
    /// What Triton takes where the launch says nothing.
    pub default: i64,
    /// Every value it takes, ascending.
    pub values: &'static [i64],
    /// Values worth trying from a present one.
    pub worth: &'static [i64],
}

impl LaunchOption {
    /// One place a kernel that `fits`, with all its launches.
    pub(super) fn places(
        &self,
        verb: &dyn Verb,
        source: &Source,
        fits: impl Fn(&Function<'_>) -> bool,
    ) -> Vec<Place> {
        let groups = groups(source, self.keyword, fits);
        let alone = groups.len() == 1;
        let place = |launches: &Vec<Launch<'_>>| {
            let launch = launches.first()?;
            let current = self.current(source, launch);
            let now = current.unwrap_or(self.default);
            let step = |value: &i64| {
                let step = Step::new(verb.name()).word(value);
                if alone { step } else { step.word(launch.kernel.name()) }
            };
            let mut values: Vec<&i64> = self.worth.iter().filter(|value| **value != now).collect();
            values.sort_by_key(|value| distance(**value, now));
            let node = launch.keyword(self.keyword).map_or(launch.node, |keyword| keyword.node);
            Some(Place {
                line: source.line(node),
                what: format!("{} of {}", self.keyword, launch.kernel.name()),
                axis: launch.kernel.name().to_owned(),
                current: current.map(|value| value.to_string()),
                steps: values.into_iter().map(step).collect(),
            })
        };
        groups.iter().filter_map(place).collect()
    }

    /// Changes or inserts the keyword at every launch of the kernel that the step means.
    pub(super) fn apply(
        &self,
        verb: &dyn Verb,
        source: &Source,
        step: &Step,
        fits: impl Fn(&Function<'_>) -> bool,
        unfit: &str,
    ) -> Result<Vec<Edit>, RecipeError> {
        let (value, kernel) = match step.bare().as_deref() {
            Some([value]) => (*value, None),
            Some([value, kernel]) => (*value, Some(*kernel)),
            _ => return Err(step.grammar(verb, "it takes a number and perhaps a kernel's name")),
        };
        let number = value.parse::<i64>().ok().filter(|number| self.values.contains(number));
        let Some(number) = number else {
            let reason = format!("{} does not take `{value}`", self.keyword);
            return Err(step.inapplicable(reason, texts(self.values)));
        };
        let groups = groups(source, self.keyword, fits);
        let names = || groups.iter().flatten().map(|launch| launch.kernel.name().to_owned());
        let wanted = |launch: &&Launch<'_>| kernel.is_none_or(|name| launch.kernel.name() == name);
        let launches: Vec<_> = groups.iter().flatten().filter(wanted).collect();
        if launches.is_empty() {
            return Err(step.inapplicable(unfit, names().collect()));
        }
        let mut edits: Vec<Edit> = Vec::new();
        for launch in launches {
            let edit = self.edit(source, launch, number);
            if !edits.contains(&edit) {
                edits.push(edit);
            }
        }
        Ok(edits)
    }

    fn current(&self, source: &Source, launch: &Launch<'_>) -> Option<i64> {
        let value = launch.keyword(self.keyword)?.value;
        integer(source, value)
            .or_else(|| Some(source.constant(source.slice(value), launch.host)?.value))
    }

    fn edit(&self, source: &Source, launch: &Launch<'_>, number: i64) -> Edit {
        match launch.keyword(self.keyword) {
            Some(keyword) => Edit::replace(keyword.value.byte_range(), number.to_string()),
            None => {
                let argument = format!("{}={number}", self.keyword);
                let (at, text) = appended_argument(source, launch.list, &argument);
                Edit::insert(at, text)
            }
        }
    }
}

/// The launches whose option may be set, by kernel. An autotuner sets it itself, and behind a
/// splat it may be set already.
fn groups<'s>(
    source: &'s Source,
    keyword: &str,
    fits: impl Fn(&Function<'_>) -> bool,
) -> Vec<Vec<Launch<'s>>> {
    let tuned = |launch: &Launch<'_>| {
        launch.kernel.decorators().iter().any(|decorator| decorator.contains("autotune"))
    };
    let mut groups: Vec<Vec<Launch<'_>>> = Vec::new();
    for launch in source.launches() {
        let hidden = launch.has_splat() && launch.keyword(keyword).is_none();
        if tuned(&launch) || hidden || !fits(&launch.kernel) {
            continue;
        }
        let name = launch.kernel.name();
        match groups.iter_mut().find(|group| group.iter().any(|l| l.kernel.name() == name)) {
            Some(group) => group.push(launch),
            None => groups.push(vec![launch]),
        }
    }
    groups
}

/// How far two values are apart: in doublings, which for small counts orders like the difference;
/// the larger one first where two are as far.
fn distance(value: i64, now: i64) -> (i64, i64) {
    let doublings = (value.max(1) as f64 / now.max(1) as f64).log2();
    ((doublings.abs() * 1000.0).round() as i64, -value)
}

fn texts(values: &[i64]) -> Vec<String> {
    values.iter().map(ToString::to_string).collect()
}
