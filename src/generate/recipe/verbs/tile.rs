//! `tile BLOCK_M=64 BLOCK_N=128`: how much one program works on at once.

use std::collections::BTreeMap;

use super::tile_site::{Sites, TileSite};
use crate::generate::recipe::{Context, Place, RecipeError, Step, Verb};
use crate::kernel::syntax::{Edit, Source};

pub(super) struct Tile;

impl Verb for Tile {
    fn name(&self) -> &'static str {
        "tile"
    }

    fn summary(&self) -> &'static str {
        "change a tile size wherever it is set: in the host function, at the launch, as a default"
    }

    fn syntax(&self) -> &'static str {
        "tile NAME[#N]=VALUE [NAME[#N]=VALUE …]"
    }

    fn places(&self, source: &Source, context: &Context) -> Vec<Place> {
        let sites = Sites::of(source);
        let place = |site: &TileSite<'_>| Place {
            line: source.line(site.literal),
            what: site.describe(),
            axis: site.axis.clone(),
            current: Some(site.value.to_string()),
            steps: sites
                .worth_trying(site, context)
                .into_iter()
                .map(|value| Step::new("tile").set(&site.axis, value))
                .collect(),
        };
        sites.iter().map(place).collect()
    }

    fn apply(
        &self,
        source: &Source,
        step: &Step,
        context: &Context,
    ) -> Result<Vec<Edit>, RecipeError> {
        let assignments = step
            .assignments()
            .filter(|assignments| !assignments.is_empty())
            .ok_or_else(|| step.grammar(self, "it takes names with values"))?;
        let sites = Sites::of(source);
        let mut chosen = BTreeMap::new();
        for (name, value) in assignments {
            let index = sites.named(name).ok_or_else(|| {
                let reason = format!("no tile size `{name}` is set by a number in this source");
                step.inapplicable(reason, sites.iter().map(|site| site.axis.clone()).collect())
            })?;
            let value = value
                .parse::<i64>()
                .map_err(|_| step.grammar(self, format!("`{value}` is not a number")))?;
            if chosen.insert(index, value).is_some() {
                return Err(step.grammar(self, format!("`{name}` is given twice")));
            }
        }
        for &index in chosen.keys() {
            let site = sites.at(index);
            sites.check(index, &chosen, context).map_err(|reason| {
                let valid = sites.worth_trying(site, context);
                let valid = valid.iter().map(|value| format!("{}={value}", site.axis)).collect();
                let place = format!("line {}, {}", source.line(site.literal), site.describe());
                step.inapplicable(format!("{reason} ({place})"), valid)
            })?;
        }
        let edits = chosen.iter().flat_map(|(&index, value)| {
            let site = sites.at(index);
            let literals = std::iter::once(site.literal).chain(site.echoes.iter().copied());
            literals.map(move |literal| Edit::replace(literal.byte_range(), value.to_string()))
        });
        Ok(edits.collect())
    }
}

#[cfg(test)]
mod tests;
