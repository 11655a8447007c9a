//! A log of what writes destroyed, so that what was not synced can be taken back.
//!
//! Records, in the order of the calls: `W inode length offset count\n` and `count` bytes that were there before (fewer than
//! were written where the file ended); `S inode\n` after a sync. Written before the write itself, so that a kill between the
//! two leaves a record too many, never one too few.

use std::sync::OnceLock;

use libc::{c_int, off64_t};

use crate::{plan, real};

/// The log; -1 if none is wanted.
fn log() -> c_int {
    static LOG: OnceLock<c_int> = OnceLock::new();
    *LOG.get_or_init(|| match plan::path("LAZULI_FAULTS_UNDO") {
        // SAFETY: the path is a C string.
        Some(path) => unsafe {
            libc::open(
                path.as_ptr(),
                libc::O_WRONLY | libc::O_CREAT | libc::O_APPEND | libc::O_CLOEXEC,
                0o644,
            )
        },
        None => -1,
    })
}

/// A write of `count` bytes is about to happen, where the file stands if no place is said.
pub fn writes(file: c_int, offset: Option<off64_t>, count: usize) {
    if log() < 0 {
        return;
    }
    let Some((inode, length)) = facts(file) else { return };
    // SAFETY: no memory is involved.
    let appends = unsafe { libc::fcntl(file, libc::F_GETFL) } & libc::O_APPEND != 0;
    let offset = match offset {
        _ if appends => length,
        Some(offset) => offset,
        // SAFETY: no memory is involved.
        None => unsafe { libc::lseek64(file, 0, libc::SEEK_CUR) },
    };
    record(file, inode, length, offset, count);
}

/// The file is about to get another length.
pub fn truncates(file: c_int, to: off64_t) {
    if log() < 0 {
        return;
    }
    let Some((inode, length)) = facts(file) else { return };
    record(file, inode, length, to.min(length), usize::try_from(length - to).unwrap_or(0));
}

/// The file was synced.
pub fn syncs(file: c_int) {
    if let (0.., Some((inode, _))) = (log(), facts(file)) {
        append(format!("S {inode}\n").as_bytes());
    }
}

fn record(file: c_int, inode: u64, length: off64_t, offset: off64_t, count: usize) {
    let there = usize::try_from(length - offset).unwrap_or(0).min(count);
    let mut before = vec![0; there];
    // The file may be open for writing only: it is opened once more by its link.
    let link = format!("/proc/self/fd/{file}\0");
    // SAFETY: the link is a C string; the buffer has `there` bytes; the second handle is ours.
    let got = unsafe {
        let again = libc::open(link.as_ptr().cast(), libc::O_RDONLY);
        let got = real::pread64(again, before.as_mut_ptr().cast(), there, offset);
        libc::close(again);
        got
    };
    assert_eq!(usize::try_from(got), Ok(there), "what is overwritten can be read");
    let mut bytes = format!("W {inode} {length} {offset} {there}\n").into_bytes();
    bytes.append(&mut before);
    append(&bytes);
}

fn facts(file: c_int) -> Option<(u64, off64_t)> {
    // SAFETY: zeroes are a valid record, and the call fills it.
    let (result, stat) = unsafe {
        let mut stat: libc::stat64 = std::mem::zeroed();
        (libc::fstat64(file, &mut stat), stat)
    };
    (result == 0).then_some((stat.st_ino, stat.st_size))
}

fn append(bytes: &[u8]) {
    // SAFETY: the bytes are as many as said.
    let written = unsafe { real::write(log(), bytes.as_ptr().cast(), bytes.len()) };
    assert_eq!(usize::try_from(written), Ok(bytes.len()), "the log of the test can be written");
}
