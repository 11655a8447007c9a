//! The signals of a running server.
//!
//! Invariant: a signal to stop takes effect immediately, even while a reload is running.

use std::future::pending;

use lazuli_server::Running;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::JoinHandle;

/// SIGTERM and SIGINT.
pub struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    /// Starts listening: from here on, no signal is lost.
    pub fn new() -> std::io::Result<Self> {
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    /// Waits for one of these signals.
    pub async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

/// Waits for a signal to stop. Until then, SIGHUP reloads certificates and keys. Reloads run one at a time; all
/// SIGHUPs that arrive during one trigger one more.
pub async fn until_stopped(running: &Running, hangup: &mut Signal, signals: &mut Signals) {
    let mut reading: Option<JoinHandle<()>> = None;
    let mut again = false;
    loop {
        tokio::select! {
            () = signals.next() => return,
            _ = hangup.recv() => again = true,
            () = end_of(&mut reading) => reading = None,
        }
        if again && reading.is_none() {
            reading = Some(tokio::spawn(running.reload()));
            again = false;
        }
    }
}

async fn end_of(reading: &mut Option<JoinHandle<()>>) {
    match reading {
        Some(task) => {
            let _ = task.await;
        }
        None => pending().await,
    }
}
