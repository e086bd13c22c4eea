use super::*;

#[test]
fn timings_are_comparable_until_device_driver_or_triton_change() {
    let before = Environment {
        kind: "cuda".into(),
        device: "NVIDIA H200".into(),
        driver: Some("570.86".into()),
        torch: "2.11.0".into(),
        triton: "3.6.0".into(),
        kernelbrain: "0.1.0".into(),
    };
    let mut later = Environment { kernelbrain: "0.2.0".into(), ..before.clone() };
    assert_eq!(before.reset_against(&later), None);
    later.driver = None;
    later.triton = "3.7.0".into();
    assert_eq!(
        before.reset_against(&later).unwrap(),
        "driver was 570.86 and is none; triton was 3.6.0 and is 3.7.0"
    );
}

#[test]
fn the_default_database_lies_in_the_users_data_folder() {
    let path = default_path().unwrap();
    assert!(path.ends_with("kernelbrain/kernelbrain.db"), "{}", path.display());
}
