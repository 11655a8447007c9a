//! The calls of the C library that ours replace.

use std::ffi::CStr;
use std::mem::transmute;
use std::sync::atomic::{AtomicPtr, Ordering};

use libc::{c_char, c_int, c_void, iovec, mode_t, off64_t, size_t, ssize_t};

/// The next definition of a name behind this library; looked up once.
fn behind(name: &'static CStr, known: &AtomicPtr<c_void>) -> *mut c_void {
    let mut found = known.load(Ordering::Relaxed);
    if found.is_null() {
        // SAFETY: the name is a C string.
        found = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
        known.store(found, Ordering::Relaxed);
    }
    assert!(!found.is_null(), "the C library has {name:?}");
    found
}

macro_rules! forward {
    ($($name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {$(
        /// # Safety
        /// As the C library's.
        pub unsafe fn $name($($argument: $type),*) -> $result {
            static KNOWN: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());
            const NAME: &str = concat!(stringify!($name), "\0");
            let name = CStr::from_bytes_with_nul(NAME.as_bytes()).expect("the name ends with a zero");
            // SAFETY: the C library's function of that name has this type.
            let call: unsafe extern "C" fn($($type),*) -> $result = unsafe { transmute(behind(name, &KNOWN)) };
            // SAFETY: the caller's promise.
            unsafe { call($($argument),*) }
        }
    )*};
}

forward! {
    write(file: c_int, bytes: *const c_void, count: size_t) -> ssize_t;
    pwrite64(file: c_int, bytes: *const c_void, count: size_t, offset: off64_t) -> ssize_t;
    writev(file: c_int, parts: *const iovec, count: c_int) -> ssize_t;
    ftruncate64(file: c_int, length: off64_t) -> c_int;
    fsync(file: c_int) -> c_int;
    fdatasync(file: c_int) -> c_int;
    read(file: c_int, buffer: *mut c_void, count: size_t) -> ssize_t;
    pread64(file: c_int, buffer: *mut c_void, count: size_t, offset: off64_t) -> ssize_t;
    open64(path: *const c_char, flags: c_int, mode: mode_t) -> c_int;
    openat64(folder: c_int, path: *const c_char, flags: c_int, mode: mode_t) -> c_int;
    mkdir(path: *const c_char, mode: mode_t) -> c_int;
    rename(from: *const c_char, to: *const c_char) -> c_int;
    unlink(path: *const c_char) -> c_int;
    unlinkat(folder: c_int, path: *const c_char, flags: c_int) -> c_int;
    rmdir(path: *const c_char) -> c_int;
    linkat(from: c_int, old: *const c_char, to: c_int, new: *const c_char, flags: c_int) -> c_int;
}
