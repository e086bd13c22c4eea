//! Where tile sizes are set, and which values keep the kernels right.

use std::collections::BTreeMap;

use tree_sitter::Node;

use crate::generate::recipe::{
    Context, DeviceKind,
    flow::Flow,
    tiling::{TileUse, tile_use},
};
use crate::kernel::syntax::{
    Constant, Function, Launch, Source, callee, descendants, integer, positional,
};

/// Most elements of a two-dimensional tile: 256 × 256 float32 are the registers of a whole
/// multiprocessor, and no kernel that spills them is fast.
const MOST_ELEMENTS: i64 = 256 * 256;
/// Longest one-dimensional tile that is worth trying.
const LONGEST: i64 = 16384;
/// Narrowest operand of `tl.dot`.
const NARROWEST_OPERAND: i64 = 16;
/// Widest operand of `tl.dot` that is worth trying.
const WIDEST_OPERAND: i64 = 256;

/// A number that sets the tile size of one or more kernels.
pub(super) struct TileSite<'s> {
    /// Its name in recipes.
    pub axis: String,
    pub value: i64,
    pub literal: Node<'s>,
    /// The same number where the grid repeats it.
    pub echoes: Vec<Node<'s>>,
    /// Kernel and parameter that it reaches.
    uses: Vec<(Function<'s>, &'s str, TileUse)>,
    /// The function that sets it, for people.
    setter: &'s str,
    /// Names under which it is found besides `axis`.
    aliases: Vec<&'s str>,
    /// Set at the launch or as a default, so that only the grid can know it by another way.
    own_literal: bool,
    /// The grid neither names the tile nor repeats its number, although offsets rest on it.
    grid_is_deaf: bool,
}

impl TileSite<'_> {
    pub(super) fn describe(&self) -> String {
        let kernels: Vec<String> = self
            .uses
            .iter()
            .map(|(kernel, name, _)| format!("{name} of {}", kernel.name()))
            .collect();
        format!("{}, set in {}", kernels.join(" and "), self.setter)
    }

    fn any(&self, fact: impl Fn(&TileUse) -> bool) -> bool {
        self.uses.iter().any(|(_, _, tile)| fact(tile))
    }
}

/// All tile sizes of a source that are set by a number.
pub(super) struct Sites<'s> {
    sites: Vec<TileSite<'s>>,
}

impl<'s> Sites<'s> {
    pub(super) fn of(source: &'s Source) -> Self {
        let mut sites: Vec<TileSite<'s>> = Vec::new();
        for launch in source.launches() {
            for parameter in launch.kernel.parameters() {
                let located = locate(source, &launch, parameter.name);
                if located.is_empty() {
                    continue;
                }
                let Some(tile) = tile_use(source, launch.kernel, parameter.name) else { continue };
                // The box follows a name, not a number that is written at the launch.
                for found in located.into_iter().filter(|it| !(tile.boxed && it.own_literal)) {
                    let known = sites.iter().position(|s| s.literal.id() == found.literal.id());
                    let index = known.unwrap_or_else(|| {
                        sites.push(found);
                        sites.len() - 1
                    });
                    let site = &mut sites[index];
                    if site.own_literal && tile.in_grid {
                        hear_grid(source, &launch, parameter.name, site);
                    }
                    let same = |(kernel, name, _): &(Function<'_>, &str, TileUse)| {
                        kernel.name() == launch.kernel.name() && *name == parameter.name
                    };
                    if !site.uses.iter().any(same) {
                        site.uses.push((launch.kernel, parameter.name, tile.clone()));
                        site.aliases.push(parameter.name);
                    }
                }
            }
        }
        sites.retain(|site| site.value > 0 && site.value & (site.value - 1) == 0);
        number(&mut sites);
        qualify(&mut sites);
        for site in &mut sites {
            hear_host(source, site);
        }
        Self { sites }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &TileSite<'s>> {
        self.sites.iter()
    }

    pub(super) fn at(&self, index: usize) -> &TileSite<'s> {
        &self.sites[index]
    }

    /// The site called `name`, or the only one that sets a parameter of that name.
    pub(super) fn named(&self, name: &str) -> Option<usize> {
        let by_axis = self.sites.iter().position(|site| site.axis == name);
        by_axis.or_else(|| {
            let aliased = |(_, site): &(usize, &TileSite<'_>)| site.aliases.contains(&name);
            let mut candidates = self.sites.iter().enumerate().filter(aliased);
            let (index, _) = candidates.next()?;
            candidates.next().is_none().then_some(index)
        })
    }

    /// Values worth trying for `site`, the nearest larger ones first.
    pub(super) fn worth_trying(&self, site: &TileSite<'s>, context: &Context) -> Vec<i64> {
        let Some(index) = self.sites.iter().position(|s| s.literal.id() == site.literal.id())
        else {
            return Vec::new();
        };
        let alone = site.uses.iter().all(|(kernel, name, _)| {
            self.tiles_of(kernel).all(|(_, parameter)| parameter == *name)
        });
        // Rows may be few where another dimension is long; a loop by fewer than 16 only adds rounds.
        let least = if alone || site.any(|tile| !tile.in_grid) { 16 } else { 4 };
        // Powers of two around the present value. The interpreter gets slower by every smaller one.
        let exponents: &[i32] = match context.device {
            DeviceKind::Cuda => &[1, 2, -1, 3, -2, 4, -3, 5, -4, 6, -5, -6],
            DeviceKind::Cpu => &[1, 2, 3, -1, 4, 5, 6],
        };
        let scaled = exponents.iter().filter_map(|exponent| {
            let factor = 1_i64 << exponent.unsigned_abs();
            let value = if *exponent > 0 { site.value * factor } else { site.value / factor };
            (least..=LONGEST).contains(&value).then_some(value)
        });
        let fits =
            |value: &i64| self.check(index, &BTreeMap::from([(index, *value)]), context).is_ok();
        let mut values: Vec<i64> = scaled.filter(fits).collect();
        if site.any(|tile| tile.dot) {
            // Tensor cores want operands of 32 and more; a deep inner tile fills shared memory.
            let inner = site.any(|tile| !tile.in_grid);
            values.retain(|value| *value <= WIDEST_OPERAND);
            values.sort_by_key(|value| *value < 32 || (inner && *value > 128));
        }
        values
    }

    /// Whether the site `index` may take its value in `chosen`, given the others there.
    pub(super) fn check(
        &self,
        index: usize,
        chosen: &BTreeMap<usize, i64>,
        context: &Context,
    ) -> Result<(), String> {
        let site = &self.sites[index];
        let value = chosen.get(&index).copied().unwrap_or(site.value);
        if value <= 0 || value & (value - 1) != 0 {
            return Err("a tile size is a power of two".into());
        }
        if site.any(|tile| tile.dot) && value < NARROWEST_OPERAND {
            return Err(format!("an operand of tl.dot is at least {NARROWEST_OPERAND} wide"));
        }
        if site.grid_is_deaf {
            return Err("the grid does not follow this tile size".into());
        }
        if value < site.value && site.any(|tile| !tile.walks) {
            return Err("the tile covers its dimension at once, so it may only grow".into());
        }
        if value > site.value && site.any(|tile| !tile.guarded || tile.exact) {
            self.check_divides(site, value, context)?;
        }
        for (kernel, name, tile) in &site.uses {
            let elements = self.most_elements(kernel, name, tile, chosen, value);
            if elements > MOST_ELEMENTS && value > site.value {
                return Err(format!(
                    "a tile of {elements} elements does not fit the registers; at most {MOST_ELEMENTS}"
                ));
            }
        }
        Ok(())
    }

    /// A tile that is not masked, or divides without a remainder, grows only to what divides its
    /// extents on every case.
    fn check_divides(
        &self,
        site: &TileSite<'s>,
        value: i64,
        context: &Context,
    ) -> Result<(), String> {
        let extents: Vec<&String> =
            site.uses.iter().flat_map(|(_, _, tile)| &tile.extents).collect();
        let known = extents.iter().all(|extent| {
            context.integers(extent).is_some_and(|values| {
                values.iter().all(|length| *length > 0 && length % value == 0)
            })
        });
        if !extents.is_empty() && known {
            return Ok(());
        }
        Err("accesses are not masked, so it may only grow to what divides its dimension on every case"
            .into())
    }

    /// Elements of the largest tensor that the tile takes part in, by the kernel's two largest
    /// tiles or by its own square where a shape has it twice.
    fn most_elements(
        &self,
        kernel: &Function<'s>,
        name: &str,
        tile: &TileUse,
        chosen: &BTreeMap<usize, i64>,
        value: i64,
    ) -> i64 {
        let twice = |shape: &Vec<String>| shape.iter().filter(|part| *part == name).count() > 1;
        let own = if tile.shapes.iter().any(twice) { value.saturating_mul(value) } else { value };
        let others = self.tiles_of(kernel).filter(|(_, other)| *other != name);
        let other = others
            .map(|(index, _)| chosen.get(&index).copied().unwrap_or(self.sites[index].value))
            .max();
        own.max(value.saturating_mul(other.unwrap_or(1)))
    }

    /// The sites that set a tile of `kernel`, with the parameter they set.
    fn tiles_of(&self, kernel: &Function<'s>) -> impl Iterator<Item = (usize, &'s str)> {
        let name = kernel.name();
        self.sites.iter().enumerate().flat_map(move |(index, site)| {
            let uses = site.uses.iter().filter(move |(kernel, _, _)| kernel.name() == name);
            uses.map(move |(_, parameter, _)| (index, *parameter))
        })
    }
}

/// The numbers that set `parameter` at `launch`: several where branches of the host choose.
fn locate<'s>(source: &'s Source, launch: &Launch<'s>, parameter: &str) -> Vec<TileSite<'s>> {
    let site = |axis: &str, value, literal, setter, own_literal| TileSite {
        axis: axis.to_owned(),
        value,
        literal,
        echoes: Vec::new(),
        uses: Vec::new(),
        setter,
        aliases: Vec::new(),
        own_literal,
        grid_is_deaf: false,
    };
    let setter = |function: Option<Function<'s>>| function.map_or("the module", |f| f.name());
    if let Some(given) = launch.binding(parameter) {
        if let Some(value) = integer(source, given) {
            return vec![site(parameter, value, given, setter(launch.host), true)];
        }
        if given.kind() != "identifier" {
            return Vec::new();
        }
        let numbers = source.numbers(source.slice(given), launch.host, launch.node);
        let named = |it: Constant<'s>| site(it.name, it.value, it.literal, setter(it.scope), false);
        return numbers.into_iter().map(named).collect();
    }
    let tuned = launch.kernel.decorators().iter().any(|text| text.contains("autotune"));
    if launch.has_splat() || tuned {
        return Vec::new();
    }
    let parameters = launch.kernel.parameters();
    let default = parameters.iter().find(|p| p.name == parameter).and_then(|p| p.default);
    let Some((default, value)) = default.and_then(|it| Some((it, integer(source, it)?))) else {
        return Vec::new();
    };
    vec![site(parameter, value, default, launch.kernel.name(), true)]
}

/// Finds how the grid of `launch` knows a tile size that is written at the launch: by its key in
/// the metaparameters, or by repeating the number as the divisor of `cdiv`.
fn hear_grid<'s>(
    source: &'s Source,
    launch: &Launch<'s>,
    parameter: &str,
    site: &mut TileSite<'s>,
) {
    let mut nodes = Vec::new();
    match launch.host {
        Some(host) => nodes.extend(Flow::of(source, host).reachable(launch.grid, |_| false)),
        None => nodes.extend(descendants(launch.grid)),
    }
    let by_key = nodes.iter().any(|node| {
        node.kind() == "string" && source.slice(*node).trim_matches(['"', '\'']) == parameter
    });
    let divisors = nodes.iter().filter_map(|node| {
        let divisor =
            (callee_is(source, *node, "cdiv")).then(|| positional(*node).get(1).copied())?;
        divisor.filter(|divisor| integer(source, *divisor) == Some(site.value))
    });
    let echoes: Vec<Node<'s>> = divisors.collect();
    site.grid_is_deaf |= !by_key && echoes.is_empty();
    for echo in echoes {
        if !site.echoes.iter().any(|known| known.id() == echo.id()) {
            site.echoes.push(echo);
        }
    }
}

fn callee_is(source: &Source, node: Node<'_>, name: &str) -> bool {
    node.kind() == "call" && callee(source, node) == Some(name)
}

/// Takes over divisions without a remainder by the tile size's name in the host.
fn hear_host(source: &Source, site: &mut TileSite<'_>) {
    if site.own_literal {
        return;
    }
    let name = site.axis.rsplit('.').next().unwrap_or(&site.axis);
    let name = name.split('#').next().unwrap_or(name).to_owned();
    let root = source.function_around(site.literal).map_or(source.root(), |f| f.node());
    let is_name = |node: Node<'_>| node.kind() == "identifier" && source.slice(node) == name;
    let divisions = descendants(root).filter(|node| node.kind() == "binary_operator");
    for node in divisions {
        let side = |field| node.child_by_field_name(field);
        let (Some(left), Some(right)) = (side("left"), side("right")) else { continue };
        let divides = side("operator").is_some_and(|op| matches!(source.slice(op), "//" | "%"));
        // A host that asks whether there is a remainder knows what to do with one.
        let asks = node.parent().is_some_and(|it| it.kind() == "comparison_operator");
        if asks {
            continue;
        }
        if divides && is_name(right) && !descendants(left).any(is_name) {
            for (_, _, tile) in &mut site.uses {
                tile.exact = true;
                tile.extents.insert(source.slice(left).to_owned());
            }
        }
    }
}

/// Numbers the sites of a name that is set in several places of a function, in the order of the source:
/// `BLOCK#1`, `BLOCK#2`.
fn number(sites: &mut [TileSite<'_>]) {
    let keys: Vec<_> = sites
        .iter()
        .map(|site| (site.own_literal, site.setter, site.axis.clone(), site.literal.start_byte()))
        .collect();
    for (site, own) in sites.iter_mut().zip(&keys) {
        let same =
            |key: &&(bool, &str, String, usize)| (key.0, key.1, &key.2) == (own.0, own.1, &own.2);
        let places = keys.iter().filter(same).count();
        if !site.own_literal && places > 1 {
            let ordinal = keys.iter().filter(same).filter(|key| key.3 <= own.3).count();
            site.axis = format!("{}#{ordinal}", site.axis);
        }
    }
}

/// Names sites apart that would have the same name, by the function that sets them.
fn qualify(sites: &mut [TileSite<'_>]) {
    let names: Vec<String> = sites.iter().map(|site| site.axis.clone()).collect();
    for site in sites {
        if names.iter().filter(|name| **name == site.axis).count() > 1 {
            let owner = match site.uses.first() {
                Some((kernel, _, _)) if site.own_literal => kernel.name(),
                _ => site.setter,
            };
            site.axis = format!("{owner}.{}", site.axis);
        }
    }
}
