//! Reads the blobs in `$logs`, each from where the last round ended.

use std::collections::HashMap;

use lazuli_model::DateTime;
use lazuli_model::time::TICKS_PER_SECOND;
use lazuli_server::Service;

use crate::fault::Fault;
use crate::storage::{Session, StorageRequest};

/// The `User-Agent` of requests for logs.
pub const AGENT: &str = "lazuli-logs";
/// The container.
const CONTAINER: &str = "$logs";
/// Bytes of a log that one request reads.
const STEP_BYTES: u64 = 4 * 1024 * 1024;
/// Maximum length of a line; longer ones are skipped.
const LINE_BYTES_MAX: usize = 1024 * 1024;

/// Reads logs.
pub struct LogReader<'a> {
    pub session: Session<'a>,
    /// The position at which to continue in each log.
    pub places: HashMap<String, u64>,
}

impl LogReader<'_> {
    /// Passes new lines of a service to `take`, hour by hour; `false` if `take` needs no more. Reads the logs
    /// of the hours from `since` to `until`.
    pub fn read_on(
        &mut self,
        service: Service,
        since: Option<DateTime>,
        until: Option<DateTime>,
        take: &mut impl FnMut(&str) -> bool,
    ) -> Result<bool, Fault> {
        let prefix = format!("{}/", service.label());
        // A request ends in the hour in which it starts, or later.
        let first = since.map(|since| format!("{prefix}{}", hour_path(since)));
        let mut marker = String::new();
        loop {
            let call = StorageRequest::new("GET", &[CONTAINER])
                .with("restype", "container")
                .with("comp", "list")
                .with("prefix", listed(&prefix, first.as_deref(), until))
                .maybe("marker", Some(&marker).filter(|marker| !marker.is_empty()));
            let page = match self.session.document(&call.header("User-Agent", AGENT)) {
                // Nothing was ever logged.
                Err(Fault::Rejected(error)) if error.status == 404 => return Ok(true),
                page => page?,
            };
            for blob in page.child("Blobs").into_iter().flat_map(|blobs| &blobs.children) {
                let name = blob.text_of("Name");
                if first.as_deref().is_some_and(|first| name < first) {
                    continue;
                }
                let size = blob.child("Properties").map(|found| found.text_of("Content-Length"));
                let size = size.and_then(|size| size.parse().ok()).unwrap_or_default();
                if !self.read_log(name, size, take)? {
                    return Ok(false);
                }
            }
            marker = page.text_of("NextMarker").to_owned();
            if marker.is_empty() {
                return Ok(true);
            }
        }
    }

    fn read_log(
        &mut self,
        name: &str,
        size: u64,
        take: &mut impl FnMut(&str) -> bool,
    ) -> Result<bool, Fault> {
        let mut place = self.places.get(name).copied().unwrap_or_default();
        while place < size {
            let last = place.saturating_add(STEP_BYTES).min(size) - 1;
            let call = StorageRequest::new("GET", &[CONTAINER, name])
                .header("x-ms-range", format!("bytes={place}-{last}"))
                .header("User-Agent", AGENT);
            let bytes = match self.session.send(&call) {
                // Old logs may be deleted while they are read.
                Err(Fault::Rejected(error)) if matches!(error.status, 404 | 416) => return Ok(true),
                response => response?.body,
            };
            let end = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
            for line in bytes[..end].split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
                if !take(&String::from_utf8_lossy(line)) {
                    return Ok(false);
                }
            }
            place += match end {
                // The last line may still be incomplete.
                0 if bytes.len() < LINE_BYTES_MAX => break,
                0 => bytes.len() as u64,
                end => end as u64,
            };
            self.places.insert(name.to_owned(), place);
        }
        Ok(true)
    }
}

/// The longest common prefix of all hours in question, so that a query for one day does not list the whole
/// year.
fn listed(prefix: &str, first: Option<&str>, until: Option<DateTime>) -> String {
    let (Some(first), Some(until)) = (first, until) else { return prefix.to_owned() };
    // A request may end in the hour after the one in which it started.
    let until = DateTime::from_ticks(until.ticks().saturating_add(3600 * TICKS_PER_SECOND)).unwrap_or(until);
    let last = format!("{prefix}{}", hour_path(until));
    let same = first.bytes().zip(last.bytes()).take_while(|(a, b)| a == b).count();
    first[..same].to_owned()
}

/// `YYYY/MM/DD/hh00`
fn hour_path(moment: DateTime) -> String {
    let text = moment.iso_seconds();
    let text = text.as_str();
    format!("{}/{}/{}/{}00", &text[0..4], &text[5..7], &text[8..10], &text[11..13])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_hours_in_question_are_listed() {
        let at = |text: &str| DateTime::parse(text).unwrap();
        let first = format!("blob/{}", hour_path(at("2026-01-31T12:30:00Z")));
        assert_eq!(first, "blob/2026/01/31/1200");
        for (until, expected) in [
            ("2026-01-31T12:59:00Z", "blob/2026/01/31/1"),
            ("2026-01-31T19:00:00Z", "blob/2026/01/31/"),
            ("2027-01-01T00:00:00Z", "blob/202"),
        ] {
            assert_eq!(listed("blob/", Some(&first), Some(at(until))), expected);
        }
        assert_eq!(listed("blob/", Some(&first), None), "blob/");
    }
}
