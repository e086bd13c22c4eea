//! `CUDA_VISIBLE_DEVICES`: CUDA obeys it and NVML does not.

use super::Gpu;

/// The GPUs of `gpus` that CUDA shows under `setting`, in CUDA's order: number 0 here is `cuda:0`
/// (with `CUDA_DEVICE_ORDER=PCI_BUS_ID`). As CUDA does, stops at the first entry that names none;
/// entries are indices or beginnings of UUIDs.
pub fn visible<'g>(gpus: &'g [Gpu], setting: Option<&str>) -> Vec<&'g Gpu> {
    let Some(setting) = setting else { return gpus.iter().collect() };
    let mut shown: Vec<&Gpu> = Vec::new();
    for entry in setting.split(',').map(str::trim) {
        let named = match entry.parse::<u32>() {
            Ok(index) => gpus.iter().find(|gpu| gpu.index == index),
            Err(_) if entry.is_empty() => None,
            Err(_) => gpus.iter().find(|gpu| gpu.uuid.starts_with(entry)),
        };
        match named {
            // CUDA shows nothing at all when one is named twice.
            Some(gpu) if shown.contains(&gpu) => return Vec::new(),
            Some(gpu) => shown.push(gpu),
            None => break,
        }
    }
    shown
}

/// [`visible`] under this process's own environment.
pub fn visible_here(gpus: &[Gpu]) -> Vec<&Gpu> {
    visible(gpus, std::env::var("CUDA_VISIBLE_DEVICES").ok().as_deref())
}
