//! What may disturb a measurement on a GPU: heat, power, changing clocks, other people's processes.

use std::{
    collections::BTreeSet,
    fmt, fs,
    sync::{Mutex, PoisonError},
};

use nvml_wrapper::{
    Nvml,
    bitmasks::device::ThrottleReasons,
    enum_wrappers::device::{Clock, TemperatureSensor},
};

use super::{
    inventory::{NoGpu, explain, inventory, load},
    visible_here,
};

/// Between two readings of the clock, as a share of the faster one, at which a measurement in
/// between is no measurement of one GPU.
const CLOCK_CHANGE: f64 = 0.1;

/// Share of the multiprocessors, percent, from which another process disturbs.
const FOREIGN_LOAD: u32 = 5;

/// How the GPU ran at one moment; what the driver does not tell is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Condition {
    pub sm_mhz: Option<u32>,
    pub memory_mhz: Option<u32>,
    pub celsius: Option<u32>,
    /// Clocks are held down because of heat.
    pub too_hot: bool,
    /// Clocks are held down by the server's power supply.
    pub power_brake: bool,
    /// Clocks follow the power that the running kernels draw, which is their own doing.
    pub power_cap: bool,
    /// Nothing ran, so that clocks mean nothing.
    pub idle: bool,
}

/// A process that has a context on the GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tenant {
    pub pid: u32,
    /// Percent of the time for which it kept multiprocessors busy, at most within the last second.
    pub load: u32,
}

/// For how long a load is remembered: several look at the same time and each must see it,
/// microseconds.
const LOAD_KEPT_US: u64 = 1_000_000;

/// Loads of processes, as they were sampled last.
#[derive(Debug, Default)]
struct Loads {
    /// Of the latest sample, microseconds.
    latest: u64,
    /// When, whose, percent.
    recent: Vec<(u64, u32, u32)>,
}

impl Loads {
    /// Takes samples down, those that were taken down before too.
    fn take(&mut self, samples: impl IntoIterator<Item = (u64, u32, u32)>) {
        let before = self.latest;
        self.recent.extend(samples.into_iter().filter(|(at, ..)| *at > before));
        self.latest = self.recent.iter().map(|(at, ..)| *at).max().unwrap_or(0).max(before);
        let oldest = self.latest.saturating_sub(LOAD_KEPT_US);
        self.recent.retain(|(at, ..)| *at >= oldest);
    }

    fn of(&self, pid: u32) -> u32 {
        let own = self.recent.iter().filter(|(_, whose, _)| *whose == pid);
        own.map(|(_, _, load)| *load).max().unwrap_or(0)
    }
}

/// Reads one GPU.
pub trait Sensor: fmt::Debug + Send + Sync {
    /// Some tens of microseconds.
    fn condition(&self) -> Condition;

    /// A millisecond or so. Empty where the driver does not tell.
    fn tenants(&self) -> Vec<Tenant>;

    /// Whether a process is one of ours; `None` where that cannot be known, for example because
    /// the driver counts processes of another namespace.
    fn is_ours(&self, pid: u32) -> Option<bool>;
}

/// The GPU with this number in CUDA's order through NVML.
#[derive(Debug)]
pub struct NvmlSensor {
    nvml: Nvml,
    index: u32,
    loads: Mutex<Loads>,
}

impl NvmlSensor {
    /// For `cuda:index` of this process.
    pub fn open(index: u32) -> Result<Self, NoGpu> {
        let found = inventory()?;
        let gpu = visible_here(&found.gpus).get(index as usize).map(|gpu| gpu.index);
        let index = gpu.ok_or_else(|| NoGpu(format!("the NVIDIA driver shows no GPU {index}")))?;
        let nvml = load().map_err(|error| NoGpu(explain(&error)))?;
        Ok(Self { nvml, index, loads: Mutex::default() })
    }
}

impl Sensor for NvmlSensor {
    fn condition(&self) -> Condition {
        let Ok(device) = self.nvml.device_by_index(self.index) else {
            return Condition::default();
        };
        let reasons = device.current_throttle_reasons().unwrap_or(ThrottleReasons::empty());
        let hot = ThrottleReasons::HW_THERMAL_SLOWDOWN | ThrottleReasons::SW_THERMAL_SLOWDOWN;
        Condition {
            sm_mhz: device.clock_info(Clock::SM).ok(),
            memory_mhz: device.clock_info(Clock::Memory).ok(),
            celsius: device.temperature(TemperatureSensor::Gpu).ok(),
            too_hot: reasons.intersects(hot),
            power_brake: reasons.intersects(ThrottleReasons::HW_POWER_BRAKE_SLOWDOWN),
            power_cap: reasons.intersects(ThrottleReasons::SW_POWER_CAP),
            idle: reasons.intersects(ThrottleReasons::GPU_IDLE),
        }
    }

    fn tenants(&self) -> Vec<Tenant> {
        let Ok(gpu) = self.nvml.device_by_index(self.index) else { return Vec::new() };
        // Loads are not told for an instance of a GPU (MIG), nor where nothing ran.
        let mut loads = self.loads.lock().unwrap_or_else(PoisonError::into_inner);
        let samples = gpu.process_utilization_stats(loads.latest).unwrap_or_default();
        loads.take(samples.iter().map(|sample| (sample.timestamp, sample.pid, sample.sm_util)));
        let running = gpu.running_compute_processes().unwrap_or_default();
        let pids: BTreeSet<u32> = running.iter().map(|process| process.pid).collect();
        pids.into_iter().map(|pid| Tenant { pid, load: loads.of(pid) }).collect()
    }

    fn is_ours(&self, pid: u32) -> Option<bool> {
        descends_from(pid, std::process::id())
    }
}

/// Whether `pid` is `ancestor` or a descendant of it; `None` for a process that is not to be seen.
fn descends_from(pid: u32, ancestor: u32) -> Option<bool> {
    let mut at = pid;
    // Longer chains are no process trees.
    for _ in 0..64 {
        if at == ancestor {
            return Some(true);
        }
        let parent = parent_of(at);
        match parent {
            Some(0) => return Some(false),
            Some(parent) => at = parent,
            None if at == pid => return None,
            None => return Some(false),
        }
    }
    Some(false)
}

fn parent_of(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name of the program stands in parentheses and may hold any character.
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

/// Watches over measurements on one GPU, or over none where there is nothing to read.
#[derive(Debug, Default)]
pub struct Monitor {
    sensor: Option<Box<dyn Sensor>>,
    /// Who was there before anything of ours.
    strangers: BTreeSet<u32>,
}

impl Monitor {
    /// Over `cuda:index`. Begin before any process of ours has a context there.
    pub fn begin(index: u32) -> Result<Self, NoGpu> {
        Ok(Self::over(Box::new(NvmlSensor::open(index)?)))
    }

    pub fn over(sensor: Box<dyn Sensor>) -> Self {
        let tenants = sensor.tenants().into_iter();
        let strangers = tenants.map(|tenant| tenant.pid);
        let strangers = strangers.filter(|pid| sensor.is_ours(*pid) != Some(true)).collect();
        Self { sensor: Some(sensor), strangers }
    }

    /// To be compared with what is after a measurement.
    pub fn condition(&self) -> Condition {
        self.sensor.as_ref().map(|sensor| sensor.condition()).unwrap_or_default()
    }

    /// Other people's processes on the GPU.
    pub fn foreign(&self) -> Vec<Tenant> {
        let Some(sensor) = &self.sensor else { return Vec::new() };
        let mut tenants = sensor.tenants();
        tenants.retain(|tenant| match sensor.is_ours(tenant.pid) {
            Some(ours) => !ours,
            None => self.strangers.contains(&tenant.pid),
        });
        tenants
    }

    /// Somebody else's process that keeps the GPU busy.
    fn rival(&self) -> Option<Tenant> {
        self.foreign().into_iter().find(|tenant| tenant.load >= FOREIGN_LOAD)
    }

    /// Whether somebody else keeps the GPU busy, as far as the driver tells loads.
    pub fn is_shared(&self) -> bool {
        self.rival().is_some()
    }

    /// What disturbed a measurement since `before`, in words.
    pub fn disturbance(&self, before: &Condition) -> Option<String> {
        let after = self.condition();
        if let Some(tenant) = self.rival() {
            return Some(format!(
                "process {} used {} % of the GPU",
                named(tenant.pid),
                tenant.load
            ));
        }
        if after.too_hot {
            let heat = after.celsius.map(|celsius| format!(" at {celsius} °C"));
            return Some(format!("the GPU ran slower, too hot{}", heat.unwrap_or_default()));
        }
        if after.power_brake {
            return Some("the GPU ran slower, its power supply asked for it".into());
        }
        if before.idle || after.idle || before.power_cap || after.power_cap {
            return None;
        }
        let clocks =
            [("", before.sm_mhz, after.sm_mhz), ("memory ", before.memory_mhz, after.memory_mhz)];
        clocks.into_iter().find_map(|(what, before, after)| {
            let (before, after) = (before?, after?);
            let change = f64::from(before.abs_diff(after)) / f64::from(before.max(after).max(1));
            (change > CLOCK_CHANGE)
                .then(|| format!("the {what}clock went from {before} to {after} MHz"))
        })
    }
}

/// `1234 (python3)`.
pub fn named(pid: u32) -> String {
    match fs::read_to_string(format!("/proc/{pid}/comm")) {
        Ok(name) => format!("{pid} ({})", name.trim()),
        Err(_) => pid.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A GPU on which 100 is ours, 200 somebody else's, and others cannot be seen.
    #[derive(Debug, Default)]
    struct Fake {
        condition: Condition,
        tenants: Mutex<Vec<Vec<Tenant>>>,
    }

    impl Sensor for Fake {
        fn condition(&self) -> Condition {
            self.condition
        }

        fn tenants(&self) -> Vec<Tenant> {
            let mut looks = self.tenants.lock().unwrap();
            if looks.len() > 1 {
                looks.remove(0)
            } else {
                looks.first().cloned().unwrap_or_default()
            }
        }

        fn is_ours(&self, pid: u32) -> Option<bool> {
            match pid {
                100 => Some(true),
                200 => Some(false),
                _ => None,
            }
        }
    }

    const CALM: Condition = Condition {
        sm_mhz: Some(1980),
        memory_mhz: Some(3201),
        celsius: Some(45),
        too_hot: false,
        power_brake: false,
        power_cap: false,
        idle: false,
    };

    fn after(condition: Condition) -> Option<String> {
        Monitor::over(Box::new(Fake { condition, ..Fake::default() })).disturbance(&CALM)
    }

    #[test]
    fn a_calm_gpu_disturbs_nothing_and_neither_does_one_that_cannot_be_read() {
        assert_eq!(after(CALM), None);
        assert_eq!(after(Condition { sm_mhz: Some(1950), ..CALM }), None);
        assert_eq!(after(Condition::default()), None);
        assert_eq!(Monitor::default().disturbance(&CALM), None);
        assert_eq!(Monitor::default().foreign(), []);
    }

    #[test]
    fn heat_power_and_a_clock_that_changed_are_told_with_their_numbers() {
        let hot = after(Condition { too_hot: true, celsius: Some(91), ..CALM }).unwrap();
        assert!(hot.contains("91 °C"), "{hot}");
        assert!(after(Condition { power_brake: true, ..CALM }).is_some());
        let slower = Condition { sm_mhz: Some(1200), ..CALM };
        assert!(after(slower).unwrap().contains("from 1980 to 1200 MHz"));
        assert!(after(Condition { memory_mhz: Some(1600), ..CALM }).unwrap().contains("memory"));
        let drawn = Condition { power_cap: true, ..slower };
        assert_eq!(after(drawn), None, "kernels that draw much power slow themselves down");
        assert_eq!(after(Condition { idle: true, ..slower }), None);
    }

    #[test]
    fn foreign_is_who_is_not_ours_and_who_was_there_before() {
        let at = |pid, load| Tenant { pid, load };
        let looks = vec![
            vec![at(300, 0)],
            vec![at(100, 99), at(200, 1), at(300, 0), at(400, 90)],
            vec![at(100, 99), at(200, 40)],
        ];
        let fake = Fake { condition: CALM, tenants: Mutex::new(looks) };
        let monitor = Monitor::over(Box::new(fake));
        let foreign: Vec<u32> = monitor.foreign().iter().map(|tenant| tenant.pid).collect();
        assert_eq!(foreign, [200, 300], "400 may be ours in another namespace");
        assert!(monitor.disturbance(&CALM).unwrap().contains("200 used 40 %"));
        assert!(monitor.is_shared());
    }

    #[test]
    fn a_load_is_seen_by_all_who_look_within_a_second() {
        let mut loads = Loads::default();
        loads.take([(1_000_000, 200, 40), (1_100_000, 300, 2)]);
        assert_eq!((loads.of(200), loads.of(300), loads.of(400)), (40, 2, 0));
        loads.take([(1_000_000, 200, 40), (1_500_000, 200, 10)]);
        assert_eq!(loads.of(200), 40, "a sample that comes again is one sample");
        loads.take([(2_300_000, 300, 1)]);
        assert_eq!((loads.of(200), loads.of(300)), (10, 1));
        loads.take([]);
        assert_eq!(loads.of(200), 10);
    }

    #[test]
    fn a_process_descends_from_those_that_started_it() {
        let own = std::process::id();
        assert_eq!(descends_from(own, own), Some(true));
        assert_eq!(descends_from(own, parent_of(own).unwrap()), Some(true));
        assert_eq!(descends_from(1, own), Some(false));
        assert_eq!(descends_from(u32::MAX, own), None);
    }
}
