//! The metadata of a log blob: the kinds of its lines, the times of the first and the last line, and their version.

use std::sync::Arc;

use lazuli_model::kind::Access;
use lazuli_model::{DateTime, LogVersion, Metadata};
use lazuli_service::blob::Annotate;

/// The kinds of requests in the order of `LogType`.
const KINDS: [&str; 3] = ["read", "write", "delete"];

/// The metadata of a log blob.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    kinds: [bool; KINDS.len()],
    first: Option<String>,
    last: Option<String>,
    version: LogVersion,
}

impl Facts {
    /// Counts a request by its log line.
    pub fn add(&mut self, start: DateTime, access: Access, line: &str) {
        self.kinds[match access {
            Access::Read => 0,
            Access::Write => 1,
            Access::Delete => 2,
        }] = true;
        self.span(start.iso_seconds().as_str());
        self.raise(line.split(';').next().unwrap_or_default());
    }

    /// Records the version of a line. If the setting changed within the hour, the log contains both versions.
    fn raise(&mut self, version: &str) {
        if version == LogVersion::V2.name() {
            self.version = LogVersion::V2;
        }
    }

    /// Extends the time range to include a moment. Moments in this format compare as strings.
    fn span(&mut self, moment: &str) {
        if self.first.as_deref().is_none_or(|first| moment < first) {
            self.first = Some(moment.to_owned());
        }
        if self.last.as_deref().is_none_or(|last| moment > last) {
            self.last = Some(moment.to_owned());
        }
    }

    /// The facts in the metadata of a log blob.
    pub fn of<'a>(get: impl Fn(&str) -> Option<&'a str>) -> Self {
        let mut facts = Self::default();
        for name in get("LogType").unwrap_or_default().split(',') {
            for (kind, is_there) in KINDS.iter().zip(&mut facts.kinds) {
                *is_there |= *kind == name;
            }
        }
        get("StartTime").into_iter().chain(get("EndTime")).for_each(|moment| facts.span(moment));
        facts.raise(get("LogVersion").unwrap_or_default());
        facts
    }

    /// The facts about both.
    fn merged(mut self, other: &Facts) -> Self {
        self.kinds.iter_mut().zip(other.kinds).for_each(|(own, other)| *own |= other);
        other.first.iter().chain(&other.last).for_each(|moment| self.span(moment));
        self.raise(other.version.name());
        self
    }

    pub fn metadata(&self) -> Metadata {
        let kinds: Vec<&str> =
            KINDS.iter().zip(self.kinds).filter(|(_, is_there)| *is_there).map(|(kind, _)| *kind).collect();
        let mut metadata = Metadata::default();
        for (name, value) in [
            ("LogType", kinds.join(",")),
            ("StartTime", self.first.clone().unwrap_or_default()),
            ("EndTime", self.last.clone().unwrap_or_default()),
            ("LogVersion", self.version.name().to_owned()),
        ] {
            // The names and values are legal, and there are only four.
            let _ = metadata.insert(name, &value);
        }
        metadata
    }

    /// Merges these facts into the metadata of a log.
    pub fn annotate(self) -> Annotate {
        Arc::new(move |before: Option<&Metadata>| match before {
            Some(before) => Facts::of(|name| before.get(name)).merged(&self).metadata(),
            None => self.metadata(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> DateTime {
        DateTime::parse(text).unwrap()
    }

    /// LG-03: the kinds of all requests, the times of the first and the last, and the highest version.
    #[test]
    fn metadata_covers_every_line() {
        let mut facts = Facts::default();
        facts.add(at("2014-07-31T18:30:00.5Z"), Access::Write, "1.0;a");
        let before = facts.clone().annotate()(None);
        let pairs = |metadata: &Metadata| {
            let pairs = metadata.iter().map(|(name, value)| format!("{name}={value}"));
            pairs.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(
            pairs(&before),
            "LogType=write StartTime=2014-07-31T18:30:00Z EndTime=2014-07-31T18:30:00Z LogVersion=1.0"
        );
        let mut more = Facts::default();
        more.add(at("2014-07-31T18:40:00Z"), Access::Delete, "2.0;a");
        more.add(at("2014-07-31T18:10:00Z"), Access::Read, "1.0;a");
        assert_eq!(
            pairs(&more.annotate()(Some(&before))),
            "LogType=read,write,delete StartTime=2014-07-31T18:10:00Z EndTime=2014-07-31T18:40:00Z LogVersion=2.0"
        );
        let again = Facts::of(|name| (name == "LogVersion").then_some("2.0")).merged(&facts);
        assert!(pairs(&again.metadata()).ends_with("LogVersion=2.0"));
    }
}
