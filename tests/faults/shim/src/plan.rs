//! Which call is to fail, and how.

use std::ffi::{CString, OsStr};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use libc::c_int;

use crate::real;

/// Longest path that is checked.
const PATH_BYTES_MAX: usize = 4096;
/// The delay of a slow call.
const SLOW_TIME: Duration = Duration::from_millis(100);
/// How often a stalled call checks whether the gate is closed.
const LOOK_EVERY: Duration = Duration::from_millis(5);

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Write,
    Read,
    Sync,
    /// Making, replacing or removing a name.
    Name,
}

#[derive(Clone, Copy)]
pub enum Fault {
    Error(c_int),
    Short,
    Flip,
    /// The process ends here, as by kill -9.
    Kill,
    /// The call takes longer.
    Slow,
    /// The call waits as long as the gate is open.
    Stall,
}

struct Planned {
    name: &'static str,
    kind: Kind,
    fault: Fault,
    first: u64,
    lasting: bool,
}

struct Plan {
    directory: PathBuf,
    seen: Option<CString>,
    gate: Option<CString>,
    faults: Vec<Planned>,
}

const KINDS: [(&str, Kind, Fault); 16] = [
    ("sync-eio", Kind::Sync, Fault::Error(libc::EIO)),
    ("write-eio", Kind::Write, Fault::Error(libc::EIO)),
    ("write-enospc", Kind::Write, Fault::Error(libc::ENOSPC)),
    ("write-erofs", Kind::Write, Fault::Error(libc::EROFS)),
    ("write-short", Kind::Write, Fault::Short),
    ("read-eio", Kind::Read, Fault::Error(libc::EIO)),
    ("read-flip", Kind::Read, Fault::Flip),
    ("sync-kill", Kind::Sync, Fault::Kill),
    ("write-kill", Kind::Write, Fault::Kill),
    ("name-kill", Kind::Name, Fault::Kill),
    ("sync-slow", Kind::Sync, Fault::Slow),
    ("write-slow", Kind::Write, Fault::Slow),
    ("read-slow", Kind::Read, Fault::Slow),
    ("sync-stall", Kind::Sync, Fault::Stall),
    ("write-stall", Kind::Write, Fault::Stall),
    ("read-stall", Kind::Read, Fault::Stall),
];

static CALLS: [AtomicU64; 4] = [const { AtomicU64::new(0) }; 4];

fn plan() -> &'static Plan {
    static PLAN: OnceLock<Plan> = OnceLock::new();
    PLAN.get_or_init(|| {
        let faults = std::env::var("LAZULI_FAULTS").unwrap_or_default();
        Plan {
            directory: std::env::var_os("LAZULI_FAULTS_DIR").unwrap_or_default().into(),
            seen: path("LAZULI_FAULTS_SEEN"),
            gate: path("LAZULI_FAULTS_GATE"),
            faults: faults.split(',').filter(|text| !text.is_empty()).map(planned).collect(),
        }
    })
}

fn planned(text: &str) -> Planned {
    let parsed = text.split_once('@').and_then(|(name, number)| {
        let lasting = number.ends_with('+');
        let first = number.trim_end_matches('+').parse().ok()?;
        let (name, kind, fault) = KINDS.into_iter().find(|(known, ..)| *known == name)?;
        Some(Planned { name, kind, fault, first, lasting })
    });
    parsed.unwrap_or_else(|| panic!("not a fault: {text}"))
}

/// Is it a file below the directory, or the directory?
pub fn watches(file: c_int) -> bool {
    !plan().directory.as_os_str().is_empty() && path_of(file).is_some_and(|path| holds(&path))
}

/// Is this path the directory, or below it?
pub fn holds(path: &Path) -> bool {
    let directory = root();
    !directory.as_os_str().is_empty() && path.starts_with(directory)
}

/// The directory whose files are watched; empty if none is.
pub fn root() -> &'static Path {
    &plan().directory
}

/// The path of an open file.
pub fn path_of(file: c_int) -> Option<PathBuf> {
    let mut path = [0; PATH_BYTES_MAX];
    let link = format!("/proc/self/fd/{file}\0");
    // SAFETY: the link is a C string, and the path has room for the given number of bytes.
    let length = unsafe { libc::readlink(link.as_ptr().cast(), path.as_mut_ptr().cast(), path.len()) };
    let length = usize::try_from(length).ok()?;
    Some(OsStr::from_bytes(&path[..length]).into())
}

/// Is the gate open, if there is one?
fn is_open() -> bool {
    // SAFETY: the path is a C string.
    plan().gate.as_ref().is_none_or(|gate| unsafe { libc::access(gate.as_ptr(), libc::F_OK) } == 0)
}

/// Delays a call of this kind, if the plan says so. Call it without holding a lock: only this call is slow.
pub fn delay(kind: Kind) {
    let delays = |planned: &&Planned| planned.kind == kind && matches!(planned.fault, Fault::Slow | Fault::Stall);
    let Some(found) = plan().faults.iter().find(delays).filter(|_| is_open()) else { return };
    tell(found.name, 0, None);
    match found.fault {
        Fault::Stall => {
            while is_open() {
                std::thread::sleep(LOOK_EVERY);
            }
        }
        _ => std::thread::sleep(SLOW_TIME),
    }
}

/// The fault for the next call of this kind, if the plan has one. The file is that of the call, if it has one.
pub fn next(kind: Kind, file: Option<c_int>) -> Option<Fault> {
    if !is_open() {
        return None;
    }
    let number = CALLS[kind as usize].fetch_add(1, Ordering::SeqCst) + 1;
    let due = |planned: &&Planned| {
        let is_delay = matches!(planned.fault, Fault::Slow | Fault::Stall);
        let is_due = number == planned.first || planned.lasting && number > planned.first;
        planned.kind == kind && is_due && !is_delay
    };
    let found = plan().faults.iter().find(due)?;
    tell(found.name, number, file.and_then(path_of));
    if let Fault::Kill = found.fault {
        // SAFETY: no memory is involved; the process is our own.
        unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
    }
    Some(found.fault)
}

fn tell(name: &str, number: u64, file: Option<PathBuf>) {
    let Some(path) = &plan().seen else { return };
    let line = format!("{name} {number} {}\n", file.unwrap_or_default().display());
    // SAFETY: the path is a C string; the line has the given length; the file is ours.
    unsafe {
        let file = real::open64(path.as_ptr(), libc::O_WRONLY | libc::O_CREAT | libc::O_APPEND, 0o644);
        real::write(file, line.as_ptr().cast(), line.len());
        libc::close(file);
    }
}

/// A variable that names a file.
pub fn path(variable: &str) -> Option<CString> {
    std::env::var_os(variable).and_then(|path| CString::new(OsStr::as_bytes(&path)).ok())
}
