//! `autotune add BLOCK=1024 num_warps=8`, `autotune prune 1 3`, `autotune fix 2`: the
//! configurations of an autotuner. Configurations are counted from 1.

use std::collections::HashSet;

use super::tuner::{Config, Tuner, tuners};
use crate::generate::recipe::{Context, Place, RecipeError, Step, Verb, Word, tiling::tile_use};
use crate::kernel::syntax::{Edit, Source, appended_argument, children};

pub(super) struct Autotune;

/// What a configuration sets besides metaparameters, and a launch takes as a keyword.
const OPTIONS: [&str; 4] = ["num_warps", "num_stages", "num_ctas", "maxnreg"];

impl Verb for Autotune {
    fn name(&self) -> &'static str {
        "autotune"
    }

    fn summary(&self) -> &'static str {
        "add, prune or replace by a fixed choice the configurations of an autotuner"
    }

    fn syntax(&self) -> &'static str {
        "autotune add NAME=VALUE … [KERNEL] | prune KEEP … [KERNEL] | fix N [KERNEL]"
    }

    fn places(&self, source: &Source, _: &Context) -> Vec<Place> {
        let tuners = tuners(source);
        let alone = tuners.len() == 1;
        let place = |tuner: &Tuner<'_>| {
            let named = |step: Step| if alone { step } else { step.word(tuner.kernel.name()) };
            let start = |word: &str| Step::new("autotune").word(word);
            let count = tuner.configs.len();
            let written_out = tuner.written_out().is_some();
            let most = if written_out { usize::MAX } else { MOST_ALIKE };
            let fixed = spread(count, most).map(|index| named(start("fix").word(index + 1)));
            let around = neighbours(tuner);
            let added = spread(around.len(), most).map(|index| {
                let values = around[index].iter();
                named(values.fold(start("add"), |step, (name, value)| step.set(name, value)))
            });
            let halves = (count > 2 && written_out).then(|| {
                let keep = |range: std::ops::RangeInclusive<usize>| {
                    named(range.fold(start("prune"), |step, n| step.word(n)))
                };
                [keep(1..=count / 2), keep(count / 2 + 1..=count)]
            });
            Place {
                line: source.line(tuner.decorator),
                what: format!("the {count} configurations of {}", tuner.kernel.name()),
                axis: tuner.kernel.name().to_owned(),
                current: Some(described(tuner)),
                steps: fixed.chain(added).chain(halves.into_iter().flatten()).collect(),
            }
        };
        tuners.iter().map(place).collect()
    }

    fn apply(&self, source: &Source, step: &Step, _: &Context) -> Result<Vec<Edit>, RecipeError> {
        let tuners = tuners(source);
        let kernels = || tuners.iter().map(|tuner| tuner.kernel.name().to_owned()).collect();
        let Some((Word::Bare(action), rest)) = step.words.split_first() else {
            return Err(step.grammar(self, "it begins with `add`, `prune` or `fix`"));
        };
        let (name, words) = match rest.split_last() {
            Some((Word::Bare(last), words)) if last.parse::<usize>().is_err() => {
                (Some(last.as_str()), words)
            }
            _ => (None, rest),
        };
        let mut meant =
            tuners.iter().filter(|tuner| name.is_none_or(|name| tuner.kernel.name() == name));
        let (Some(tuner), None) = (meant.next(), meant.next()) else {
            let reason = if tuners.is_empty() {
                "no kernel here has an autotuner whose configurations can be told from the source: \
                 lists of them, or comprehensions over lists of numbers"
            } else {
                "name one of the autotuned kernels"
            };
            return Err(step.inapplicable(reason, kernels()));
        };
        match action.as_str() {
            "add" => self.add(source, step, tuner, words),
            "prune" => self.prune(step, tuner, words),
            "fix" => self.fix(source, step, tuner, words),
            other => Err(step.grammar(self, format!("`{other}` is not `add`, `prune` or `fix`"))),
        }
    }
}

impl Autotune {
    /// Appends a configuration; what the step leaves out is as in the first one.
    fn add(
        &self,
        source: &Source,
        step: &Step,
        tuner: &Tuner<'_>,
        words: &[Word],
    ) -> Result<Vec<Edit>, RecipeError> {
        let Some(first) = tuner.configs.first() else {
            return Err(step.inapplicable("there is no configuration to go by", vec![]));
        };
        let mut meta: Vec<(String, String)> = owned(&first.meta);
        let mut options: Vec<(String, String)> = owned(&first.options);
        if words.is_empty() {
            return Err(step.grammar(self, "a configuration to add has values"));
        }
        for word in words {
            let Word::Assign { name, value } = word else {
                return Err(step.grammar(self, format!("`{word}` is not NAME=VALUE")));
            };
            if value.parse::<u32>().is_err() {
                return Err(step.grammar(self, format!("`{value}` is not a number")));
            }
            let known = meta.iter_mut().find(|(known, _)| known == name);
            match known {
                Some(entry) => entry.1.clone_from(value),
                None if OPTIONS.contains(&name.as_str()) => {
                    options.retain(|(known, _)| known != name);
                    options.push((name.clone(), value.clone()));
                }
                None => {
                    let names = meta.into_iter().map(|(name, _)| name);
                    let valid = names.chain(OPTIONS.map(str::to_owned)).collect();
                    let reason = format!("the configurations have no `{name}`");
                    return Err(step.inapplicable(reason, valid));
                }
            }
        }
        Self::check_tiles(source, step, tuner, &meta)?;
        if present(tuner).contains(&sorted([&meta[..], &options[..]].concat())) {
            return Err(RecipeError::NoChange { step: step.to_string() });
        }
        let pairs: Vec<String> = meta.iter().map(|(n, v)| format!("\"{n}\": {v}")).collect();
        let extra: String = options.iter().map(|(n, v)| format!(", {n}={v}")).collect();
        let config = format!("{}({{{}}}{extra})", first.constructor, pairs.join(", "));
        let Some(last) = tuner.lists.last() else {
            return Err(step.inapplicable("there is no list to add to", vec![]));
        };
        let (at, text) = match last.kind() {
            "list" => appended_argument(source, *last, &config),
            _ => (last.end_byte(), format!(" + [{config}]")),
        };
        Ok(vec![Edit::insert(at, text)])
    }

    /// A tile size keeps to what the present ones show to be right: where accesses are not masked
    /// it does not exceed the largest, where it covers its dimension at once not fall below the
    /// smallest.
    fn check_tiles(
        source: &Source,
        step: &Step,
        tuner: &Tuner<'_>,
        meta: &[(String, String)],
    ) -> Result<(), RecipeError> {
        for (name, value) in meta {
            let Some(tile) = tile_use(source, tuner.kernel, name) else { continue };
            let Ok(value) = value.parse::<u64>() else { continue };
            let of_name = |config: &Config<'_>| {
                let pair = config.meta.iter().find(|(known, _)| known == name)?;
                pair.1.parse::<u64>().ok()
            };
            let present: Vec<u64> = tuner.configs.iter().filter_map(of_name).collect();
            let (least, most) = (present.iter().min().copied(), present.iter().max().copied());
            let reason = if !value.is_power_of_two() {
                "a tile size is a power of two"
            } else if tile.dot && value < 16 {
                "an operand of tl.dot is at least 16 wide"
            } else if (!tile.guarded || tile.exact) && most.is_none_or(|most| value > most) {
                "accesses are not masked, so it may only shrink"
            } else if !tile.walks && least.is_none_or(|least| value < least) {
                "the tile covers its dimension at once, so it may only grow"
            } else {
                continue;
            };
            let valid = present.iter().map(|value| format!("{name}={value}")).collect();
            return Err(step.inapplicable(format!("{name}={value}: {reason}"), valid));
        }
        Ok(())
    }

    /// Keeps the configurations that the step names and removes the others.
    fn prune(
        &self,
        step: &Step,
        tuner: &Tuner<'_>,
        words: &[Word],
    ) -> Result<Vec<Edit>, RecipeError> {
        let keep = words.iter().map(|word| self.number(step, tuner, word));
        let keep = keep.collect::<Result<Vec<usize>, _>>()?;
        if keep.is_empty() {
            return Err(step.grammar(self, "it takes the numbers of the configurations to keep"));
        }
        let Some(list) = tuner.written_out() else {
            let reason = "the configurations do not stand in one list, so none can be taken out alone; \
                          `fix` takes one of them";
            return Err(step.inapplicable(reason, vec![]));
        };
        let removed = tuner.configs.iter().enumerate().filter(|(index, _)| !keep.contains(index));
        // With each goes what separates it from the one before, or from the one after at the start.
        let bounds: Vec<_> = tuner.configs.iter().map(|config| config.node.byte_range()).collect();
        let first_kept = keep.iter().copied().min().unwrap_or(0);
        let span = |index: usize| {
            if index < first_kept {
                bounds[index].start..bounds[index + 1].start
            } else {
                bounds[index - 1].end..bounds[index].end
            }
        };
        let commented = children(list).any(|node| node.kind() == "comment");
        if commented {
            let reason = "comments stand between the configurations and would lose their place";
            return Err(step.inapplicable(reason, vec![]));
        }
        Ok(removed.map(|(index, _)| Edit::replace(span(index), "")).collect())
    }

    /// Takes the decorator away and gives one configuration's values at every launch.
    fn fix(
        &self,
        source: &Source,
        step: &Step,
        tuner: &Tuner<'_>,
        words: &[Word],
    ) -> Result<Vec<Edit>, RecipeError> {
        let [word] = words else {
            return Err(step.grammar(self, "it takes the number of one configuration"));
        };
        let config = &tuner.configs[self.number(step, tuner, word)?];
        let unknown = config.options.iter().find(|(name, _)| !OPTIONS.contains(&name.as_str()));
        if let Some((name, _)) = unknown {
            let reason = format!("a launch cannot take over `{name}` of the configuration");
            return Err(step.inapplicable(reason, vec![]));
        }
        let name = tuner.kernel.name();
        let launches = source.launches();
        let launches: Vec<_> = launches.iter().filter(|l| l.kernel.name() == name).collect();
        if launches.is_empty() || launches.iter().any(|launch| launch.has_splat()) {
            let reason = format!("`{name}` is not launched here with its arguments written out");
            return Err(step.inapplicable(reason, vec![]));
        }
        if source.text().contains(&format!("{name}.")) {
            let reason = format!("the source asks the autotuner of `{name}` about itself");
            return Err(step.inapplicable(reason, vec![]));
        }
        let mut edits = vec![Self::without_decorator(source, tuner)];
        for launch in launches {
            let values = config.meta.iter().chain(&config.options);
            let given = values.filter(|(name, _)| launch.keyword(name).is_none());
            let arguments: Vec<String> = given.map(|(n, value)| format!("{n}={value}")).collect();
            if arguments.is_empty() {
                continue;
            }
            let (at, text) = appended_argument(source, launch.list, &arguments.join(", "));
            edits.push(Edit::insert(at, text));
        }
        Ok(edits)
    }

    /// The decorator and its line break.
    fn without_decorator(source: &Source, tuner: &Tuner<'_>) -> Edit {
        let next = tuner.decorator.next_sibling();
        let end = next.map_or(tuner.decorator.end_byte(), |next| next.start_byte());
        let between = source.text().get(tuner.decorator.end_byte()..end).unwrap_or_default();
        // A comment between decorators stays.
        let end = if between.trim().is_empty() { end } else { tuner.decorator.end_byte() };
        Edit::replace(tuner.decorator.start_byte()..end, "")
    }

    /// The index of the configuration that `word` counts.
    fn number(&self, step: &Step, tuner: &Tuner<'_>, word: &Word) -> Result<usize, RecipeError> {
        let count = tuner.configs.len();
        let Word::Bare(text) = word else {
            return Err(step.grammar(self, format!("`{word}` is not a configuration's number")));
        };
        match text.parse::<usize>() {
            Ok(number) if (1..=count).contains(&number) => Ok(number - 1),
            _ => {
                let valid = (1..=count).map(|number| number.to_string()).collect();
                Err(step.inapplicable(format!("there is no configuration {text}"), valid))
            }
        }
    }
}

/// How many steps of a kind are proposed for what a comprehension makes, and configurations shown.
const MOST_ALIKE: usize = 8;

/// The indices of `count` things, or of `most` from all over.
fn spread(count: usize, most: usize) -> impl Iterator<Item = usize> {
    let shown = count.min(most);
    (0..shown).map(move |index| index * count / shown)
}

/// The configurations in one line; of many the first ones.
fn described(tuner: &Tuner<'_>) -> String {
    let shown: Vec<String> = tuner.configs.iter().take(MOST_ALIKE).map(Config::describe).collect();
    let more = if tuner.configs.len() > MOST_ALIKE { " | …" } else { "" };
    format!("{}{more}", shown.join(" | "))
}

/// Configurations around the present ones: each number of each doubled, then halved.
fn neighbours(tuner: &Tuner<'_>) -> Vec<Vec<(String, String)>> {
    let mut found: Vec<Vec<(String, String)>> = Vec::new();
    let mut known = present(tuner);
    for double in [true, false] {
        for config in &tuner.configs {
            let all = all_of(config);
            for index in 0..all.len() {
                let scaled =
                    all[index].1.parse::<u32>().ok().and_then(|value| {
                        if double { value.checked_mul(2) } else { Some(value / 2) }
                    });
                let least = if OPTIONS.contains(&all[index].0.as_str()) { 1 } else { 16 };
                let most = if all[index].0 == "num_warps" { 16 } else { 16384 };
                let Some(value) = scaled.filter(|value| (least..=most).contains(value)) else {
                    continue;
                };
                if all[index].0 == "num_stages" && value > 6 {
                    continue;
                }
                let mut neighbour = all.clone();
                neighbour[index].1 = value.to_string();
                if known.insert(sorted(neighbour.clone())) {
                    found.push(neighbour);
                }
            }
        }
    }
    found
}

/// What the autotuner's configurations set, by name.
fn present(tuner: &Tuner<'_>) -> HashSet<Vec<(String, String)>> {
    tuner.configs.iter().map(|config| sorted(all_of(config))).collect()
}

fn sorted(mut values: Vec<(String, String)>) -> Vec<(String, String)> {
    values.sort();
    values
}

fn all_of(config: &Config<'_>) -> Vec<(String, String)> {
    owned(&config.meta).into_iter().chain(owned(&config.options)).collect()
}

fn owned(pairs: &[(String, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(name, value)| (name.clone(), (*value).to_owned())).collect()
}

#[cfg(test)]
mod tests;
