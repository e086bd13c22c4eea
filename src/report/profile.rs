//! Profiles side by side: the figures that matter, for people.

use super::{ProfileEntry, Report, format};
use crate::kernel::{Diagnosis, KernelProfile, OccupancyLimit, Profile};

/// One figure of several profiles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FigureRow {
    pub label: &'static str,
    /// One a profile, `–` where it is not known.
    pub values: Vec<String>,
}

type Shown = fn(&Profile) -> Option<String>;

/// In the order in which a reader asks: how long, how close to the limits, how much moved, why not
/// more.
const FIGURES: &[(&str, Shown)] = &[
    ("time in kernels", |p| Some(format::time(p.duration_us()))),
    ("kernels", |p| Some(p.kernels.len().to_string())),
    ("compute throughput", |p| percent(p.mean(|k| k.throughput.sm))),
    ("memory throughput", |p| percent(p.mean(|k| k.throughput.memory))),
    ("DRAM throughput", |p| percent(p.mean(|k| k.throughput.dram))),
    ("DRAM traffic", traffic),
    ("L1 hits, L2 hits", hits),
    ("programs, waves", programs),
    ("occupancy of the possible", occupancy),
    ("registers, shared memory", resources),
    ("spilled to local memory", |p| sum(p, |k| k.traffic.local_bytes()).map(bytes)),
    ("bytes used of a sector", |p| p.mean(used).map(|used| format!("{used:.0} of 32"))),
    ("bank conflicts", |p| percent(p.mean(conflicts))),
    ("tensor pipe, FMA pipe", |p| pair(p.mean(|k| k.pipes.tensor), p.mean(|k| k.pipes.fma))),
    ("issue slots used", |p| percent(p.mean(|k| k.issue.issued))),
    ("warps ready to issue", |p| {
        p.mean(|k| k.issue.eligible_warps).map(|warps| format!("{warps:.2}"))
    }),
    ("warps wait most for", stall),
];

/// The rows that at least one of `profiles` has something for.
pub fn figures(profiles: &[&Profile]) -> Vec<FigureRow> {
    let rows = FIGURES.iter().filter_map(|(label, shown)| {
        let values: Vec<Option<String>> = profiles.iter().map(|profile| shown(profile)).collect();
        values.iter().any(Option::is_some).then(|| FigureRow {
            label,
            values: values
                .into_iter()
                .map(|value| value.unwrap_or_else(|| format::NOTHING.to_owned()))
                .collect(),
        })
    });
    rows.collect()
}

/// `memory-bound, 3.0 times the least DRAM traffic`.
pub fn headline(diagnosis: &Diagnosis) -> String {
    match diagnosis.amplification {
        Some(times) => format!("{}, {times:.2} times the least DRAM traffic", diagnosis.class),
        None => diagnosis.class.to_string(),
    }
}

/// What a report shows of its profiles; nothing where there is neither one nor a reason.
#[derive(Debug)]
pub(super) struct Profiles<'r> {
    /// `baseline`, `best`, as far as they were made.
    pub(super) sides: Vec<Side<'r>>,
    pub(super) rows: Vec<FigureRow>,
    pub(super) note: Option<&'r str>,
}

#[derive(Debug)]
pub(super) struct Side<'r> {
    pub(super) name: &'static str,
    pub(super) headline: String,
    pub(super) entry: &'r ProfileEntry,
}

impl<'r> Profiles<'r> {
    pub(super) fn of(report: &'r Report) -> Option<Self> {
        let info = &report.profile;
        let side = |(name, entry): (_, &'r Option<ProfileEntry>)| {
            let entry = entry.as_ref()?;
            Some(Side { name, headline: headline(&entry.diagnosis), entry })
        };
        let sides: Vec<Side<'_>> = [("baseline", &info.baseline), ("best", &info.best)]
            .into_iter()
            .filter_map(side)
            .collect();
        let profiles: Vec<&Profile> = sides.iter().map(|side| &side.entry.profile).collect();
        let rows = figures(&profiles);
        let shown = !sides.is_empty() || info.note.is_some();
        shown.then_some(Self { rows, sides, note: info.note.as_deref() })
    }

    /// Name of the case that was profiled.
    pub(super) fn case(&self) -> &str {
        self.sides.first().map_or("", |side| side.entry.profile.case.as_str())
    }

    /// Some kernels of a call are not in the figures.
    pub(super) fn incomplete(&self) -> bool {
        self.sides.iter().any(|side| side.entry.profile.incomplete)
    }
}

fn percent(value: Option<f64>) -> Option<String> {
    value.map(|value| format!("{value:.0} %"))
}

/// Two percentages; a part that is not known is `–`.
fn pair(one: Option<f64>, other: Option<f64>) -> Option<String> {
    let shown = |value| percent(value).unwrap_or_else(|| format::NOTHING.to_owned());
    (one.is_some() || other.is_some()).then(|| format!("{}, {}", shown(one), shown(other)))
}

fn sum(profile: &Profile, figure: impl Fn(&KernelProfile) -> Option<f64>) -> Option<f64> {
    profile.kernels.iter().map(figure).sum()
}

/// Decimal units, as bandwidths are given.
fn bytes(bytes: f64) -> String {
    match bytes {
        _ if bytes < 1e3 => format!("{bytes:.0} B"),
        _ if bytes < 1e6 => format!("{:.1} kB", bytes / 1e3),
        _ if bytes < 1e9 => format!("{:.1} MB", bytes / 1e6),
        _ => format!("{:.2} GB", bytes / 1e9),
    }
}

fn traffic(profile: &Profile) -> Option<String> {
    let moved = bytes(profile.dram_bytes()?);
    Some(match profile.amplification() {
        Some(times) => format!("{moved}, {times:.2}× the least"),
        None => moved,
    })
}

fn hits(profile: &Profile) -> Option<String> {
    pair(profile.mean(|k| k.traffic.l1_hit), profile.mean(|k| k.traffic.l2_hit))
}

fn used(kernel: &KernelProfile) -> Option<f64> {
    kernel.traffic.load_bytes_per_sector.filter(|bytes| *bytes > 0.0)
}

fn conflicts(kernel: &KernelProfile) -> Option<f64> {
    let wavefronts = kernel.shared.wavefronts.filter(|wavefronts| *wavefronts > 0.0)?;
    Some(100.0 * kernel.shared.conflicts? / wavefronts)
}

/// Of the longest kernel: a mean of grids means nothing.
fn programs(profile: &Profile) -> Option<String> {
    let launch = &profile.longest()?.launch;
    let programs = launch.programs?;
    Some(match launch.waves {
        Some(waves) => format!("{programs:.0}, {waves:.2}"),
        None => format!("{programs:.0}"),
    })
}

fn occupancy(profile: &Profile) -> Option<String> {
    let occupancy = &profile.longest()?.occupancy;
    let (achieved, theoretical) = (percent(occupancy.achieved)?, percent(occupancy.theoretical)?);
    let full = occupancy.theoretical.is_some_and(|theoretical| theoretical > 99.5);
    let limit = match occupancy.limit.filter(|_| !full) {
        Some(OccupancyLimit::SharedMemory) => " (shared memory)",
        Some(OccupancyLimit::Registers) => " (registers)",
        Some(OccupancyLimit::Barriers) => " (barriers)",
        _ => "",
    };
    Some(format!("{achieved} of {theoretical}{limit}"))
}

fn resources(profile: &Profile) -> Option<String> {
    let launch = &profile.longest()?.launch;
    let registers = launch.registers_per_thread?;
    Some(match launch.shared_bytes {
        Some(bytes) => format!("{registers:.0}, {:.1} KiB", bytes / 1024.0),
        None => format!("{registers:.0}"),
    })
}

fn stall(profile: &Profile) -> Option<String> {
    let stalls = profile.longest()?.stalls.iter().filter(|(state, _)| *state != "selected");
    let (state, share) = stalls.max_by(|a, b| a.1.total_cmp(b.1))?;
    Some(format!("{} ({share:.0} %)", state.replace('_', " ")))
}
