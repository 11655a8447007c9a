//! Resource usage of the process, under the names of Prometheus' own libraries, as far as the system reports it.

use std::fs;

use rustix::process::{Resource, getrlimit};
use rustix::time::{ClockId, clock_gettime};

use super::text::Text;

/// Adds the resource usage of the process. `started_at` is in seconds since 1970.
pub fn render(text: &mut Text, started_at: i64) {
    text.gauge("process_start_time_seconds", "When the process started, in seconds since 1970.")
        .sample(&[], started_at);
    let cpu = clock_gettime(ClockId::ProcessCPUTime);
    #[allow(clippy::cast_precision_loss, reason = "no process runs that long")]
    let seconds = cpu.tv_sec as f64 + cpu.tv_nsec as f64 / 1e9;
    text.counter("process_cpu_seconds_total", "Processor time used.").sample(&[], seconds);
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    if let Some(bytes) = kibibytes(&status, "VmRSS:") {
        text.gauge("process_resident_memory_bytes", "Memory in use.").sample(&[], bytes);
    }
    if let Some(bytes) = kibibytes(&status, "VmSize:") {
        text.gauge("process_virtual_memory_bytes", "Address space in use.").sample(&[], bytes);
    }
    if let Some(threads) = field(&status, "Threads:") {
        text.gauge("process_threads", "Threads.").sample(&[], threads);
    }
    if let Ok(open) = fs::read_dir("/proc/self/fd") {
        text.gauge("process_open_fds", "Open files and sockets.").sample(&[], open.count());
    }
    if let Some(most) = getrlimit(Resource::Nofile).current {
        text.gauge("process_max_fds", "Maximum number of open files and sockets.").sample(&[], most);
    }
}

fn kibibytes(status: &str, name: &str) -> Option<u64> {
    field(status, name)?.checked_mul(1024)
}

/// `VmRSS:     1234 kB`
fn field(status: &str, name: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_of_a_process() {
        let status = "Name:\tlazuli\nVmSize:\t  200 kB\nVmRSS:\t   12 kB\nThreads:\t7\nOdd:\n";
        assert_eq!(kibibytes(status, "VmRSS:"), Some(12 * 1024));
        assert_eq!(field(status, "Threads:"), Some(7));
        assert_eq!((field(status, "Odd:"), field(status, "None:")), (None, None));
    }
}
