//! A strict parser of the text format of Prometheus: every scraper accepts metrics that it accepts.

use std::collections::{BTreeMap, HashSet};

/// The content of a document.
#[derive(Debug)]
pub struct Exposition {
    /// Values by name with labels, as written.
    pub samples: BTreeMap<String, f64>,
}

impl Exposition {
    /// Parses a document; any violation fails the test.
    #[track_caller]
    pub fn read(text: &str) -> Self {
        assert!(text.ends_with('\n'), "the last line has a line end");
        let mut families = HashSet::new();
        let mut family = ("", "");
        let mut described = "";
        let mut samples = BTreeMap::new();
        for line in text.lines() {
            if let Some(help) = line.strip_prefix("# HELP ") {
                let (name, words) = help.split_once(' ').unwrap_or_else(|| panic!("{line}"));
                assert!(families.insert(name), "family {name} comes twice");
                assert!(!words.is_empty(), "{line}");
                described = name;
            } else if let Some(kind) = line.strip_prefix("# TYPE ") {
                family = kind.split_once(' ').unwrap_or_else(|| panic!("{line}"));
                assert_eq!(family.0, described, "{line}");
                assert!(["counter", "gauge", "histogram"].contains(&family.1), "{line}");
                let counts = family.1 == "counter";
                assert_eq!(counts, family.0.ends_with("_total"), "counters end in _total: {line}");
            } else {
                let (series, value) = read_sample(line);
                let name = series.split('{').next().unwrap();
                let allowed: &[&str] =
                    if family.1 == "histogram" { &["_bucket", "_sum", "_count"] } else { &[""] };
                let belongs = allowed.iter().any(|suffix| name == format!("{}{suffix}", family.0));
                assert!(belongs, "{line} is in family {}", family.0);
                assert!(samples.insert(series.to_owned(), value).is_none(), "{series} comes twice");
            }
        }
        let read = Self { samples };
        read.check_histograms();
        read
    }

    /// The value of a series, as it is written.
    #[track_caller]
    pub fn value(&self, series: &str) -> f64 {
        *self.samples.get(series).unwrap_or_else(|| panic!("no {series} in {:#?}", self.samples.keys()))
    }

    /// The series of a family.
    pub fn family(&self, name: &str) -> Vec<(&str, f64)> {
        let starts = format!("{name}{{");
        let own = self.samples.iter().filter(|(series, _)| series.starts_with(&starts) || *series == name);
        own.map(|(series, value)| (series.as_str(), *value)).collect()
    }

    /// Buckets are cumulative, and the last one counts everything.
    #[track_caller]
    fn check_histograms(&self) {
        let mut buckets: BTreeMap<String, Vec<(f64, f64)>> = BTreeMap::new();
        for (series, value) in &self.samples {
            if !series.contains("_bucket{") {
                continue;
            }
            let (before, bound) = series.rsplit_once("le=\"").expect("a bucket has a bound");
            let bound = bound.strip_suffix("\"}").expect("the bound is the last label");
            let bound = if bound == "+Inf" { f64::INFINITY } else { bound.parse().unwrap() };
            let labels = before.trim_end_matches([',', '{']);
            let closed = if labels.contains('{') { format!("{labels}}}") } else { labels.to_owned() };
            buckets.entry(closed.replace("_bucket", "_count")).or_default().push((bound, *value));
        }
        for (count, mut buckets) in buckets {
            buckets.sort_by(|a, b| a.0.total_cmp(&b.0));
            assert!(buckets.is_sorted_by(|a, b| a.1 <= b.1), "{count}: {buckets:?}");
            let (last, all) = buckets[buckets.len() - 1];
            assert!(last.is_infinite(), "{count}");
            assert_eq!(all, self.value(&count), "{count}");
            assert!(self.samples.contains_key(&count.replace("_count", "_sum")), "{count}");
        }
    }
}

/// `name{label="value",…} number`
#[track_caller]
fn read_sample(line: &str) -> (&str, f64) {
    let end = match line.find('{') {
        Some(start) => start + 1 + labels_end(&line[start + 1..]).unwrap_or_else(|| panic!("{line}")),
        None => line.find(' ').unwrap_or_else(|| panic!("{line}")),
    };
    let (series, value) = line.split_at(end);
    let name = series.split('{').next().unwrap();
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
    assert!(name.chars().all(is_name) && !name.starts_with(|c: char| c.is_ascii_digit()), "{line}");
    let value = value.strip_prefix(' ').and_then(|value| value.parse().ok());
    (series, value.unwrap_or_else(|| panic!("no number: {line}")))
}

/// Where the labels end, just after the brace.
fn labels_end(text: &str) -> Option<usize> {
    let mut at = 0;
    loop {
        let equals = at + text[at..].find("=\"")?;
        let name = &text[at..equals];
        let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        is_name.then_some(())?;
        at = equals + 2;
        loop {
            match text[at..].chars().next()? {
                '"' => break,
                '\\' => {
                    matches!(text[at + 1..].chars().next()?, '\\' | '"' | 'n').then_some(())?;
                    at += 2;
                }
                c => at += c.len_utf8(),
            }
        }
        at += 1;
        match text[at..].chars().next()? {
            ',' => at += 1,
            '}' => return Some(at + 1),
            _ => return None,
        }
    }
}

#[test]
#[should_panic(expected = "comes twice")]
fn a_series_that_comes_twice_is_seen() {
    Exposition::read("# HELP a_total A.\n# TYPE a_total counter\na_total{b=\"c\"} 1\na_total{b=\"c\"} 2\n");
}

#[test]
#[should_panic(expected = "is in family")]
fn a_sample_of_another_family_is_seen() {
    Exposition::read("# HELP a A.\n# TYPE a gauge\nb 1\n");
}
