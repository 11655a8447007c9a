//! Runs the transcripts of a service against a server: one after the other, each with its own resources.

use std::io;

use lazuli_protocol::auth::DEVELOPMENT_ACCOUNT;

use crate::compare::{Difference, DifferenceKind, compare};
use crate::http::{TranscriptResponse, Transport};
use crate::report::{ConformanceReport, TranscriptOutcome, TranscriptVerdict};
use crate::template::Template;
use crate::transcript::{Exchange, Only, group_of};
use crate::values::Values;
use crate::{TRANSCRIPTS, Target, Transcript, request};

/// The selection of transcripts, and how to run them.
#[derive(Clone, Debug)]
pub struct Options {
    /// The server and the account.
    pub target: Target,
    /// Only transcripts whose `service/group/name` contains this.
    pub filter: Option<String>,
    /// Groups to skip, such as `batch` for a server without transactions.
    pub exclude_groups: Vec<String>,
}

impl Options {
    /// Every transcript of the target's service.
    pub fn new(target: Target) -> Self {
        Self { target, filter: None, exclude_groups: Vec::new() }
    }

    fn selects(&self, name: &str) -> bool {
        let is_of_service = name.split('/').next() == Some(self.target.service.label());
        let excluded = self.exclude_groups.iter().any(|excluded| excluded == group_of(name));
        is_of_service && !excluded && self.filter.as_ref().is_none_or(|filter| name.contains(filter.as_str()))
    }
}

/// Runs the embedded transcripts over TCP, with TLS if the endpoint is an `https` URL.
pub fn run(options: &Options) -> ConformanceReport {
    run_on(&mut options.target.client(), options)
}

/// Runs the embedded transcripts over any transport.
pub fn run_on(transport: &mut dyn Transport, options: &Options) -> ConformanceReport {
    let mut outcomes = Vec::new();
    let mut is_reachable = true;
    for (name, file) in TRANSCRIPTS.iter().filter(|(name, _)| options.selects(name)) {
        let outcome = match Transcript::parse(name, file) {
            Ok(transcript) if is_reachable => run_transcript(&transcript, &options.target, transport),
            Ok(transcript) => TranscriptOutcome::of(&transcript, TranscriptVerdict::NotRun, 0, Vec::new()),
            Err(error) => TranscriptOutcome::unreadable(name, &error),
        };
        is_reachable &=
            !outcome.differences.iter().any(|d| d.kind == DifferenceKind::Transport && d.line == 0);
        outcomes.push(outcome);
    }
    ConformanceReport { endpoint: options.target.base.clone(), outcomes }
}

/// Runs one transcript, and deletes the resources that it used.
pub(crate) fn run_transcript(
    transcript: &Transcript,
    target: &Target,
    transport: &mut dyn Transport,
) -> TranscriptOutcome {
    let mut values = Values::new(&target.base, &target.account);
    values.key = Some(target.key.clone());
    let mut run = Run { transcript, target, transport, values, differences: Vec::new(), exchanges: 0 };
    for (name, text) in &transcript.setup.texts {
        run.values.define(name, text.clone());
    }
    match run.set_up() {
        Ok(()) => run.exchanges(),
        Err(difference) => run.differences.push(difference),
    }
    run.clean_up();
    let verdict =
        if run.differences.is_empty() { TranscriptVerdict::Passed } else { TranscriptVerdict::Failed };
    TranscriptOutcome::of(transcript, verdict, run.exchanges, run.differences)
}

struct Run<'a> {
    transcript: &'a Transcript,
    target: &'a Target,
    transport: &'a mut dyn Transport,
    values: Values,
    differences: Vec<Difference>,
    exchanges: usize,
}

impl Run<'_> {
    fn set_up(&mut self) -> Result<(), Difference> {
        for (kind, label) in &self.transcript.setup.made {
            let name = self.values.resource(*kind, label);
            let (method, path, body) = kind.creation(&name);
            self.prepare(method, &path, body.as_deref().map(Template::parse).as_ref())?;
        }
        for (table, body) in &self.transcript.setup.rows {
            self.prepare("POST", &format!("/{{table:{table}}}"), Some(body))?;
        }
        Ok(())
    }

    fn prepare(&mut self, method: &str, path: &str, body: Option<&Template>) -> Result<(), Difference> {
        let failed = |kind, actual: String| Difference {
            kind,
            title: "set up".to_owned(),
            line: 0,
            place: path.to_owned(),
            expected: "success".to_owned(),
            actual,
        };
        let response = request::plain(method, path, body, self.target, &mut self.values)
            .map_err(|reason| failed(DifferenceKind::Setup, reason))
            .and_then(|request| {
                self.transport
                    .exchange(&request)
                    .map_err(|error| failed(DifferenceKind::Transport, error.to_string()))
            })?;
        if (200..300).contains(&response.status) {
            return Ok(());
        }
        let body = String::from_utf8_lossy(&response.body).into_owned();
        Err(failed(DifferenceKind::Setup, format!("{} {body}", response.status)))
    }

    fn exchanges(&mut self) {
        let target = self.target;
        for exchange in self.transcript.exchanges.iter().filter(|exchange| is_for(exchange, target)) {
            let (from, to) = exchange.options.repeat.unwrap_or((0, 0));
            for n in from..=to {
                let before = self.differences.len();
                self.counted(exchange, n);
                let lost = self.differences[before..].iter().any(|d| d.kind == DifferenceKind::Transport);
                if lost {
                    return;
                }
                // Reporting the same difference a thousand times is useless.
                if self.differences.len() > before {
                    break;
                }
            }
        }
    }

    fn counted(&mut self, exchange: &Exchange, n: u64) {
        let (transcript, target) = (self.transcript, self.target);
        let transport = &mut *self.transport;
        let found = self.values.counting(n, |values| {
            let built = request::build(exchange, &transcript.setup, target, values)
                .map_err(|reason| failure(exchange, DifferenceKind::Unsent, reason))?;
            let response = transport
                .exchange(&built)
                .map_err(|error| failure(exchange, DifferenceKind::Transport, error_text(&error)))?;
            Ok(compare_all(exchange, &response, values))
        });
        self.exchanges += 1;
        match found {
            Ok(differences) => self.differences.extend(differences),
            Err(difference) => self.differences.push(difference),
        }
    }

    fn clean_up(&mut self) {
        for (kind, name) in self.values.used() {
            let path = kind.deletion(&name);
            if let Ok(request) = request::plain("DELETE", &path, None, self.target, &mut self.values)
                && self.transport.exchange(&request).is_err()
            {
                return;
            }
        }
    }
}

fn is_for(exchange: &Exchange, target: &Target) -> bool {
    match exchange.options.only {
        None => true,
        Some(Only::Http) => !target.is_https(),
        Some(Only::Path) => target.has_path(),
        Some(Only::Private) => target.account != DEVELOPMENT_ACCOUNT,
    }
}

fn compare_all(exchange: &Exchange, response: &TranscriptResponse, values: &mut Values) -> Vec<Difference> {
    compare(&exchange.title, &exchange.expected, response, values)
}

fn failure(exchange: &Exchange, kind: DifferenceKind, reason: String) -> Difference {
    Difference {
        kind,
        title: exchange.title.clone(),
        line: exchange.line,
        place: "request".to_owned(),
        expected: "a response".to_owned(),
        actual: reason,
    }
}

fn error_text(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => "the connection was closed without a response".to_owned(),
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests;
