//! Compares a response with the one in the transcript.

use crate::expect::{Mismatch, fit, shown};
use crate::http::TranscriptResponse;
use crate::json::fit_json;
use crate::transcript::{Expected, ExpectedHeader, Mode};
use crate::values::Values;

/// The part of a response that differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DifferenceKind {
    /// The status.
    Status,
    /// A header is missing, unexpected, or has another value.
    Header,
    /// A header name has another letter case.
    HeaderCase,
    /// The body.
    Body,
    /// No response arrived.
    Transport,
    /// The tables or entities that the transcript needs could not be created.
    Setup,
    /// The request could not be built, because an earlier response lacks a value that it needs.
    Unsent,
}

impl DifferenceKind {
    /// A short name.
    pub fn name(self) -> &'static str {
        match self {
            DifferenceKind::Status => "status",
            DifferenceKind::Header => "header",
            DifferenceKind::HeaderCase => "header case",
            DifferenceKind::Body => "body",
            DifferenceKind::Transport => "transport",
            DifferenceKind::Setup => "setup",
            DifferenceKind::Unsent => "unsent",
        }
    }
}

/// One difference between a response and its transcript.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The part that differs.
    pub kind: DifferenceKind,
    /// The exchange.
    pub title: String,
    /// The line of the transcript that did not match.
    pub line: usize,
    /// Where in the response.
    pub place: String,
    /// The expected value.
    pub expected: String,
    /// The value that arrived.
    pub actual: String,
}

/// Maximum characters shown of either side.
const SHOWN_CHARS_MAX: usize = 200;
/// Maximum length of the matching part that is shown before the difference.
const CONTEXT_CHARS: usize = 48;

/// All differences of a response. Stores the values of its captures.
pub(crate) fn compare(
    title: &str,
    expected: &Expected,
    response: &TranscriptResponse,
    values: &mut Values,
) -> Vec<Difference> {
    let mut comparison = Comparison { title, expected, response, values, differences: Vec::new() };
    comparison.values.request_id =
        crate::http::header(&response.headers, "x-ms-request-id").map(str::to_owned);
    if response.status == expected.status {
        for header in &expected.headers {
            comparison.header(header);
        }
        comparison.body();
    } else {
        comparison.status();
    }
    comparison.differences
}

struct Comparison<'a> {
    title: &'a str,
    expected: &'a Expected,
    response: &'a TranscriptResponse,
    values: &'a mut Values,
    differences: Vec<Difference>,
}

impl Comparison<'_> {
    fn differ(&mut self, kind: DifferenceKind, line: usize, place: &str, expected: String, actual: String) {
        let title = self.title.to_owned();
        self.differences.push(Difference { kind, title, line, place: place.to_owned(), expected, actual });
    }

    fn status(&mut self) {
        let body = shorten(&String::from_utf8_lossy(&self.response.body));
        let actual = format!("{} {body}", self.response.status);
        self.differ(
            DifferenceKind::Status,
            self.expected.line,
            "status",
            self.expected.status.to_string(),
            actual,
        );
    }

    fn header(&mut self, header: &ExpectedHeader) {
        let name = &header.name;
        if name.eq_ignore_ascii_case("x-lazuli-continue") {
            return self.continued(header);
        }
        let found = self.response.headers.iter().find(|(given, _)| given.eq_ignore_ascii_case(name));
        match (&header.value, found) {
            (None, None) => {}
            (None, Some((given, value))) => {
                let actual = format!("{given}: {value}");
                self.differ(DifferenceKind::Header, header.line, name, "no such header".to_owned(), actual);
            }
            (Some(_), None) => {
                self.differ(
                    DifferenceKind::Header,
                    header.line,
                    name,
                    "the header".to_owned(),
                    "none".to_owned(),
                );
            }
            (Some(template), Some((given, value))) => {
                if given != name {
                    self.differ(DifferenceKind::HeaderCase, header.line, name, name.clone(), given.clone());
                }
                let fits = match self.values.fill(template) {
                    Ok(pieces) => fit(&pieces, value, self.values)
                        .map_err(|mismatch| explain(&Mismatch { expected: shown("", &pieces), ..mismatch })),
                    Err(reason) => Err(reason),
                };
                if let Err(reason) = fits {
                    self.differ(DifferenceKind::Header, header.line, name, reason, value.clone());
                }
            }
        }
    }

    /// Did the server request the body with `100 Continue`? Checked only if the transport reports it.
    fn continued(&mut self, header: &ExpectedHeader) {
        let Some(continued) = self.response.continued else { return };
        let expected = header.value.as_ref().and_then(|value| self.values.render(value).ok());
        let actual = if continued { "yes" } else { "no" };
        if expected.as_deref() != Some(actual) {
            let expected = expected.unwrap_or_default();
            self.differ(DifferenceKind::Header, header.line, "100 Continue", expected, actual.to_owned());
        }
    }

    fn body(&mut self) {
        let text = String::from_utf8_lossy(&self.response.body).into_owned();
        let first_line = self.expected.body_lines.first().copied().unwrap_or(self.expected.line);
        let pieces = match self.values.fill(&self.expected.body) {
            Ok(pieces) => pieces,
            Err(reason) => {
                return self.differ(DifferenceKind::Body, first_line, "body", reason, shorten(&text));
            }
        };
        match self.expected.mode {
            Mode::Exact => {
                if let Err(mismatch) = fit(&pieces, &text, self.values) {
                    let line = self.expected.body_lines.get(mismatch.line).copied().unwrap_or(first_line);
                    let place = format!("body, behind {}", before(&text, mismatch.at));
                    let actual = shorten(&text[mismatch.at..]);
                    self.differ(DifferenceKind::Body, line, &place, explain(&mismatch), actual);
                }
            }
            Mode::Json => {
                if let Err(found) = fit_json(&pieces, &text, self.values) {
                    let place = format!("body, {}", found.path);
                    let actual = shorten(&found.actual);
                    self.differ(DifferenceKind::Body, first_line, &place, shorten(&found.expected), actual);
                }
            }
        }
    }
}

fn explain(mismatch: &Mismatch) -> String {
    let expected = shorten(&mismatch.expected);
    match &mismatch.reason {
        Some(reason) => format!("{expected} ({reason})"),
        None => expected,
    }
}

/// The end of the matching part.
fn before(text: &str, at: usize) -> String {
    let fitted = &text[..at];
    let start = fitted.char_indices().rev().nth(CONTEXT_CHARS - 1).map_or(0, |(start, _)| start);
    let dots = if start > 0 { "…" } else { "" };
    format!("{dots}{}", visible(&fitted[start..]))
}

/// A string for a report: truncated, with visible line ends.
fn shorten(text: &str) -> String {
    let cut: String = text.chars().take(SHOWN_CHARS_MAX).collect();
    let dots = if cut.len() < text.len() { "…" } else { "" };
    if cut.is_empty() { "(nothing)".to_owned() } else { format!("{}{dots}", visible(&cut)) }
}

fn visible(text: &str) -> String {
    text.replace('\r', "\\r").replace('\n', "\\n").replace('\t', "\\t")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Transcript;

    fn differences(script: &str, response: &TranscriptResponse) -> Vec<String> {
        let file = format!("# x\n# Truth: y\n### t\nGET /\n{script}");
        let transcript = Transcript::parse("table/a/b", &file).unwrap();
        let mut values = Values::new("http://h/dev", "dev");
        compare("t", &transcript.exchanges[0].expected, response, &mut values)
            .into_iter()
            .map(|d| format!("{} {}: {}: {} / {}", d.line, d.kind.name(), d.place, d.expected, d.actual))
            .collect()
    }

    fn response(headers: &[(&str, &str)], body: &str) -> TranscriptResponse {
        let headers = headers.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
        TranscriptResponse { status: 200, headers, body: body.into(), ..TranscriptResponse::default() }
    }

    #[track_caller]
    fn check(script: &str, response: &TranscriptResponse, expected: &[&str]) {
        assert_eq!(differences(script, response), expected);
    }

    #[test]
    fn equal_responses_have_no_differences() {
        let received = response(&[("ETag", "a"), ("Other", "b")], "x\ny");
        check("<<< 200\nETag: a\n!Location\n\nx\ny\n", &received, &[]);
        check("<<< 200 json\n\n{\"b\":1,\"a\":2}\n", &response(&[], "{\"a\":2,\"b\":1}"), &[]);
        check("<<< 200\n", &response(&[], ""), &[]);
    }

    #[test]
    fn differences_are_reported_with_line_and_both_sides() {
        check("<<< 201\n", &response(&[], "body"), &["5 status: status: 201 / 200 body"]);
        check("<<< 200\n", &response(&[], "body"), &["5 body: body, behind : (the end) / body"]);
        check("<<< 200\nETag: a\n", &response(&[], ""), &["6 header: ETag: the header / none"]);
        check("<<< 200\nETag: a\n", &response(&[("ETag", "b")], ""), &["6 header: ETag: a / b"]);
        check("<<< 200\nETag: a\n", &response(&[("etag", "a")], ""), &["6 header case: ETag: ETag / etag"]);
        check(
            "<<< 200\n!ETag\n",
            &response(&[("etag", "b")], ""),
            &["6 header: ETag: no such header / etag: b"],
        );
        check(
            "<<< 200\n\nfirst\nsecond\n",
            &response(&[], "first\nother"),
            &["8 body: body, behind first\\n: second / other"],
        );
        check("<<< 200 json\n\n{\"a\":1}\n", &response(&[], "{\"a\":2}"), &["7 body: body, $.a: 1 / 2"]);
        check(
            "<<< 200\n\n{id}\n",
            &response(&[], "x"),
            &["7 body: body, behind : {id} (not a GUID in lower case) / x"],
        );
    }

    #[test]
    fn whether_the_body_was_asked_for_counts_where_it_is_known() {
        let mut received = response(&[], "");
        check("<<< 200\nx-lazuli-continue: no\n", &received, &[]);
        received.continued = Some(true);
        check("<<< 200\nx-lazuli-continue: no\n", &received, &["6 header: 100 Continue: no / yes"]);
    }
}
