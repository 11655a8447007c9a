//! Speaking to whoever listens: `println!` panics when nobody does, as in `lazuli sas ... | head -1`.

use std::fmt::Arguments;
use std::io::{ErrorKind, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};

static FAILED: AtomicBool = AtomicBool::new(false);

/// Prints a line. A reader that has gone away has what it wanted; any other failure is told, once, and fails the program.
pub fn line(text: Arguments<'_>) {
    let mut output = std::io::stdout().lock();
    let Err(error) = output.write_fmt(text).and_then(|()| output.write_all(b"\n")) else { return };
    if error.kind() != ErrorKind::BrokenPipe && !FAILED.swap(true, Ordering::Relaxed) {
        eprintln!("lazuli: the output cannot be written: {error}");
    }
}

/// Could something not be said?
pub fn failed() -> bool {
    FAILED.load(Ordering::Relaxed)
}

/// Prints a line, as `println!` does, to whoever listens.
macro_rules! say {
    ($($text:tt)*) => { $crate::say::line(format_args!($($text)*)) };
}
