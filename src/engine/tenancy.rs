//! A GPU that somebody else is using.

use std::time::Duration;

use crate::{
    evaluate::Device,
    gpu::{Monitor, Tenant, named},
};

/// How often to look while waiting.
const INTERVAL: Duration = Duration::from_secs(2);

/// Looks for other people's processes on `device` before anything of ours is there; with `wait` it
/// returns when they are gone. `note` gets what a person should know, each thing once.
pub fn look_for_tenants(device: Device, wait: bool, mut note: impl FnMut(&str)) {
    let Device::Cuda { index, .. } = device else { return };
    match Monitor::begin(index) {
        Ok(monitor) => {
            await_free(|| monitor.foreign(), || std::thread::sleep(INTERVAL), wait, note)
        }
        Err(reason) => note(&format!(
            "clocks, heat and other processes on the GPU cannot be watched: {reason}"
        )),
    }
}

fn await_free(
    mut foreign: impl FnMut() -> Vec<Tenant>,
    mut pause: impl FnMut(),
    wait: bool,
    mut note: impl FnMut(&str),
) {
    let mut told = Vec::new();
    loop {
        let pids: Vec<u32> = foreign().iter().map(|tenant| tenant.pid).collect();
        if pids.is_empty() {
            return;
        }
        if pids != told {
            let names: Vec<String> = pids.iter().map(|pid| named(*pid)).collect();
            let (names, many) = (names.join(", "), pids.len() > 1);
            let who =
                if many { format!("processes {names} are") } else { format!("process {names} is") };
            note(&if wait {
                format!("waiting for the GPU: {who} using it")
            } else {
                format!(
                    "warning: {who} using the GPU, which disturbs what is measured; \
                     --wait-for-gpu waits until it is free"
                )
            });
            told = pids;
        }
        if !wait {
            return;
        }
        pause();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is noted while one look after another finds these processes.
    fn noted(looks: &[&[u32]], wait: bool) -> (Vec<String>, usize) {
        let (mut notes, mut pauses, mut at) = (Vec::new(), 0, 0);
        let foreign = || {
            let look = looks.get(at).copied().unwrap_or_default();
            at += 1;
            look.iter().map(|pid| Tenant { pid: *pid, load: 0 }).collect()
        };
        await_free(foreign, || pauses += 1, wait, |text| notes.push(text.to_owned()));
        (notes, pauses)
    }

    // Numbers that no process has, so that none has a name.
    const ONE: u32 = 4_194_305;
    const OTHER: u32 = 4_194_306;

    #[test]
    fn a_free_gpu_is_nothing_to_speak_of() {
        assert_eq!(noted(&[], true), (vec![], 0));
        assert_eq!(noted(&[], false), (vec![], 0));
    }

    #[test]
    fn somebody_elses_process_is_a_warning_with_its_number() {
        let (notes, pauses) = noted(&[&[ONE], &[ONE]], false);
        assert_eq!((notes.len(), pauses), (1, 0));
        assert!(notes[0].contains("process 4194305 is using the GPU"), "{}", notes[0]);
        assert!(notes[0].contains("--wait-for-gpu"));
    }

    #[test]
    fn waiting_ends_when_everybody_is_gone_and_says_so_once() {
        let (notes, pauses) = noted(&[&[ONE, OTHER], &[ONE, OTHER], &[OTHER], &[]], true);
        assert_eq!(pauses, 3);
        let expected = ["processes 4194305, 4194306 are", "process 4194306 is"];
        assert_eq!(notes.len(), 2);
        assert!(notes.iter().zip(expected).all(|(note, who)| note.contains(who)), "{notes:?}");
    }
}
