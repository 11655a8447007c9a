//! Progress of a long command: one line on a terminal; otherwise nothing, or a line for each step.

use std::io::{IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

/// Minimum time between two updates of the line.
const REDRAW_EVERY: Duration = Duration::from_millis(200);

/// A line that shows the progress.
pub struct Progress {
    what: &'static str,
    unit: &'static str,
    start: Instant,
    drawn: Option<Instant>,
    shows: bool,
    rows: u64,
    bytes: u64,
}

#[allow(clippy::disallowed_methods, reason = "a rate is rows over time; nothing else depends on it")]
fn now() -> Instant {
    Instant::now()
}

impl Progress {
    /// Starts counting `unit`s, such as "rows". The line is shown if standard error is a terminal, unless
    /// `quiet` is set.
    pub fn start(what: &'static str, unit: &'static str, quiet: bool) -> Self {
        let shows = !quiet && std::io::stderr().is_terminal();
        Self { what, unit, start: now(), drawn: None, shows, rows: 0, bytes: 0 }
    }

    /// Sets the progress so far, in units and in bytes, and the total number of bytes if it is known.
    pub fn reach(&mut self, rows: u64, bytes: u64, of_bytes: Option<u64>) {
        (self.rows, self.bytes) = (rows, bytes);
        let is_due = self.drawn.is_none_or(|drawn| drawn.elapsed() >= REDRAW_EVERY);
        if !self.shows || !is_due {
            return;
        }
        self.drawn = Some(now());
        let done = of_bytes.filter(|&all| all > 0).map(|all| format!(", {} %", (bytes * 100 / all).min(100)));
        let line = format!(
            "\r\x1b[K{}: {} {}, {}{}, {}/s",
            self.what,
            thousands(rows),
            self.unit,
            bytes_text(bytes),
            done.unwrap_or_default(),
            bytes_text(per_second(bytes, self.start.elapsed())),
        );
        let mut out = std::io::stderr().lock();
        let _ = out.write_all(line.as_bytes()).and_then(|()| out.flush());
    }

    /// Removes the line, and returns the bytes, the time and the rate.
    pub fn finish_bytes(self) -> String {
        let (bytes, elapsed) = (self.bytes, self.start.elapsed());
        let _ = self.finish();
        format!(
            "{} in {:.1} s, {}/s",
            bytes_text(bytes),
            elapsed.as_secs_f64(),
            bytes_text(per_second(bytes, elapsed))
        )
    }

    /// Removes the line, and returns a summary.
    pub fn finish(self) -> String {
        if self.drawn.is_some() {
            let _ = std::io::stderr().write_all(b"\r\x1b[K");
        }
        let elapsed = self.start.elapsed();
        format!(
            "{} {}, {} in {:.1} s, {}/s",
            thousands(self.rows),
            self.unit,
            bytes_text(self.bytes),
            elapsed.as_secs_f64(),
            bytes_text(per_second(self.bytes, elapsed))
        )
    }
}

/// Width of a progress bar, in characters.
const BAR_WIDTH: usize = 20;

/// A progress bar with the current step on a terminal; a line per step elsewhere.
pub struct Bar {
    is_terminal: bool,
    is_drawn: bool,
}

impl Bar {
    /// An empty bar.
    pub fn new() -> Self {
        Self { is_terminal: std::io::stderr().is_terminal(), is_drawn: false }
    }

    /// Shows how many steps are done, and what happens now.
    pub fn show(&mut self, done: usize, all: usize, step: &str) {
        if !self.is_terminal {
            tell!("{step}");
            return;
        }
        let line = format!("\r\x1b[K{}", bar_line(done, all, step));
        let mut out = std::io::stderr().lock();
        let _ = out.write_all(line.as_bytes()).and_then(|()| out.flush());
        self.is_drawn = true;
    }

    /// Removes the bar, so that other lines can be printed.
    pub fn clear(&mut self) {
        if std::mem::take(&mut self.is_drawn) {
            let _ = std::io::stderr().write_all(b"\r\x1b[K");
        }
    }
}

fn bar_line(done: usize, all: usize, step: &str) -> String {
    let full = BAR_WIDTH * done.min(all) / all.max(1);
    format!("[{}{}] {done} of {all}  {step}", "#".repeat(full), ".".repeat(BAR_WIDTH - full))
}

fn per_second(bytes: u64, elapsed: Duration) -> u64 {
    let millis = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX).max(1);
    u64::try_from(u128::from(bytes) * 1000 / u128::from(millis)).unwrap_or(u64::MAX)
}

/// A size with a suitable unit.
pub fn bytes_text(bytes: u64) -> String {
    let units = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let mut size = bytes as f64;
    let mut unit = "bytes";
    for next in units {
        if size < 1024.0 {
            break;
        }
        size /= 1024.0;
        unit = next;
    }
    if unit == "bytes" { format!("{bytes} bytes") } else { format!("{size:.1} {unit}") }
}

/// The singular or the plural of a word.
pub fn plural<'a>(count: u64, one: &'a str, several: &'a str) -> &'a str {
    if count == 1 { one } else { several }
}

/// A number with a space between groups of three digits.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_fills_with_its_steps() {
        assert_eq!(
            bar_line(0, 4, "get: preparing lazuli"),
            "[....................] 0 of 4  get: preparing lazuli"
        );
        assert_eq!(bar_line(3, 4, "x"), "[###############.....] 3 of 4  x");
        assert_eq!(bar_line(4, 4, "x"), "[####################] 4 of 4  x");
        assert_eq!(bar_line(0, 0, "x"), "[....................] 0 of 0  x");
    }

    #[test]
    fn numbers_for_people() {
        for (number, text) in [(0, "0"), (999, "999"), (1000, "1 000"), (1_234_567, "1 234 567")] {
            assert_eq!(thousands(number), text);
        }
        let sizes = [(0, "0 bytes"), (1023, "1023 bytes"), (1024, "1.0 KiB"), (u64::MAX, "16.0 EiB")];
        for (bytes, text) in sizes {
            assert_eq!(bytes_text(bytes), text);
        }
        assert_eq!(per_second(100, Duration::from_millis(500)), 200);
        assert_eq!(per_second(u64::MAX, Duration::ZERO), u64::MAX);
    }
}
