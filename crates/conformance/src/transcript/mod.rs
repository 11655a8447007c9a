//! A transcript file as data: the resources to set up, the requests to send, and the expected responses.

use std::fmt;

use lazuli_model::Service;

use crate::resource::Resource;
use crate::script::{self, Line};
use crate::template::Template;

/// A transcript.
#[derive(Clone, Debug)]
pub struct Transcript {
    /// `service/group/name`.
    pub name: String,
    /// The service that it is for.
    pub service: Service,
    /// The behaviour that it tests.
    pub about: String,
    /// The source of its expectations.
    pub truth: String,
    /// The requirements that it covers.
    pub requirements: Vec<String>,
    /// The exchanges, in order.
    pub exchanges: Vec<Exchange>,
    pub(crate) setup: Setup,
}

/// Settings that apply to all exchanges of a file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Setup {
    /// Headers of every request.
    pub(crate) headers: Vec<Header>,
    /// Tables, queues and containers to create first: the kind, and the label.
    pub(crate) made: Vec<(Resource, String)>,
    /// Entities to insert first, each with the label of its table.
    pub(crate) rows: Vec<(String, Template)>,
    /// Named strings.
    pub(crate) texts: Vec<(String, Template)>,
}

/// A header line of a request.
#[derive(Clone, Debug)]
pub(crate) enum Header {
    /// Send it.
    Set(String, Template),
    /// Do not send the default.
    Remove(String),
}

/// A request and the expected response.
#[derive(Clone, Debug)]
pub struct Exchange {
    /// The behaviour that it tests.
    pub title: String,
    /// The line where it starts in its file.
    pub line: usize,
    pub(crate) method: String,
    pub(crate) target: Template,
    pub(crate) headers: Vec<Header>,
    pub(crate) options: SendOptions,
    pub(crate) body: Option<Template>,
    pub(crate) expected: Expected,
}

/// The way in which a request is sent.
#[derive(Clone, Debug, Default)]
pub(crate) struct SendOptions {
    /// The scheme that signs it, or `none`.
    pub(crate) sign: Option<String>,
    /// Seconds to add to the current time for the date of the request.
    pub(crate) date_shift_seconds: i64,
    /// The range of `{n}`; the exchange is repeated for each number.
    pub(crate) repeat: Option<(u64, u64)>,
    /// The kind of endpoint to which it applies, if not all.
    pub(crate) only: Option<Only>,
}

/// A kind of endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Only {
    /// One without TLS.
    Http,
    /// An endpoint with the account in its path.
    Path,
    /// An account whose key is not public.
    Private,
}

/// The expected response.
#[derive(Clone, Debug)]
pub(crate) struct Expected {
    pub(crate) line: usize,
    pub(crate) status: u16,
    pub(crate) headers: Vec<ExpectedHeader>,
    pub(crate) mode: Mode,
    pub(crate) body: Template,
    /// The line in the file of each line of the body.
    pub(crate) body_lines: Vec<usize>,
}

impl Expected {
    /// For requests that the runner itself sends.
    pub(crate) fn nothing() -> Self {
        let (headers, body_lines) = (Vec::new(), Vec::new());
        Self { line: 0, status: 0, headers, mode: Mode::Exact, body: Template::default(), body_lines }
    }
}

/// A header line of a response.
#[derive(Clone, Debug)]
pub(crate) struct ExpectedHeader {
    pub(crate) line: usize,
    pub(crate) name: String,
    /// The expected value; `None` if the header must be absent.
    pub(crate) value: Option<Template>,
}

/// How bodies are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Byte for byte.
    Exact,
    /// As JSON values, ignoring the order of members.
    Json,
}

/// The reason why a file is not a transcript.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TranscriptError {
    /// The line.
    pub line: usize,
    /// The mistake.
    pub message: String,
}

impl fmt::Display for TranscriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

impl std::error::Error for TranscriptError {}

const EXCHANGE: &str = "###";
const RESPONSE: &str = "<<<";
const OPTION: &str = "x-lazuli-";

impl Transcript {
    /// Reads a file.
    pub fn parse(name: &str, file: &str) -> Result<Self, TranscriptError> {
        let lines = script::lines(file);
        let starts: Vec<usize> =
            (0..lines.len()).filter(|&at| lines[at].text.starts_with(EXCHANGE)).collect();
        let preface = &lines[..starts.first().copied().unwrap_or(lines.len())];
        let folder = name.split('/').next().unwrap_or_default();
        let service = Service::ALL.into_iter().find(|service| service.label() == folder);
        let service = service.ok_or_else(|| error_at(1, "the first folder must be table, queue or blob"))?;
        let mut transcript = Self {
            name: name.to_owned(),
            service,
            about: String::new(),
            truth: String::new(),
            requirements: Vec::new(),
            exchanges: Vec::new(),
            setup: Setup::default(),
        };
        for line in preface.iter().filter(|line| !line.text.trim().is_empty()) {
            transcript.take_preface(line)?;
        }
        for (index, &start) in starts.iter().enumerate() {
            let end = starts.get(index + 1).copied().unwrap_or(lines.len());
            transcript.exchanges.push(exchange(&lines[start..end])?);
        }
        if transcript.truth.is_empty() || transcript.about.is_empty() {
            return Err(error_at(1, "a transcript must start with a description and a `# Truth:` line"));
        }
        Ok(transcript)
    }

    /// The group: the folder inside that of the service.
    pub fn group(&self) -> &str {
        group_of(&self.name)
    }

    fn make(&mut self, kind: Resource, labels: &str) {
        self.setup.made.extend(labels.split_whitespace().map(|label| (kind, label.to_owned())));
    }

    fn take_preface(&mut self, line: &Line<'_>) -> Result<(), TranscriptError> {
        let Some(comment) = line.text.strip_prefix('#') else { return self.take_setting(line) };
        let comment = comment.trim();
        if let Some(truth) = comment.strip_prefix("Truth:") {
            self.truth = truth.trim().to_owned();
        } else if let Some(ids) = comment.strip_prefix("Requirements:") {
            self.requirements = ids.split(',').map(|id| id.trim().to_owned()).collect();
        } else {
            let space = if self.about.is_empty() { "" } else { " " };
            self.about = format!("{}{space}{comment}", self.about);
        }
        Ok(())
    }

    fn take_setting(&mut self, line: &Line<'_>) -> Result<(), TranscriptError> {
        let header = header(line)?;
        let Header::Set(name, _) = &header else {
            self.setup.headers.push(header);
            return Ok(());
        };
        let Some(option) = name.strip_prefix(OPTION) else {
            self.setup.headers.push(header);
            return Ok(());
        };
        let value = line.text.split_once(':').map_or("", |(_, value)| value.trim());
        let pair = || value.split_once(' ').ok_or_else(|| error(line, "expected two words"));
        match option {
            "tables" => self.make(Resource::Table, value),
            "make" => {
                let (kind, labels) = pair()?;
                let kind =
                    Resource::parse(kind).ok_or_else(|| error(line, "expected table, queue or container"))?;
                self.make(kind, labels);
            }
            "row" => {
                let (table, body) = pair()?;
                self.setup.rows.push((table.to_owned(), Template::parse(body)));
            }
            "let" => {
                let (name, text) = pair()?;
                self.setup.texts.push((name.to_owned(), Template::parse(text)));
            }
            _ => return Err(error(line, "unknown option")),
        }
        Ok(())
    }
}

/// The group in the name of a transcript.
pub(crate) fn group_of(name: &str) -> &str {
    name.split('/').nth(1).unwrap_or_default()
}

fn exchange(lines: &[Line<'_>]) -> Result<Exchange, TranscriptError> {
    let title = &lines[0];
    let response = lines.iter().position(|line| line.text.starts_with(RESPONSE));
    let response = response.ok_or_else(|| error(title, "the exchange has no response (<<<)"))?;
    let first = lines[1..response].iter().position(|line| !line.text.starts_with('#'));
    let first = first.ok_or_else(|| error(title, "the exchange has no request"))? + 1;
    let (head, body) = script::split_body(&lines[first..response]);
    let [request_line, header_lines @ ..] = head else {
        return Err(error(title, "the exchange has no request"));
    };
    let (method, target) = request_line
        .text
        .split_once(' ')
        .ok_or_else(|| error(request_line, "a request must start with a verb and a path"))?;
    let mut exchange = Exchange {
        title: title.text.trim_start_matches('#').trim().to_owned(),
        line: title.number,
        method: method.to_owned(),
        target: Template::parse(target.trim_end()),
        headers: Vec::new(),
        options: SendOptions::default(),
        body: None,
        expected: expected(&lines[response..])?,
    };
    let mut end_of_line = "\n";
    for line in header_lines {
        match option(line) {
            Some(("sign", value)) => exchange.options.sign = Some(value.to_owned()),
            Some(("date", value)) => exchange.options.date_shift_seconds = shift(line, value)?,
            Some(("repeat", value)) => exchange.options.repeat = Some(range(line, value)?),
            Some(("only", "http")) => exchange.options.only = Some(Only::Http),
            Some(("only", "path")) => exchange.options.only = Some(Only::Path),
            Some(("only", "private")) => exchange.options.only = Some(Only::Private),
            Some(("eol", "crlf")) => end_of_line = "\r\n",
            Some(_) => return Err(error(line, "unknown option")),
            None => exchange.headers.push(header(line)?),
        }
    }
    if !body.is_empty() {
        exchange.body = Some(body_template(body, end_of_line));
    }
    Ok(exchange)
}

fn expected(lines: &[Line<'_>]) -> Result<Expected, TranscriptError> {
    let (head, body) = script::split_body(lines);
    let first = &head[0];
    let mut words = first.text.trim_start_matches('<').split_whitespace();
    let status = words.next().and_then(|word| word.parse().ok());
    let mut expected = Expected {
        line: first.number,
        status: status.ok_or_else(|| error(first, "a response must start with its status"))?,
        headers: Vec::new(),
        mode: Mode::Exact,
        body: Template::default(),
        body_lines: body.iter().map(|line| line.number).collect(),
    };
    let mut end_of_line = "\n";
    for word in words {
        match word {
            "json" => expected.mode = Mode::Json,
            "crlf" => end_of_line = "\r\n",
            _ => return Err(error(first, "unknown comparison; expected `json`, `crlf` or nothing")),
        }
    }
    for line in &head[1..] {
        expected.headers.push(expected_header(line)?);
    }
    expected.body = body_template(body, end_of_line);
    Ok(expected)
}

fn expected_header(line: &Line<'_>) -> Result<ExpectedHeader, TranscriptError> {
    if let Some(absent) = line.text.strip_prefix('!') {
        return Ok(ExpectedHeader { line: line.number, name: absent.trim().to_owned(), value: None });
    }
    match header(line)? {
        Header::Set(name, value) => Ok(ExpectedHeader { line: line.number, name, value: Some(value) }),
        Header::Remove(_) => Err(error(line, "write a header that must be absent with `!`")),
    }
}

fn header(line: &Line<'_>) -> Result<Header, TranscriptError> {
    if let Some(removed) = line.text.strip_prefix('-') {
        return Ok(Header::Remove(removed.trim().to_owned()));
    }
    let (name, value) = line.text.split_once(':').ok_or_else(|| error(line, "a header needs a colon"))?;
    let is_name = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b));
    if !is_name {
        return Err(error(line, "invalid header name"));
    }
    Ok(Header::Set(name.to_owned(), Template::parse(value.trim())))
}

/// An instruction to the runner, written like a header.
fn option<'l>(line: &'l Line<'_>) -> Option<(&'l str, &'l str)> {
    let (name, value) = line.text.split_once(':')?;
    Some((name.strip_prefix(OPTION)?, value.trim()))
}

/// `-16m`, `30s`.
fn shift(line: &Line<'_>, text: &str) -> Result<i64, TranscriptError> {
    let (number, unit) = match (text.strip_suffix('m'), text.strip_suffix('s')) {
        (Some(number), _) => (number, 60),
        (_, Some(number)) => (number, 1),
        _ => (text, 1),
    };
    let number = number.parse::<i32>().map_err(|_| error(line, "expected a time such as -16m"))?;
    Ok(i64::from(number) * unit)
}

/// `1..1000`.
fn range(line: &Line<'_>, text: &str) -> Result<(u64, u64), TranscriptError> {
    let parsed = text.split_once("..").and_then(|(from, to)| Some((from.parse().ok()?, to.parse().ok()?)));
    parsed.ok_or_else(|| error(line, "expected a range such as 1..1000"))
}

fn body_template(lines: &[Line<'_>], end_of_line: &str) -> Template {
    let texts: Vec<&str> = lines.iter().map(|line| line.text.as_ref()).collect();
    Template::parse(&texts.join(end_of_line))
}

fn error(line: &Line<'_>, message: &str) -> TranscriptError {
    error_at(line.number, message)
}

fn error_at(line: usize, message: &str) -> TranscriptError {
    TranscriptError { line, message: message.to_owned() }
}

#[cfg(test)]
mod tests;
