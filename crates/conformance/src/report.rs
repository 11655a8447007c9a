//! The results of a run, for people and for programs.

use serde_json::json;

use crate::compare::{Difference, DifferenceKind};
use crate::{Transcript, TranscriptError};

/// The result of a transcript.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TranscriptVerdict {
    /// Every response matched.
    Passed,
    /// There are differences.
    Failed,
    /// The server was no longer reachable.
    NotRun,
}

impl TranscriptVerdict {
    /// The result as one word.
    pub fn name(self) -> &'static str {
        match self {
            TranscriptVerdict::Passed => "ok",
            TranscriptVerdict::Failed => "DIFFERENT",
            TranscriptVerdict::NotRun => "not run",
        }
    }
}

/// The results of one transcript.
#[derive(Clone, Debug)]
pub struct TranscriptOutcome {
    /// `group/name`.
    pub name: String,
    /// The behaviour that the transcript tests.
    pub about: String,
    /// The source of its expectations.
    pub truth: String,
    /// The result.
    pub verdict: TranscriptVerdict,
    /// Exchanges that were done.
    pub exchanges: usize,
    /// The differences found.
    pub differences: Vec<Difference>,
}

impl TranscriptOutcome {
    pub(crate) fn of(
        transcript: &Transcript,
        verdict: TranscriptVerdict,
        exchanges: usize,
        differences: Vec<Difference>,
    ) -> Self {
        Self {
            name: transcript.name.clone(),
            about: transcript.about.clone(),
            truth: transcript.truth.clone(),
            verdict,
            exchanges,
            differences,
        }
    }

    pub(crate) fn unreadable(name: &str, error: &TranscriptError) -> Self {
        let difference = Difference {
            kind: DifferenceKind::Unsent,
            title: String::new(),
            line: error.line,
            place: "transcript".to_owned(),
            expected: "a transcript".to_owned(),
            actual: error.message.clone(),
        };
        Self {
            name: name.to_owned(),
            about: String::new(),
            truth: String::new(),
            verdict: TranscriptVerdict::Failed,
            exchanges: 0,
            differences: vec![difference],
        }
    }
}

/// The results of a run.
#[derive(Clone, Debug)]
pub struct ConformanceReport {
    /// The server.
    pub endpoint: String,
    /// Each transcript, in order.
    pub outcomes: Vec<TranscriptOutcome>,
}

/// The totals of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Transcripts without a difference.
    pub passed: usize,
    /// Transcripts with differences.
    pub failed: usize,
    /// Transcripts that were not run.
    pub not_run: usize,
    /// Exchanges.
    pub exchanges: usize,
    /// Differences.
    pub differences: usize,
}

impl ConformanceReport {
    /// Did every transcript pass?
    pub fn is_clean(&self) -> bool {
        self.outcomes.iter().all(|outcome| outcome.verdict == TranscriptVerdict::Passed)
    }

    /// The numbers.
    pub fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        for outcome in &self.outcomes {
            match outcome.verdict {
                TranscriptVerdict::Passed => counts.passed += 1,
                TranscriptVerdict::Failed => counts.failed += 1,
                TranscriptVerdict::NotRun => counts.not_run += 1,
            }
            counts.exchanges += outcome.exchanges;
            counts.differences += outcome.differences.len();
        }
        counts
    }

    /// A table of the transcripts, with the differences of each, and the totals.
    pub fn table(&self) -> String {
        let width = self.outcomes.iter().map(|outcome| outcome.name.len()).max().unwrap_or(0);
        let mut out = format!("{:width$}  exchanges  result\n", "transcript");
        for outcome in &self.outcomes {
            let (name, exchanges, verdict) = (&outcome.name, outcome.exchanges, outcome.verdict.name());
            out.push_str(&format!("{name:width$}  {exchanges:9}  {verdict}\n"));
            for difference in &outcome.differences {
                out.push_str(&told(outcome, difference));
            }
        }
        let Counts { passed, failed, not_run, exchanges, differences } = self.counts();
        out.push_str(&format!(
            "{}: {passed} transcripts agree, {failed} differ, {not_run} not run; {exchanges} exchanges, {differences} differences\n",
            self.endpoint
        ));
        out
    }

    /// The same as JSON.
    pub fn json(&self) -> String {
        let Counts { passed, failed, not_run, exchanges, differences } = self.counts();
        let outcome = |outcome: &TranscriptOutcome| {
            json!({
                "name": outcome.name,
                "about": outcome.about,
                "truth": outcome.truth,
                "result": outcome.verdict.name().to_lowercase(),
                "exchanges": outcome.exchanges,
                "differences": outcome.differences.iter().map(difference_json).collect::<Vec<_>>(),
            })
        };
        let report = json!({
            "endpoint": self.endpoint,
            "agree": passed,
            "differ": failed,
            "notRun": not_run,
            "exchanges": exchanges,
            "differences": differences,
            "transcripts": self.outcomes.iter().map(outcome).collect::<Vec<_>>(),
        });
        format!("{report:#}\n")
    }
}

fn difference_json(difference: &Difference) -> serde_json::Value {
    json!({
        "kind": difference.kind.name(),
        "exchange": difference.title,
        "line": difference.line,
        "place": difference.place,
        "expected": difference.expected,
        "actual": difference.actual,
    })
}

fn told(outcome: &TranscriptOutcome, difference: &Difference) -> String {
    format!(
        "    {}.http:{} {}: {}\n        {}\n        expected: {}\n        actual:   {}\n",
        outcome.name,
        difference.line,
        difference.title,
        difference.kind.name(),
        difference.place,
        difference.expected,
        difference.actual
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> ConformanceReport {
        let file = "# Shows x.\n# Truth: y\n### t\nGET /\n<<< 200\n";
        let transcript = Transcript::parse("table/a/b", file).unwrap();
        let difference = Difference {
            kind: DifferenceKind::Status,
            title: "t".into(),
            line: 5,
            place: "status".into(),
            expected: "200".into(),
            actual: "404 {\"x\":1}".into(),
        };
        let outcomes = vec![
            TranscriptOutcome::of(&transcript, TranscriptVerdict::Passed, 3, Vec::new()),
            TranscriptOutcome::of(&transcript, TranscriptVerdict::Failed, 1, vec![difference]),
            TranscriptOutcome::of(&transcript, TranscriptVerdict::NotRun, 0, Vec::new()),
        ];
        ConformanceReport { endpoint: "http://h/dev".into(), outcomes }
    }

    #[test]
    fn for_people() {
        let expected = "transcript  exchanges  result\n\
                        table/a/b          3  ok\n\
                        table/a/b          1  DIFFERENT\n";
        let table = report().table();
        let squeezed: Vec<_> =
            table.lines().map(|l| l.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        let wanted: Vec<_> =
            expected.lines().map(|l| l.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        assert_eq!(squeezed[..3], wanted);
        assert_eq!(squeezed[3], "table/a/b.http:5 t: status");
        assert_eq!(squeezed[6], "actual: 404 {\"x\":1}");
        assert_eq!(
            squeezed.last().unwrap(),
            "http://h/dev: 1 transcripts agree, 1 differ, 1 not run; 4 exchanges, 1 differences"
        );
    }

    #[test]
    fn for_programs() {
        let value: serde_json::Value = serde_json::from_str(&report().json()).unwrap();
        assert_eq!(value["differ"], 1);
        assert_eq!(value["transcripts"][1]["differences"][0]["line"], 5);
        assert!(!report().is_clean());
        let empty = ConformanceReport { endpoint: String::new(), outcomes: Vec::new() };
        assert!(empty.is_clean() && empty.counts() == Counts::default());
    }
}
