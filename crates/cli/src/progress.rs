//! How far a long piece of work has come: one line on a terminal, nothing elsewhere.

use std::io::{IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

/// The line is drawn anew at most this often.
const REDRAW_EVERY: Duration = Duration::from_millis(200);

/// A line that tells how far the work has come.
pub struct Progress {
    what: &'static str,
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
    /// Begins. It shows if standard error is a terminal, unless `quiet`.
    pub fn start(what: &'static str, quiet: bool) -> Self {
        let shows = !quiet && std::io::stderr().is_terminal();
        Self { what, start: now(), drawn: None, shows, rows: 0, bytes: 0 }
    }

    /// So many rows, so many bytes, of so many where that is known.
    pub fn reach(&mut self, rows: u64, bytes: u64, of_bytes: Option<u64>) {
        (self.rows, self.bytes) = (rows, bytes);
        let is_due = self.drawn.is_none_or(|drawn| drawn.elapsed() >= REDRAW_EVERY);
        if !self.shows || !is_due {
            return;
        }
        self.drawn = Some(now());
        let done = of_bytes.filter(|&all| all > 0).map(|all| format!(", {} %", (bytes * 100 / all).min(100)));
        let line = format!(
            "\r\x1b[K{}: {} rows, {}{}, {}/s",
            self.what,
            thousands(rows),
            bytes_text(bytes),
            done.unwrap_or_default(),
            bytes_text(per_second(bytes, self.start.elapsed())),
        );
        let mut out = std::io::stderr().lock();
        let _ = out.write_all(line.as_bytes()).and_then(|()| out.flush());
    }

    /// Takes the line away, and says how much was done in what time.
    pub fn finish(self) -> String {
        if self.drawn.is_some() {
            let _ = std::io::stderr().write_all(b"\r\x1b[K");
        }
        let elapsed = self.start.elapsed();
        format!(
            "{} rows, {} in {:.1} s, {}/s",
            thousands(self.rows),
            bytes_text(self.bytes),
            elapsed.as_secs_f64(),
            bytes_text(per_second(self.bytes, elapsed))
        )
    }
}

fn per_second(bytes: u64, elapsed: Duration) -> u64 {
    let millis = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX).max(1);
    u64::try_from(u128::from(bytes) * 1000 / u128::from(millis)).unwrap_or(u64::MAX)
}

/// A size for people.
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
