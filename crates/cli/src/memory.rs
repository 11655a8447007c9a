//! The default size of the caches.
//!
//! Invariant: in a small container on a large machine, the container's limit applies.

use std::fs::read_to_string;
use std::path::Path;

const MIB: u64 = 1024 * 1024;
/// The caches take 1/32 of the memory.
const SHARE: u64 = 32;
/// Minimum size of the caches.
const BYTES_MIN: u64 = 64 * MIB;
/// Maximum size of the caches: enough for the indexes and filters of ten million rows of a kilobyte.
const BYTES_MAX: u64 = 256 * MIB;

/// Memory for caches: a small share of the memory of the machine or the container.
pub fn cache_bytes() -> u64 {
    let text = |path: &Path| read_to_string(path).unwrap_or_default();
    let group = text(Path::new("/proc/self/cgroup"));
    let limit =
        group_path(&group).map(|path| text(&Path::new("/sys/fs/cgroup").join(path).join("memory.max")));
    share(machine_bytes(&text(Path::new("/proc/meminfo"))), limit.and_then(|limit| limit.trim().parse().ok()))
}

/// The smaller of the machine's memory and the container's limit, if they are known.
fn share(machine: Option<u64>, limit: Option<u64>) -> u64 {
    let memory = machine.into_iter().chain(limit).min().unwrap_or(0);
    (memory / SHARE).clamp(BYTES_MIN, BYTES_MAX)
}

/// The path of the control group in `/proc/self/cgroup`; only the unified hierarchy is supported.
fn group_path(groups: &str) -> Option<&str> {
    groups.lines().find_map(|line| line.strip_prefix("0::/"))
}

/// The total memory in `/proc/meminfo`.
fn machine_bytes(meminfo: &str) -> Option<u64> {
    let total = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    total.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caches_get_a_share_of_the_smaller_memory() {
        const GIB: u64 = 1024 * MIB;
        for (machine, limit, expected) in [
            (None, None, 64 * MIB),
            (Some(GIB), None, 64 * MIB),
            (Some(4 * GIB), None, 128 * MIB),
            (Some(64 * GIB), None, 256 * MIB),
            (Some(64 * GIB), Some(GIB), 64 * MIB),
            (Some(64 * GIB), Some(6 * GIB), 192 * MIB),
            (Some(4 * GIB), Some(1 << 50), 128 * MIB),
            (None, Some(4 * GIB), 128 * MIB),
        ] {
            assert_eq!(share(machine, limit), expected, "{machine:?} {limit:?}");
        }
        assert!((BYTES_MIN..=BYTES_MAX).contains(&cache_bytes()));
    }

    #[test]
    fn the_kernel_is_understood() {
        assert_eq!(machine_bytes("MemTotal:       24682416 kB\nMemFree: 1 kB\n"), Some(24_682_416 * 1024));
        for strange in ["", "MemFree: 1 kB", "MemTotal: many", "MemTotal: 99999999999999999999 kB"] {
            assert_eq!(machine_bytes(strange), None, "{strange}");
        }
        assert_eq!(group_path("0::/\n"), Some(""));
        assert_eq!(
            group_path("12:cpu:/x\n0::/system.slice/lazuli.service\n"),
            Some("system.slice/lazuli.service")
        );
        assert_eq!(group_path("1:name=systemd:/\n"), None);
    }
}
