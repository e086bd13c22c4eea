//! How a process is asked to end.

use tokio::signal::unix::{SignalKind, signal};

use crate::{engine::exit, search::StopSwitch};

/// Asked once, `switch` is turned; asked again, the process ends at once.
pub(super) fn on_signal(switch: StopSwitch) {
    tokio::spawn(async move {
        if asked_to_stop().await {
            eprintln!("stopping; the state is kept (Ctrl-C again: at once)");
            switch.stop();
        }
        if asked_to_stop().await {
            // Every child process ends when its connection to this one does.
            std::process::exit(i32::from(exit::INTERRUPTED));
        }
    });
}

/// Waits for Ctrl-C or a request to end (SIGTERM); false where neither can be heard.
async fn asked_to_stop() -> bool {
    let Ok(mut terminated) = signal(SignalKind::terminate()) else {
        return tokio::signal::ctrl_c().await.is_ok();
    };
    tokio::select! {
        interrupted = tokio::signal::ctrl_c() => interrupted.is_ok(),
        _ = terminated.recv() => true,
    }
}

/// Ends this process, at once, when its standard input is closed.
pub(super) fn end_with_stdin() {
    std::thread::spawn(|| {
        let mut stdin = std::io::stdin().lock();
        // Whatever is written there means nothing.
        std::io::copy(&mut stdin, &mut std::io::sink()).ok();
        // Every child process ends when its connection to this one does.
        std::process::exit(i32::from(exit::INTERRUPTED));
    });
}
