//! The string to sign of a Blob or Queue request, in both forms and with the variants that clients use.
//!
//! The documented string ([`Variant::documented`]) is tried first. Clients disagree in four details; a variant
//! is tried only if it changes the string for the request, so a wrong signature costs at most [`VARIANTS_MAX`]
//! further hashes per key.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::ops::Range;

use lazuli_model::error::Origin;
use lazuli_model::{ErrorCode, Failure};

use super::Scheme;
use crate::http::percent;
use crate::http::query::Query;
use crate::{ApiVersion, Head};

/// Maximum variants of the string to sign that one request is checked against, in addition to the documented
/// one.
pub(super) const VARIANTS_MAX: usize = 48;
/// Length that the string to sign of most requests does not exceed.
const TEXT_BYTES_USUAL: usize = 512;

/// Headers with a line of their own, in this order, between the verb and the canonicalised headers.
const LINES: [&str; 11] = [
    "content-encoding",
    "content-language",
    "content-length",
    "content-md5",
    "content-type",
    "date",
    "if-modified-since",
    "if-match",
    "if-none-match",
    "if-unmodified-since",
    "range",
];
/// The lines that [`Form::Lite`] has: `content-md5`, `content-type` and `date`.
const LITE_LINES: Range<usize> = 3..6;
/// The prefix of the names of the canonicalised headers.
const OWN_PREFIX: &str = "x-ms-";

/// Which parts are signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// All standard headers and the whole query: Shared Key from 2009-09-19 on.
    Full,
    /// Three standard headers and `comp`: Shared Key Lite, and Shared Key of older versions.
    Lite,
}

impl Form {
    pub(super) fn of(scheme: Scheme, version: ApiVersion) -> Self {
        let is_old = version != ApiVersion::NONE && version < ApiVersion::V2009_09_19;
        if scheme == Scheme::SharedKeyLite || is_old { Form::Lite } else { Form::Full }
    }
}

/// The details in which clients disagree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Variant<'p> {
    /// The path, in one of its spellings.
    path: &'p str,
    /// Does a plus sign in the query stand for a space?
    plus_is_space: bool,
    /// Does a run of white space in header values become one space?
    folds: bool,
    /// Are headers sorted as Azure sorts them: hyphens ignored, underscores before digits?
    word_order: bool,
}

impl<'p> Variant<'p> {
    /// The variant that the documentation describes.
    pub(super) fn documented(path: &'p str) -> Self {
        Self { path, plus_is_space: true, folds: true, word_order: false }
    }
}

/// The parts of a request that do not depend on the variant.
pub(super) struct Request<'a, 'h> {
    head: &'a Head<'h>,
    account: &'a str,
    query: Query<'a>,
    version: ApiVersion,
    /// The values of [`LINES`]; empty for absent headers.
    lines: [&'h str; LINES.len()],
    /// The `x-ms-` headers, sorted by their names in ordinal order.
    headers: Vec<(&'h str, &'h str)>,
}

impl<'a, 'h> Request<'a, 'h> {
    /// Collects the signed headers. A signed header that occurs twice is `InvalidHeaderValue`.
    pub(super) fn new(head: &'a Head<'h>, account: &'a str, query: Query<'a>) -> Result<Self, Failure> {
        let version = match ApiVersion::of(head)? {
            // The rules of today apply, which are those of this version.
            ApiVersion::NONE => ApiVersion::V2016_05_31,
            version => version,
        };
        let (mut lines, mut headers) = ([None; LINES.len()], Vec::new());
        let mut repeated = LINES.len();
        for field in head.fields {
            let start = field.name.get(..OWN_PREFIX.len());
            if start.is_some_and(|start| start.eq_ignore_ascii_case(OWN_PREFIX)) {
                headers.push((field.name, field.value));
            } else if let Some(at) = LINES.iter().position(|name| field.name.eq_ignore_ascii_case(name)) {
                if lines[at].is_some() {
                    repeated = repeated.min(at);
                }
                lines[at].get_or_insert(field.value);
            }
        }
        headers.sort_by(|(one, _), (other, _)| ordinal(one, other));
        let twice = headers.windows(2).find(|pair| pair[0].0.eq_ignore_ascii_case(pair[1].0));
        let twice = twice.map(|pair| pair[0].0);
        if let Some(name) = twice.or_else(|| LINES.get(repeated).copied()) {
            let failure = Failure::from(ErrorCode::InvalidHeaderValue).found_in(Origin::FrontEnd);
            return Err(failure.detail("HeaderName", name.to_owned()));
        }
        let lines = lines.map(Option::unwrap_or_default);
        Ok(Self { head, account, query, version, lines, headers })
    }

    /// The string to sign.
    pub(super) fn text(&self, form: Form, variant: &Variant<'_>) -> String {
        let mut out = String::with_capacity(TEXT_BYTES_USUAL);
        out.push_str(self.head.method);
        out.push('\n');
        for at in if form == Form::Full { 0..LINES.len() } else { LITE_LINES } {
            out.push_str(self.line(at));
            out.push('\n');
        }
        self.push_headers(&mut out, variant);
        out.push('/');
        out.push_str(self.account);
        out.push_str(if variant.path.is_empty() { "/" } else { variant.path });
        match form {
            Form::Full => self.push_query(&mut out, variant),
            Form::Lite => {
                if let Some(comp) = self.query.find("comp") {
                    out.push_str("?comp=");
                    out.push_str(&comp);
                }
            }
        }
        out
    }

    /// The value of a standard header on its line.
    fn line(&self, at: usize) -> &'h str {
        let value = self.lines[at];
        match LINES[at] {
            "date" if self.head.get_filled("x-ms-date").is_some() => "",
            "content-length" if value == "0" && self.version >= ApiVersion::V2015_02_21 => "",
            _ => value,
        }
    }

    fn push_headers(&self, out: &mut String, variant: &Variant<'_>) {
        if variant.word_order {
            let mut headers = self.headers.clone();
            headers.sort_by(|(one, _), (other, _)| words(one, other));
            self.push_sorted(out, &headers, variant.folds);
        } else {
            self.push_sorted(out, &self.headers, variant.folds);
        }
    }

    /// Up to 2015-12-11, a header without a value is omitted.
    fn push_sorted(&self, out: &mut String, headers: &[(&str, &str)], folds: bool) {
        for (name, value) in headers {
            if value.is_empty() && self.version < ApiVersion::V2016_05_31 {
                continue;
            }
            let start = out.len();
            out.push_str(name);
            out[start..].make_ascii_lowercase();
            out.push(':');
            if folds && has_runs(value) {
                push_folded(out, value)
            } else {
                out.push_str(value)
            }
            out.push('\n');
        }
    }

    /// Every parameter, sorted by its name in lower case; the values of one that is repeated are sorted, too.
    fn push_query(&self, out: &mut String, variant: &Variant<'_>) {
        if self.query.0.is_empty() {
            return;
        }
        let decoded = |text: &'a str| {
            let decoded =
                if variant.plus_is_space { percent::decode_query(text) } else { percent::decode(text) };
            decoded.unwrap_or(Cow::Borrowed(text))
        };
        let pairs = self.query.0.split('&').filter(|pair| !pair.is_empty());
        let mut pairs: Vec<(Cow<'_, str>, Cow<'_, str>)> = pairs
            .map(|pair| {
                let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
                (lower(decoded(name)), decoded(value))
            })
            .collect();
        pairs.sort_unstable();
        let mut last: Option<&str> = None;
        for (name, value) in &pairs {
            if last == Some(name) {
                out.push(',');
            } else {
                out.push('\n');
                out.push_str(name);
                out.push(':');
            }
            out.push_str(value);
            last = Some(name);
        }
    }

    /// The other strings that known clients sign, if they differ from the documented one for this request.
    pub(super) fn others<'p>(
        &self,
        form: Form,
        path: &'p str,
        paths: &'p [String],
    ) -> Vec<(Form, Variant<'p>)> {
        let first = Variant::documented(path);
        let choices = |differs: bool, documented: bool| {
            std::iter::once(documented).chain(differs.then_some(!documented))
        };
        let folds = self.headers.iter().any(|(_, value)| has_runs(value));
        let order = !self.headers.is_sorted_by(|(one, _), (other, _)| words(one, other).is_le());
        // A request without a version may follow the rules from before 2009-09-19.
        let may_be_old = form == Form::Full && self.head.get_filled("x-ms-version").is_none();
        let mut found = Vec::new();
        for form in std::iter::once(form).chain(may_be_old.then_some(Form::Lite)) {
            for path in std::iter::once(path).chain(paths.iter().map(String::as_str)) {
                for plus_is_space in choices(form == Form::Full && self.query.0.contains('+'), true) {
                    for folds in choices(folds, true) {
                        for word_order in choices(order, false) {
                            found.push((form, Variant { path, plus_is_space, folds, word_order }));
                        }
                    }
                }
            }
        }
        found.retain(|tried| *tried != (form, first));
        found.truncate(VARIANTS_MAX);
        found
    }
}

fn lower(text: Cow<'_, str>) -> Cow<'_, str> {
    if text.bytes().any(|b| b.is_ascii_uppercase()) { Cow::Owned(text.to_ascii_lowercase()) } else { text }
}

/// Orders header names by their bytes, in lower case.
fn ordinal(one: &str, other: &str) -> Ordering {
    // All of them start with the same prefix.
    fn rest(name: &str) -> impl Iterator<Item = u8> {
        name.as_bytes()[OWN_PREFIX.len()..].iter().map(u8::to_ascii_lowercase)
    }
    rest(one).cmp(rest(other))
}

/// Orders header names so that hyphens and apostrophes count only if the names are otherwise equal, and other
/// symbols come before digits; the plus sign is the last symbol.
fn words(one: &str, other: &str) -> Ordering {
    let counts = |b: &u8| !matches!(b, b'-' | b'\'');
    let weigh = |b: u8| (b.is_ascii_alphanumeric(), b == b'+', b.to_ascii_lowercase());
    let one_weights = one.bytes().filter(counts).map(weigh);
    let other_weights = other.bytes().filter(counts).map(weigh);
    one_weights.cmp(other_weights).then_with(|| {
        // If two names differ only in hyphens, the one with the earlier hyphen comes last.
        let skipped = |name: &str| name.bytes().map(|b| !counts(&b)).collect::<Vec<bool>>();
        skipped(one).cmp(&skipped(other))
    })
}

/// Would folding change the value?
fn has_runs(value: &str) -> bool {
    let mut last = 0;
    value.bytes().any(|byte| {
        let before = std::mem::replace(&mut last, byte);
        matches!(byte, b'\t' | b'\r' | b'\n') || (byte == b' ' && before == b' ')
    })
}

/// Appends the value, replacing each run of white space outside quotes by one space.
fn push_folded(out: &mut String, value: &str) {
    let (mut quoted, mut in_run) = (false, false);
    for c in value.chars() {
        quoted ^= c == '"';
        let is_space = !quoted && matches!(c, ' ' | '\t' | '\r' | '\n');
        if !is_space {
            out.push(c);
        } else if !in_run {
            out.push(' ');
        }
        in_run = is_space;
    }
}

#[cfg(test)]
mod tests;
