//! One file a verb, one line each here.

mod access_hint;
mod autotune;
mod cache;
mod counted_loop;
mod evict;
mod hint;
mod index32;
mod launch_option;
mod pipeline;
mod precision;
mod programs;
mod split;
mod stages;
mod swizzle;
mod tile;
mod tile_site;
mod tuner;
mod unroll;
mod warps;

use super::Verb;

/// All verbs, in the order in which they are listed and tried.
pub static VERBS: &[&dyn Verb] = &[
    &tile::Tile,
    &split::Split,
    &warps::Warps,
    &stages::Stages,
    &swizzle::Swizzle,
    &evict::Evict,
    &cache::Cache,
    &precision::Precision,
    &unroll::Unroll,
    &pipeline::Pipeline,
    &hint::Hint,
    &index32::Index32,
    &autotune::Autotune,
];
