//! Speaking to whoever listens: `println!` panics when nobody does, as in `lazuli sas ... | head -1`, and so does `eprintln!`
//! when the log of a server is on a full disk.

use std::fmt::Arguments;
use std::io::{ErrorKind, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};

/// Prints a line, as `println!` does, to whoever listens.
macro_rules! say {
    ($($text:tt)*) => { $crate::say::line(format_args!($($text)*)) };
}

/// Prints a line, as `eprintln!` does, to whoever listens.
macro_rules! tell {
    ($($text:tt)*) => { $crate::say::aside(format_args!($($text)*)) };
}

static FAILED: AtomicBool = AtomicBool::new(false);

/// Prints a line. A reader that has gone away has what it wanted; any other failure is told, once, and fails the program.
pub fn line(text: Arguments<'_>) {
    let mut output = std::io::stdout().lock();
    let Err(error) = output.write_fmt(text).and_then(|()| output.write_all(b"\n")) else { return };
    if error.kind() != ErrorKind::BrokenPipe && !FAILED.swap(true, Ordering::Relaxed) {
        tell!("lazuli: the output cannot be written: {error}");
    }
}

/// Prints a line to standard error. If nobody can read that, there is nobody to tell.
pub fn aside(text: Arguments<'_>) {
    // In one piece: other processes may write to the same file.
    let _ = std::io::stderr().lock().write_all(format!("{text}\n").as_bytes());
}

/// Could something not be said?
pub fn failed() -> bool {
    FAILED.load(Ordering::Relaxed)
}
