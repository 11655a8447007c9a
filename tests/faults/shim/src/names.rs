//! The calls that make, replace and remove names of files.

use std::ffi::{CStr, OsStr};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use libc::{c_char, c_int, mode_t};

use crate::plan::Kind;
use crate::{disk, plan, real, tree, undo};

/// The path that a call refers to.
///
/// # Safety
/// `path` is a C string.
unsafe fn resolved(folder: c_int, path: *const c_char) -> Option<PathBuf> {
    // SAFETY: the caller's promise.
    let path = Path::new(OsStr::from_bytes(unsafe { CStr::from_ptr(path) }.to_bytes()));
    if path.is_absolute() {
        return Some(path.into());
    }
    let base = if folder == libc::AT_FDCWD { std::env::current_dir().ok() } else { plan::path_of(folder) };
    base.map(|base| base.join(path))
}

/// Runs a call that changes the directories in which these paths are.
fn naming(paths: &[Option<PathBuf>], call: impl FnOnce() -> c_int) -> c_int {
    let parents = paths.iter().flatten().filter_map(|path| path.parent());
    let watched: Vec<&Path> = parents.filter(|parent| plan::holds(parent)).collect();
    if watched.is_empty() {
        return call();
    }
    let _disk = disk();
    plan::next(Kind::Name, None);
    if !undo::is_wanted() {
        return call();
    }
    tree::begin();
    let result = call();
    if result >= 0 {
        watched.iter().for_each(|parent| tree::changed(parent));
    }
    result
}

/// Runs a call that opens a file.
///
/// # Safety
/// `path` is a C string.
unsafe fn opening(folder: c_int, path: *const c_char, flags: c_int, open: impl FnOnce() -> c_int) -> c_int {
    // Nearly all calls. They are passed on unchecked, because the first ones come before memory can be allocated.
    if flags & (libc::O_CREAT | libc::O_TRUNC) == 0 {
        return open();
    }
    // SAFETY: the caller's promise.
    let named = unsafe { resolved(folder, path) };
    let is_emptied = flags & libc::O_TRUNC != 0;
    naming(&[named], || {
        if is_emptied {
            // SAFETY: the caller's promise; the handle is ours.
            unsafe {
                let before = real::openat64(folder, path, libc::O_RDONLY | libc::O_CLOEXEC, 0);
                if before >= 0 {
                    undo::truncates(before, 0);
                    libc::close(before);
                }
            }
        }
        open()
    })
}

/// # Safety
/// As the C library's; `mode` is used only if a file is created.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn open64(path: *const c_char, flags: c_int, mode: mode_t) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { opening(libc::AT_FDCWD, path, flags, || real::open64(path, flags, mode)) }
}

/// # Safety
/// As `open64`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn open(path: *const c_char, flags: c_int, mode: mode_t) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { open64(path, flags, mode) }
}

/// # Safety
/// As `open64`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn openat64(folder: c_int, path: *const c_char, flags: c_int, mode: mode_t) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { opening(folder, path, flags, || real::openat64(folder, path, flags, mode)) }
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mkdir(path: *const c_char, mode: mode_t) -> c_int {
    // SAFETY: the caller's promise.
    let named = unsafe { resolved(libc::AT_FDCWD, path) };
    naming(std::slice::from_ref(&named), || {
        // SAFETY: the caller's promise.
        let result = unsafe { real::mkdir(path, mode) };
        if let (0, Some(made)) = (result, named.as_deref().filter(|path| plan::holds(path))) {
            tree::made(made);
        }
        result
    })
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rename(from: *const c_char, to: *const c_char) -> c_int {
    // SAFETY: the caller's promise.
    let named = unsafe { [resolved(libc::AT_FDCWD, from), resolved(libc::AT_FDCWD, to)] };
    // SAFETY: the caller's promise.
    naming(&named, || unsafe { real::rename(from, to) })
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unlink(path: *const c_char) -> c_int {
    // SAFETY: the caller's promise.
    let named = unsafe { resolved(libc::AT_FDCWD, path) };
    // SAFETY: the caller's promise.
    naming(&[named], || unsafe { real::unlink(path) })
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn unlinkat(folder: c_int, path: *const c_char, flags: c_int) -> c_int {
    // SAFETY: the caller's promise.
    let named = unsafe { resolved(folder, path) };
    // SAFETY: the caller's promise.
    naming(&[named], || unsafe { real::unlinkat(folder, path, flags) })
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rmdir(path: *const c_char) -> c_int {
    // SAFETY: the caller's promise.
    let named = unsafe { resolved(libc::AT_FDCWD, path) };
    // SAFETY: the caller's promise.
    naming(&[named], || unsafe { real::rmdir(path) })
}

/// # Safety
/// As the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn linkat(
    from: c_int,
    old: *const c_char,
    to: c_int,
    new: *const c_char,
    flags: c_int,
) -> c_int {
    // SAFETY: the caller's promise.
    let named = unsafe { resolved(to, new) };
    // SAFETY: the caller's promise.
    naming(&[named], || unsafe { real::linkat(from, old, to, new, flags) })
}
