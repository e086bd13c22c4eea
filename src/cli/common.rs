//! What several subcommands share: options, the runtime, text from elsewhere.

use std::{
    future::Future,
    io::{IsTerminal, Write},
    path::PathBuf,
    time::Duration,
};

use crate::{
    engine::{DeviceChoice, EngineError, look_for_tenants, machine},
    evaluate::{Device, Interpreter},
    report::terminal,
};

/// Where to run.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct MachineOptions {
    /// auto, cpu (Triton's interpreter), cuda or cuda:N
    #[arg(long, default_value = "auto")]
    pub(super) device: DeviceChoice,
    /// Python with torch and triton
    #[arg(long, env = machine::PYTHON_VARIABLE, value_name = "PATH")]
    pub(super) python: Option<PathBuf>,
    /// What to do where the kernel cannot confine candidate code completely
    #[arg(long, default_value = "required", value_name = "MODE")]
    pub(super) sandbox: SandboxMode,
    /// Wait while another process is using the GPU
    #[arg(long)]
    pub(super) wait_for_gpu: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum SandboxMode {
    /// Refuse to run
    Required,
    /// Go on, and say what is not protected
    BestEffort,
}

impl MachineOptions {
    /// The device, free of other people's processes if that was asked for.
    pub(super) fn device(&self) -> Result<Device, EngineError> {
        let device = self.device.resolve()?;
        look_for_tenants(device, self.wait_for_gpu, |text| eprintln!("{}", printable(text)));
        Ok(device)
    }

    pub(super) fn interpreter(&self) -> Result<Interpreter, EngineError> {
        let named = machine::named_python(self.python.clone());
        machine::find_python(named.as_deref())
    }
}

/// Parses `90s`, `10m`, `1h 30m`; a bare number is seconds.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let parsed = match text.parse::<u64>() {
        Ok(seconds) => Ok(Duration::from_secs(seconds)),
        Err(_) => humantime::parse_duration(text),
    };
    match parsed {
        Ok(duration) if !duration.is_zero() => Ok(duration),
        Ok(_) => Err("must be more than nothing".into()),
        Err(error) => Err(format!("{error}; write 90s, 10m or 1h 30m")),
    }
}

/// A setting that can be switched off.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum OrOff<T> {
    At(T),
    Off,
}

impl<T> OrOff<T> {
    pub(super) fn value(self) -> Option<T> {
        match self {
            Self::At(value) => Some(value),
            Self::Off => None,
        }
    }
}

impl<T: std::str::FromStr> std::str::FromStr for OrOff<T> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "off" => Ok(Self::Off),
            _ => text.parse().map(Self::At).map_err(|_| "expected a number, or off".to_owned()),
        }
    }
}

/// Writes to standard output. Whoever reads it may have seen enough (`kernelbrain runs | head`):
/// then there is nobody to write to, and nothing wrong.
pub(super) fn show(text: &str) {
    let mut stdout = std::io::stdout().lock();
    let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    if written.is_err_and(|error| error.kind() != std::io::ErrorKind::BrokenPipe) {
        eprintln!("error: cannot write to standard output");
    }
}

/// How the summary is shown on standard output.
pub(super) fn terminal_style() -> terminal::Style {
    let on_terminal = std::io::stdout().is_terminal();
    let columns = usize::from(console::Term::stdout().size().1);
    terminal::Style {
        colour: on_terminal && std::env::var_os("NO_COLOR").is_none(),
        width: if on_terminal { columns } else { 100 },
    }
}

/// Runs `future` to its end on a runtime of its own.
pub(super) fn block_on<T>(
    future: impl Future<Output = Result<T, EngineError>>,
) -> Result<T, EngineError> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| EngineError::Environment(format!("cannot start a runtime: {error}")))?
        .block_on(future)
}

/// Text that may hold somebody else's words, without control characters that a terminal obeys.
pub(super) fn printable(text: &str) -> String {
    text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_people_write_them() {
        assert_eq!(duration("90"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("1h 30m"), Ok(Duration::from_secs(5400)));
        assert!(duration("0s").unwrap_err().contains("more than nothing"));
        assert!(duration("ten").unwrap_err().contains("write 90s"));
    }

    #[test]
    fn a_rule_is_a_number_or_off() {
        assert_eq!("1.05".parse(), Ok(OrOff::At(1.05)));
        assert_eq!("off".parse::<OrOff<u64>>().map(OrOff::value), Ok(None));
        assert!("1.5".parse::<OrOff<u64>>().unwrap_err().contains("or off"));
    }

    #[test]
    fn escape_sequences_do_not_reach_a_terminal() {
        assert_eq!(printable("a\u{1b}[31mb\nc\u{7}"), "a[31mb\nc");
    }
}
