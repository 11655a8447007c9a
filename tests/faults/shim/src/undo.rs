//! A log of changes to files, so that unsynced changes can be reverted.
//!
//! Records, in the order of the calls:
//! - `W inode length offset count\n` and `count` bytes that were there before (fewer than were written where the file ended).
//!   Written before the write itself, so that a kill between the two leaves one record too many, never one too few.
//! - `S inode\n` after the sync of a file.
//! - `D inode synced count\n` and `count` bytes: the content of a directory (see `tree`), and whether it was synced.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::sync::OnceLock;

use libc::{c_int, off64_t};

use crate::real;

/// The name of the log in its folder.
const LOG: &str = "log";

/// The folder of the log, which also keeps deleted files.
pub fn folder() -> Option<&'static PathBuf> {
    static FOLDER: OnceLock<Option<PathBuf>> = OnceLock::new();
    FOLDER.get_or_init(|| std::env::var_os("LAZULI_FAULTS_UNDO").map(PathBuf::from)).as_ref()
}

/// The log, and whether this process is the first to write to it; -1 if there is no log.
fn opened() -> (c_int, bool) {
    static OPENED: OnceLock<(c_int, bool)> = OnceLock::new();
    *OPENED.get_or_init(|| {
        let Some(folder) = folder() else { return (-1, false) };
        let path = CString::new(folder.join(LOG).as_os_str().as_bytes()).expect("no path has a zero in it");
        let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_APPEND | libc::O_CLOEXEC;
        // SAFETY: the path is a C string.
        let file = unsafe { real::open64(path.as_ptr(), flags, 0o644) };
        let (_, length) = facts(file).expect("the log of the test can be opened");
        (file, length == 0)
    })
}

/// Is a log wanted?
pub fn is_wanted() -> bool {
    opened().0 >= 0
}

/// Did the log begin with this process?
pub fn is_new() -> bool {
    opened().1
}

/// Logs a write of `count` bytes before it happens: at `offset`, or else at the current position of the file.
pub fn writes(file: c_int, offset: Option<off64_t>, count: usize) {
    if !is_wanted() {
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
    let there = usize::try_from(length - offset).unwrap_or(0).min(count);
    record(file, inode, length, offset, there);
}

/// Logs that a file is about to be truncated or extended.
pub fn truncates(file: c_int, to: off64_t) {
    if !is_wanted() {
        return;
    }
    let Some((inode, length)) = facts(file) else { return };
    // A preallocated log keeps only the bytes that were written: the rest are zeros again when it gets its length.
    let end = end_of_data(file, to).min(length);
    record(file, inode, length, to.min(length), usize::try_from(end - to).unwrap_or(0));
}

/// Logs a sync of the file.
pub fn syncs(file: c_int) {
    if let (true, Some((inode, _))) = (is_wanted(), facts(file)) {
        append(format!("S {inode}\n").as_bytes());
    }
}

/// Logs the content of a directory.
pub fn lists(inode: u64, is_synced: bool, listing: &[u8]) {
    let mut bytes = format!("D {inode} {} {}\n", u8::from(is_synced), listing.len()).into_bytes();
    bytes.extend_from_slice(listing);
    append(&bytes);
}

/// The end of the data of a sparse file: the offset of its last hole, but not less than `start`.
fn end_of_data(file: c_int, start: off64_t) -> off64_t {
    let mut end = start;
    // SAFETY: no memory is involved.
    unsafe {
        let stands = libc::lseek64(file, 0, libc::SEEK_CUR);
        loop {
            let data = libc::lseek64(file, end, libc::SEEK_DATA);
            if data < 0 {
                break;
            }
            end = libc::lseek64(file, data, libc::SEEK_HOLE);
        }
        libc::lseek64(file, stands, libc::SEEK_SET);
    }
    end
}

fn record(file: c_int, inode: u64, length: off64_t, offset: off64_t, there: usize) {
    let mut before = vec![0; there];
    // The file may be open for writing only: it is opened once more by its link.
    let link = format!("/proc/self/fd/{file}\0");
    // SAFETY: the link is a C string; the buffer has `there` bytes; the second handle is ours.
    let got = unsafe {
        let again = real::open64(link.as_ptr().cast(), libc::O_RDONLY, 0);
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
    // SAFETY: the slice has that length.
    let written = unsafe { real::write(opened().0, bytes.as_ptr().cast(), bytes.len()) };
    assert_eq!(usize::try_from(written), Ok(bytes.len()), "the log of the test can be written");
}
