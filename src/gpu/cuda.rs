//! What the CUDA driver says about a device. Its library is loaded when it is there: the binary
//! also runs where it is not.

use cudarc::driver::{
    result,
    sys::{self, CUdevice_attribute as Attribute, CUresult},
};

use super::NoGpu;

/// One CUDA device, in the driver's own words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceFacts {
    /// As the driver counts under `CUDA_VISIBLE_DEVICES` and `CUDA_DEVICE_ORDER`, and so as torch
    /// does: `cuda:0`, `cuda:1` …
    pub index: u32,
    /// `GPU-1a2b…`, or `MIG-…` for an instance of a split GPU.
    pub uuid: String,
    pub name: String,
    pub compute_capability: (u32, u32),
    /// Streaming multiprocessors.
    pub sm_count: u32,
    pub l2_bytes: u64,
    /// Highest clock of the multiprocessors, kHz; `None` where the driver does not say.
    pub sm_clock_khz: Option<u32>,
    /// Highest clock of the memory, kHz; it moves two words a clock.
    pub memory_clock_khz: Option<u32>,
    /// Width of the memory's bus, bits.
    pub memory_bus_bits: Option<u32>,
    /// The CUDA version that the driver supports.
    pub cuda_version: (u32, u32),
    /// An instance of a split GPU: it shares the memory's bandwidth with others.
    pub mig: bool,
}

impl DeviceFacts {
    /// GB/s that the memory's bus can carry: clock × 2 words a clock × width.
    pub fn theoretical_gbps(&self) -> Option<f64> {
        let bytes = f64::from(self.memory_bus_bits?) / 8.0;
        Some(2.0 * f64::from(self.memory_clock_khz?) * bytes * 1e-6)
    }

    /// The clocks that ceilings hold for: `1980/3201 MHz`, multiprocessors and memory.
    pub fn clocks(&self) -> String {
        let mhz = |khz: Option<u32>| khz.map_or_else(|| "?".into(), |khz| (khz / 1000).to_string());
        format!("{}/{} MHz", mhz(self.sm_clock_khz), mhz(self.memory_clock_khz))
    }
}

/// The oldest driver that the CUDA builds of torch 2 can be had for.
const LEAST_CUDA: (u32, u32) = (12, 0);

/// The functions of the driver that are called here. The bindings end the process where one is
/// missing, so each is looked for beforehand.
const FUNCTIONS: [&str; 9] = [
    "cuInit",
    "cuDriverGetVersion",
    "cuDeviceGetCount",
    "cuDeviceGet",
    "cuDeviceGetName",
    "cuDeviceGetAttribute",
    "cuDeviceGetUuid",
    "cuDeviceGetUuid_v2",
    "cuGetErrorString",
];

/// The facts of `cuda:index`. Takes some hundred milliseconds at its first call and creates no
/// context.
pub fn device_facts(index: u32) -> Result<DeviceFacts, NoGpu> {
    let cuda_version = load()?;
    result::init().map_err(|error| NoGpu(explain(error.0)))?;
    let count = result::device::get_count().map_err(|error| NoGpu(explain(error.0)))?;
    let ordinal =
        i32::try_from(index).ok().filter(|ordinal| *ordinal < count).ok_or_else(|| {
            NoGpu(format!(
                "there is no cuda:{index}; CUDA shows {count} device(s) here (CUDA_VISIBLE_DEVICES \
             chooses; a GPU that is split by MIG shows its instances only when they exist)"
            ))
        })?;
    examine(index, ordinal, cuda_version).map_err(|error| NoGpu(explain(error.0)))
}

/// Makes sure that the driver's library can be called; the CUDA version that it supports.
fn load() -> Result<(u32, u32), NoGpu> {
    let missing = || NoGpu("no NVIDIA driver: its library libcuda.so.1 is not installed".into());
    let too_old = |version: &str| {
        NoGpu(format!(
            "the NVIDIA driver is too old{version}: torch needs one for CUDA {}.{} or later; update it",
            LEAST_CUDA.0, LEAST_CUDA.1
        ))
    };
    #[expect(unsafe_code, reason = "loads the driver's library, and looks up names in it")]
    // SAFETY: the driver's library may be loaded by any process; symbols are looked at, not called.
    let complete = unsafe {
        if !sys::is_culib_present() {
            return Err(missing());
        }
        let library = sys::culib();
        FUNCTIONS.iter().all(|name| library.get::<unsafe extern "C" fn()>(name.as_bytes()).is_ok())
    };
    if !complete {
        return Err(too_old(""));
    }
    let mut packed = 0;
    #[expect(unsafe_code, reason = "a call of the driver")]
    // SAFETY: writes one integer to the address that it gets.
    unsafe { sys::cuDriverGetVersion(&raw mut packed) }
        .result()
        .map_err(|error| NoGpu(explain(error.0)))?;
    let version = unpack(packed);
    if version < LEAST_CUDA {
        return Err(too_old(&format!(" (CUDA {}.{})", version.0, version.1)));
    }
    Ok(version)
}

/// 13020 is CUDA 13.2.
fn unpack(version: i32) -> (u32, u32) {
    let version = u32::try_from(version).unwrap_or(0);
    (version / 1000, version % 1000 / 10)
}

fn examine(
    index: u32,
    ordinal: i32,
    cuda_version: (u32, u32),
) -> Result<DeviceFacts, result::DriverError> {
    let device = result::device::get(ordinal)?;
    let attribute = |which: Attribute| {
        #[expect(unsafe_code, reason = "a call of the driver")]
        // SAFETY: `device` is what the driver just gave.
        let value = unsafe { result::device::get_attribute(device, which) };
        value.map(|value| u32::try_from(value).unwrap_or(0))
    };
    let known = |which| attribute(which).ok().filter(|value| *value > 0);
    let whole = result::device::get_uuid(device)?;
    let mut own = sys::CUuuid { bytes: [0; 16] };
    #[expect(unsafe_code, reason = "a call of the driver")]
    // SAFETY: writes 16 bytes to the address of a value of that size.
    unsafe { sys::cuDeviceGetUuid_v2(&raw mut own, device) }.result()?;
    let mig = own.bytes != whole.bytes;
    Ok(DeviceFacts {
        index,
        uuid: format!("{}-{}", if mig { "MIG" } else { "GPU" }, hyphenated(own.bytes)),
        name: result::device::get_name(device)?,
        compute_capability: (
            attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
            attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
        ),
        sm_count: attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
        l2_bytes: u64::from(attribute(Attribute::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)?),
        sm_clock_khz: known(Attribute::CU_DEVICE_ATTRIBUTE_CLOCK_RATE),
        memory_clock_khz: known(Attribute::CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE),
        memory_bus_bits: known(Attribute::CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH),
        cuda_version,
        mig,
    })
}

/// `1a2b3c4d-0011-2233-4455-66778899aabb`, as NVML and `nvidia-smi` write it.
fn hyphenated<Byte: ToByte>(bytes: [Byte; 16]) -> String {
    let hex: String = bytes.iter().map(|byte| format!("{:02x}", byte.to_byte())).collect();
    [0..8, 8..12, 12..16, 16..20, 20..32].map(|part| hex[part].to_owned()).join("-")
}

/// C's `char` is signed on some platforms and not on others.
trait ToByte {
    fn to_byte(&self) -> u8;
}

impl ToByte for i8 {
    fn to_byte(&self) -> u8 {
        self.cast_unsigned()
    }
}

impl ToByte for u8 {
    fn to_byte(&self) -> u8 {
        *self
    }
}

/// What a failure of the driver means to a user.
fn explain(error: CUresult) -> String {
    match error {
        CUresult::CUDA_ERROR_NO_DEVICE => {
            "the NVIDIA driver shows no device; CUDA_VISIBLE_DEVICES may hide it, and a GPU in MIG \
             mode needs an instance"
                .into()
        }
        CUresult::CUDA_ERROR_STUB_LIBRARY => {
            "the libcuda that was found is a stub of the CUDA toolkit: take its folder out of \
             LD_LIBRARY_PATH, so that the driver's is found"
                .into()
        }
        CUresult::CUDA_ERROR_SYSTEM_DRIVER_MISMATCH => {
            "the NVIDIA driver's library and its kernel module are of different versions: reboot, or \
             load the module anew"
                .into()
        }
        CUresult::CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE => {
            "CUDA's compatibility package does not support this GPU: take it out of LD_LIBRARY_PATH"
                .into()
        }
        other => format!("the NVIDIA driver does not answer ({other:?}); `nvidia-smi` says more"),
    }
}

/// What to say of a host whose GPUs differ, since results of one do not hold for another; `None`
/// where they are of one kind.
pub fn mixed_kinds(gpus: &[super::Gpu]) -> Option<String> {
    let mut kinds: Vec<&str> = gpus.iter().map(|gpu| gpu.name.as_str()).collect();
    kinds.sort_unstable();
    kinds.dedup();
    (kinds.len() > 1).then(|| {
        format!(
            "this host has GPUs of different kinds ({}): results hold for the one that --device \
             chooses; CUDA puts the fastest first unless CUDA_DEVICE_ORDER=PCI_BUS_ID",
            kinds.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn h200() -> DeviceFacts {
        DeviceFacts {
            index: 0,
            uuid: "GPU-1a2b3c4d-0011-2233-4455-66778899aabb".into(),
            name: "NVIDIA H200".into(),
            compute_capability: (9, 0),
            sm_count: 132,
            l2_bytes: 60 << 20,
            sm_clock_khz: Some(1_980_000),
            memory_clock_khz: Some(3_201_000),
            memory_bus_bits: Some(6144),
            cuda_version: (13, 0),
            mig: false,
        }
    }

    #[test]
    fn a_host_answers_with_facts_or_with_the_reason_why_not() {
        match device_facts(0) {
            Ok(facts) => assert!(facts.sm_count > 0 && facts.uuid.len() == 40, "{facts:?}"),
            Err(NoGpu(reason)) => assert!(reason.contains("NVIDIA driver"), "{reason}"),
        }
    }

    #[test]
    fn theoretical_bandwidth_is_two_words_a_clock_times_the_bus() {
        let gbps = h200().theoretical_gbps().unwrap();
        assert!((gbps - 4916.7).abs() < 0.1, "{gbps}");
        let silent = DeviceFacts { memory_clock_khz: None, ..h200() };
        assert_eq!(silent.theoretical_gbps(), None);
        assert_eq!(silent.clocks(), "1980/? MHz");
    }

    #[test]
    fn uuids_are_written_as_nvidia_smi_writes_them() {
        let mut bytes = [0_u8; 16];
        bytes[0] = 0x1a;
        bytes[15] = 0xbb;
        assert_eq!(hyphenated(bytes), "1a000000-0000-0000-0000-0000000000bb");
        assert_eq!(hyphenated([-1_i8; 16]), "ffffffff-ffff-ffff-ffff-ffffffffffff");
    }

    #[test]
    fn versions_and_errors_are_put_into_words() {
        assert_eq!(unpack(12_080), (12, 8));
        assert_eq!(unpack(13_000), (13, 0));
        assert!(explain(CUresult::CUDA_ERROR_NO_DEVICE).contains("MIG"));
        assert!(explain(CUresult::CUDA_ERROR_STUB_LIBRARY).contains("LD_LIBRARY_PATH"));
        assert!(explain(CUresult::CUDA_ERROR_UNKNOWN).contains("nvidia-smi"));
    }
}
