//! Numbers given to the compiler at a launch: `num_warps=4`, `num_stages=2`.

use tree_sitter::Node;

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
    /// One place a kernel that `fits`, with all its launches; and one for each number, where branches of
    /// the host choose between several.
    pub(super) fn places(
        &self,
        verb: &dyn Verb,
        source: &Source,
        fits: impl Fn(&Function<'_>) -> bool,
    ) -> Vec<Place> {
        let groups = groups(source, self.keyword, fits);
        let alone = groups.len() == 1;
        let mut places = Vec::new();
        for launches in &groups {
            let Some(launch) = launches.first() else { continue };
            let kernel = launch.kernel.name();
            let node = launch.keyword(self.keyword).map_or(launch.node, |keyword| keyword.node);
            let whole = if alone { "" } else { kernel };
            places.push(self.place(
                verb,
                source,
                kernel,
                (whole, node),
                self.current(source, launch),
            ));
            let choices = self.choices(source, launches);
            for (ordinal, literal) in (1..).zip(choices.iter().filter(|_| choices.len() > 1)) {
                let name = format!("{kernel}#{ordinal}");
                let now = integer(source, *literal);
                places.push(self.place(verb, source, kernel, (&name, *literal), now));
            }
        }
        places
    }

    /// What is worth trying for `name`: a kernel, one of its numbers, or nothing where there is but one.
    fn place(
        &self,
        verb: &dyn Verb,
        source: &Source,
        kernel: &str,
        (name, node): (&str, Node<'_>),
        current: Option<i64>,
    ) -> Place {
        let now = current.unwrap_or(self.default);
        let step = |value: &i64| {
            let step = Step::new(verb.name()).word(value);
            if name.is_empty() { step } else { step.word(name) }
        };
        let mut values: Vec<&i64> = self.worth.iter().filter(|value| **value != now).collect();
        values.sort_by_key(|value| distance(**value, now));
        Place {
            line: source.line(node),
            what: format!("{} of {kernel}", self.keyword),
            axis: if name.is_empty() { kernel } else { name }.to_owned(),
            current: current.map(|value| value.to_string()),
            steps: values.into_iter().map(step).collect(),
        }
    }

    /// The numbers that the launches of a kernel choose from, each once, in the order of the source.
    fn choices<'s>(&self, source: &'s Source, launches: &[Launch<'s>]) -> Vec<Node<'s>> {
        let mut choices: Vec<Node<'s>> = launches
            .iter()
            .filter_map(|launch| Some((launch.keyword(self.keyword)?.value, launch.host)))
            .flat_map(|(value, host)| source.literals(value, host))
            .collect();
        choices.sort_by_key(Node::start_byte);
        choices.dedup_by_key(|literal| literal.id());
        choices
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
        if let Some((kernel, ordinal)) = kernel.and_then(|name| name.split_once('#')) {
            return self.apply_to_one(source, step, &groups, (kernel, ordinal), number);
        }
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

    /// Changes one of the numbers that a kernel's launches choose from.
    fn apply_to_one(
        &self,
        source: &Source,
        step: &Step,
        groups: &[Vec<Launch<'_>>],
        (kernel, ordinal): (&str, &str),
        number: i64,
    ) -> Result<Vec<Edit>, RecipeError> {
        let of_kernel = |group: &&Vec<Launch<'_>>| {
            group.first().is_some_and(|launch| launch.kernel.name() == kernel)
        };
        let launches = groups.iter().find(of_kernel).map_or(&[][..], Vec::as_slice);
        let choices = self.choices(source, launches);
        let chosen = (1..).zip(&choices).find(|(at, _): &(usize, _)| at.to_string() == ordinal);
        let Some((_, literal)) = chosen else {
            let names = (1..=choices.len()).map(|at| format!("{kernel}#{at}")).collect();
            let reason = format!("{kernel} has no such number for its {}", self.keyword);
            return Err(step.inapplicable(reason, names));
        };
        Ok(vec![Edit::replace(literal.byte_range(), number.to_string())])
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
