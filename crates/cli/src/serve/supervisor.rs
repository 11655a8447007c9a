//! Notifications to the service manager that started the server: ready, alive, stopping.
//!
//! This is the protocol of systemd's `Type=notify` and `WatchdogSec`, which podman speaks, too: datagrams to the socket that
//! `NOTIFY_SOCKET` names. Without that variable nothing is sent. A notification that cannot be sent is logged and never
//! stops the server.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::MissedTickBehavior;

/// A manager that does not read from its socket must not block the server.
const SEND_TIMEOUT: Duration = Duration::from_secs(1);

/// The service manager, if there is one.
pub struct Supervisor {
    channel: Option<Arc<Channel>>,
    watchdog: Option<Duration>,
}

impl Supervisor {
    /// The manager that the environment specifies.
    pub fn of_environment() -> Self {
        let channel = std::env::var_os("NOTIFY_SOCKET").and_then(|name| match Channel::open(&name) {
            Ok(channel) => Some(Arc::new(channel)),
            Err(error) => {
                tracing::warn!("failed to open NOTIFY_SOCKET: {error}");
                None
            }
        });
        let variable = |name: &str| std::env::var(name).ok();
        let watchdog = watchdog(variable("WATCHDOG_USEC"), variable("WATCHDOG_PID"), std::process::id());
        Self { channel, watchdog }
    }

    /// Reports that clients can connect. Returns the task that keeps reporting that the server is alive, if the
    /// manager requests that.
    pub fn ready(&self) -> Option<JoinHandle<()>> {
        let channel = Arc::clone(self.channel.as_ref()?);
        channel.send("READY=1");
        self.watchdog.map(|limit| tokio::spawn(keep_alive(channel, limit)))
    }

    /// Reports that the server is about to stop.
    pub fn stopping(&self) {
        if let Some(channel) = &self.channel {
            channel.send("STOPPING=1");
        }
    }
}

/// The watchdog timeout of the manager, if it applies to this process.
fn watchdog(micros: Option<String>, process: Option<String>, own: u32) -> Option<Duration> {
    if process.is_some_and(|process| process != own.to_string()) {
        return None;
    }
    let micros = micros?.parse().ok().filter(|micros| *micros > 0)?;
    Some(Duration::from_micros(micros))
}

/// Notifies the watchdog twice per timeout. The task runs on the threads that process requests, so a server
/// whose threads are all stuck sends nothing.
async fn keep_alive(channel: Arc<Channel>, limit: Duration) {
    let mut ticks = tokio::time::interval(limit / 2);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        channel.send("WATCHDOG=1");
    }
}

struct Channel {
    socket: UnixDatagram,
    address: SocketAddr,
}

impl Channel {
    fn open(name: &OsStr) -> io::Result<Self> {
        let socket = UnixDatagram::unbound()?;
        socket.set_write_timeout(Some(SEND_TIMEOUT))?;
        Ok(Self { socket, address: address(name)? })
    }

    fn send(&self, notification: &str) {
        if let Err(error) = self.socket.send_to_addr(notification.as_bytes(), &self.address) {
            tracing::warn!("failed to notify the service manager ({notification}): {error}");
        }
    }
}

/// A path, or an abstract name after an `@`.
fn address(name: &OsStr) -> io::Result<SocketAddr> {
    #[cfg(target_os = "linux")]
    if let Some(name) = name.as_bytes().strip_prefix(b"@") {
        return <SocketAddr as std::os::linux::net::SocketAddrExt>::from_abstract_name(name);
    }
    SocketAddr::from_pathname(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_watchdog_is_for_one_process() {
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(watchdog(text("30000000"), None, 7), Some(Duration::from_secs(30)));
        assert_eq!(watchdog(text("30000000"), text("7"), 7), Some(Duration::from_secs(30)));
        assert_eq!(watchdog(text("30000000"), text("8"), 7), None);
        for none in ["", "0", "-1", "soon"] {
            assert_eq!(watchdog(text(none), None, 7), None, "{none}");
        }
        assert_eq!(watchdog(None, None, 7), None);
    }
}
