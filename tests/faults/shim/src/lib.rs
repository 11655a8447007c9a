//! A disk that fails on demand: preloaded into the server, it replaces the C library's calls on files.
//!
//! The engine does its own I/O, so faults are injected below it. Only files under `LAZULI_FAULTS_DIR` are touched.
//!
//! - `LAZULI_FAULTS=KIND@N[+],...`: the N-th call of that kind fails, and with `+` every later one. Kinds: `sync-eio`,
//!   `write-eio`, `write-enospc`, `write-erofs`, `write-short` (half is written, and the call reports that), `read-eio`,
//!   `read-flip` (one bit of the data is wrong), `write-kill`, `sync-kill` and `name-kill` (the process ends before
//!   the call; `name` is any call that makes, replaces or removes a name). `sync-slow`, `write-slow` and `read-slow` make
//!   every such call take 100 ms longer, whatever N is; `sync-stall`, `write-stall` and `read-stall` hold every such call
//!   while the gate file exists.
//! - `LAZULI_FAULTS_GATE=FILE`: calls count only while this file exists.
//! - `LAZULI_FAULTS_SEEN=FILE`: a line for every fault that was injected: its kind, the number of the call, and the path.
//! - `LAZULI_FAULTS_UNDO=FOLDER`: a log of the bytes that every write replaced, of the existing names, and of every sync of a
//!   file or directory. After a kill, `undo.py` reverts unsynced changes with it, as a loss of power does. A name is durable
//!   only when its directory was synced; the sync of a file covers its content.

#![deny(unsafe_op_in_unsafe_fn)]

mod names;
mod plan;
mod real;
mod tree;
mod undo;

use std::sync::{Mutex, MutexGuard};

use libc::{c_int, c_void, iovec, off64_t, size_t, ssize_t};

use plan::{Fault, Kind};

/// One call at a time: the order of the undo log is the order of the writes.
static DISK: Mutex<()> = Mutex::new(());

pub(crate) fn disk() -> MutexGuard<'static, ()> {
    DISK.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

fn fail(code: c_int) -> ssize_t {
    // SAFETY: the location is this thread's own.
    unsafe { *libc::__errno_location() = code };
    -1
}

/// Writes `count` bytes, or fewer if the plan says so. `write` writes the number of bytes it is given.
fn written(
    file: c_int,
    offset: Option<off64_t>,
    count: usize,
    write: impl FnOnce(usize) -> ssize_t,
) -> ssize_t {
    if !plan::watches(file) {
        return write(count);
    }
    plan::delay(Kind::Write);
    let _disk = disk();
    let allowed = match plan::next(Kind::Write, Some(file)) {
        Some(Fault::Error(code)) => return fail(code),
        Some(Fault::Short) => count.div_ceil(2),
        _ => count,
    };
    undo::writes(file, offset, allowed);
    write(allowed)
}

fn read_file(file: c_int, buffer: *mut c_void, read: impl FnOnce() -> ssize_t) -> ssize_t {
    if !plan::watches(file) {
        return read();
    }
    plan::delay(Kind::Read);
    match plan::next(Kind::Read, Some(file)) {
        Some(Fault::Error(code)) => fail(code),
        fault => {
            let got = read();
            if let (Some(Fault::Flip), 1..) = (fault, got) {
                // SAFETY: the call has just filled `got` bytes there, which is at least one.
                unsafe { *buffer.cast::<u8>().add(got as usize / 2) ^= 0x10 };
            }
            got
        }
    }
}

fn synced(file: c_int, sync: impl FnOnce() -> c_int) -> c_int {
    if !plan::watches(file) {
        return sync();
    }
    plan::delay(Kind::Sync);
    let _disk = disk();
    if let Some(Fault::Error(code)) = plan::next(Kind::Sync, Some(file)) {
        return fail(code) as c_int;
    }
    let path = plan::path_of(file).filter(|_| undo::is_wanted());
    let Some(path) = path else { return sync() };
    if path.is_dir() {
        let mut result = -1;
        tree::synced(&path, || {
            result = sync();
            result == 0
        });
        return result;
    }
    // Detects changes of names that did not pass through this library.
    path.parent().filter(|parent| plan::holds(parent)).into_iter().for_each(tree::changed);
    let result = sync();
    if result == 0 {
        undo::syncs(file);
    }
    result
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn write(file: c_int, bytes: *const c_void, count: size_t) -> ssize_t {
    // SAFETY: the caller's promise; never more than `count` bytes.
    written(file, None, count, |count| unsafe { real::write(file, bytes, count) })
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pwrite64(
    file: c_int,
    bytes: *const c_void,
    count: size_t,
    offset: off64_t,
) -> ssize_t {
    // SAFETY: the caller's promise; never more than `count` bytes.
    written(file, Some(offset), count, |count| unsafe { real::pwrite64(file, bytes, count, offset) })
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pwrite(
    file: c_int,
    bytes: *const c_void,
    count: size_t,
    offset: off64_t,
) -> ssize_t {
    // SAFETY: the caller's promise.
    unsafe { pwrite64(file, bytes, count, offset) }
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn writev(file: c_int, parts: *const iovec, count: c_int) -> ssize_t {
    if !plan::watches(file) {
        // SAFETY: the caller's promise.
        return unsafe { real::writev(file, parts, count) };
    }
    // Only the first part is written, which a caller must expect.
    for index in 0..usize::try_from(count).unwrap_or(0) {
        // SAFETY: the caller gave `count` parts.
        let part = unsafe { &*parts.add(index) };
        if part.iov_len > 0 {
            // SAFETY: the part is the caller's.
            return unsafe { write(file, part.iov_base, part.iov_len) };
        }
    }
    0
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ftruncate64(file: c_int, length: off64_t) -> c_int {
    if !plan::watches(file) {
        // SAFETY: no memory is involved.
        return unsafe { real::ftruncate64(file, length) };
    }
    let _disk = disk();
    if let Some(Fault::Error(code)) = plan::next(Kind::Write, Some(file)) {
        return fail(code) as c_int;
    }
    undo::truncates(file, length);
    // SAFETY: no memory is involved.
    unsafe { real::ftruncate64(file, length) }
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ftruncate(file: c_int, length: off64_t) -> c_int {
    // SAFETY: no memory is involved.
    unsafe { ftruncate64(file, length) }
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fsync(file: c_int) -> c_int {
    // SAFETY: no memory is involved.
    synced(file, || unsafe { real::fsync(file) })
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fdatasync(file: c_int) -> c_int {
    // SAFETY: no memory is involved.
    synced(file, || unsafe { real::fdatasync(file) })
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn read(file: c_int, buffer: *mut c_void, count: size_t) -> ssize_t {
    // SAFETY: the caller's promise.
    read_file(file, buffer, || unsafe { real::read(file, buffer, count) })
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pread64(
    file: c_int,
    buffer: *mut c_void,
    count: size_t,
    offset: off64_t,
) -> ssize_t {
    // SAFETY: the caller's promise.
    read_file(file, buffer, || unsafe { real::pread64(file, buffer, count, offset) })
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pread(file: c_int, buffer: *mut c_void, count: size_t, offset: off64_t) -> ssize_t {
    // SAFETY: the caller's promise.
    unsafe { pread64(file, buffer, count, offset) }
}
