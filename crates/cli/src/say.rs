//! Printing without panics: `println!` panics if the pipe is closed, as in `lazuli sas ... | head -1`, and
//! `eprintln!` panics if standard error is a file on a full disk.

use std::fmt::Arguments;
use std::io::{ErrorKind, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};

/// Prints a line to standard output, like `println!`.
macro_rules! say {
    ($($text:tt)*) => { $crate::say::line(format_args!($($text)*)) };
}

/// Prints a line to standard error, like `eprintln!`.
macro_rules! tell {
    ($($text:tt)*) => { $crate::say::aside(format_args!($($text)*)) };
}

static FAILED: AtomicBool = AtomicBool::new(false);

/// Prints a line. A closed pipe is not an error; any other failure is reported once and makes the program fail.
pub fn line(text: Arguments<'_>) {
    let mut output = std::io::stdout().lock();
    let Err(error) = output.write_fmt(text).and_then(|()| output.write_all(b"\n")) else { return };
    if error.kind() != ErrorKind::BrokenPipe && !FAILED.swap(true, Ordering::Relaxed) {
        tell!("lazuli: failed to write the output: {error}");
    }
}

/// Prints a line to standard error. A failure is ignored, since it cannot be reported.
pub fn aside(text: Arguments<'_>) {
    // In a single write, since other processes may write to the same file.
    let _ = std::io::stderr().lock().write_all(format!("{text}\n").as_bytes());
}

/// Did printing fail?
pub fn failed() -> bool {
    FAILED.load(Ordering::Relaxed)
}
