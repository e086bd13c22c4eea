use std::{fs, path::PathBuf};

use nvml_wrapper::error::NvmlError;

use super::{inventory::explain, profiler::*, *};

fn gpu(index: u32, uuid: &str) -> Gpu {
    Gpu {
        index,
        uuid: uuid.into(),
        name: "NVIDIA H200".into(),
        compute_capability: Some((9, 0)),
        memory_total: 150 << 30,
        memory_free: 149 << 30,
        mig: false,
        processes: vec![],
    }
}

#[test]
fn a_host_answers_with_gpus_or_with_the_reason_why_not() {
    match inventory() {
        Ok(inventory) => {
            assert!(!inventory.driver_version.is_empty());
            assert!(inventory.gpus.iter().all(|gpu| gpu.uuid.starts_with("GPU-")));
        }
        Err(NoGpu(reason)) => assert!(reason.contains("NVIDIA"), "{reason}"),
    }
}

#[test]
fn reasons_tell_a_missing_driver_from_a_silent_one() {
    assert!(explain(&NvmlError::DriverNotLoaded).contains("not loaded"));
    assert!(explain(&NvmlError::NoPermission).contains("/dev/nvidia"));
    assert!(explain(&NvmlError::Unknown).contains("does not answer"));
}

#[test]
fn cuda_visible_devices_is_read_as_cuda_reads_it() {
    let gpus = [gpu(0, "GPU-aaaa"), gpu(1, "GPU-abcd"), gpu(2, "GPU-cccc")];
    let shown = |setting| visible(&gpus, setting).iter().map(|gpu| gpu.index).collect::<Vec<_>>();
    let nothing: [u32; 0] = [];
    assert_eq!(shown(None), [0, 1, 2]);
    assert_eq!(shown(Some("2,0")), [2, 0]);
    assert_eq!(shown(Some(" GPU-ab , 0")), [1, 0]);
    assert_eq!(shown(Some("")), nothing);
    assert_eq!(shown(Some("1,-1,0")), [1], "what follows an invalid entry is hidden");
    assert_eq!(shown(Some("1,GPU-abcd")), nothing, "naming one twice hides all");
    assert_eq!(shown(Some("nonsense")), nothing);
}

#[test]
fn the_drivers_parameters_say_who_may_profile() {
    let parameters =
        |value| format!("EnableMSI: 1\nRmProfilingAdminOnly: {value}\nDmaRemapPeerMmio: 1\n");
    assert_eq!(permission_in(&parameters("1")), ProfilingPermission::AdminOnly);
    assert_eq!(permission_in(&parameters("0")), ProfilingPermission::Everyone);
    assert_eq!(permission_in(""), ProfilingPermission::Unknown);
}

#[test]
fn nsight_compute_is_found_on_path_first_and_then_the_newest_installed() {
    let root = tempfile::tempdir().unwrap();
    let install = |place: &str| -> PathBuf {
        let file = root.path().join(place);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, "").unwrap();
        file
    };
    let local = root.path().join("local");
    let opt = root.path().join("opt");
    let roots = [local.clone(), opt.clone()];
    assert_eq!(ncu_in(None, &roots), None);
    fs::create_dir_all(root.path().join("path/ncu")).unwrap();
    let path = root.path().join("path").into_os_string();
    assert_eq!(ncu_in(Some(&path), &roots), None, "a folder of that name is no program");

    install("opt/nsight-compute/2024.3.0/ncu");
    let newer = install("opt/nsight-compute/2025.1.0/ncu");
    assert_eq!(ncu_in(Some(&path), &roots), Some(newer));
    let cuda = install("local/cuda-13.0/bin/ncu");
    assert_eq!(ncu_in(Some(&path), &roots), Some(cuda));
    let own = install("bin/ncu");
    let path = root.path().join("bin").into_os_string();
    assert_eq!(ncu_in(Some(&path), &roots), Some(own));
}
