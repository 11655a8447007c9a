//! The values of a transcript's placeholders during one run.
//!
//! A name keeps its value until the end of the file: later requests send the value that was captured from a
//! response, and later responses must repeat it. Two names of ETags never share a value, because two commits
//! never share an ETag.

mod piece;

use std::collections::HashMap;

use lazuli_model::DateTime;
use lazuli_protocol::auth::AccountKey;
use lazuli_protocol::auth::sas::{Presented, Token};
use lazuli_protocol::http::percent;
use lazuli_protocol::http::query::Query;

use crate::forms::{error_end, error_start, json_escaped, message_end, xml_escaped};
use crate::resource::Resource;
use crate::system;
use crate::template::{Template, TemplatePart};
pub(crate) use piece::{Capture, Piece, etag_of};
use piece::{Pieces, TEXT_BYTES_MAX, capture_of, key_of};

/// The values of one run of one transcript.
#[derive(Debug)]
pub(crate) struct Values {
    base: String,
    scheme: String,
    root: String,
    host: String,
    account: String,
    prefix: String,
    used: Vec<(Resource, String)>,
    texts: HashMap<String, Template>,
    captured: HashMap<String, String>,
    etag_names: HashMap<String, String>,
    counters: Vec<u64>,
    /// The time in requests.
    pub(crate) now: DateTime,
    /// The request id of the current response.
    pub(crate) request_id: Option<String>,
    /// The key that signs `{sas:…}`.
    pub(crate) key: Option<AccountKey>,
}

impl Values {
    /// No captured values, and a new prefix for names.
    pub(crate) fn new(base: &str, account: &str) -> Self {
        let (scheme, authority) = base.split_once("://").unwrap_or(("http", base));
        let (host, root) = authority.find('/').map_or((authority, ""), |at| authority.split_at(at));
        Self {
            base: base.to_owned(),
            scheme: scheme.to_owned(),
            root: root.to_owned(),
            host: host.to_owned(),
            account: account.to_owned(),
            prefix: system::table_prefix(),
            used: Vec::new(),
            texts: HashMap::new(),
            captured: HashMap::new(),
            etag_names: HashMap::new(),
            counters: Vec::new(),
            now: DateTime::MIN,
            request_id: None,
            key: None,
        }
    }

    /// The path prefix of every resource: the account in path style, empty in host style.
    pub(crate) fn root(&self) -> &str {
        &self.root
    }

    /// The authority of the endpoint.
    pub(crate) fn host(&self) -> &str {
        &self.host
    }

    /// Stores a string under a name, for `{use:name}`.
    pub(crate) fn define(&mut self, name: &str, text: Template) {
        self.texts.insert(name.to_owned(), text);
    }

    /// The name of a resource of this run.
    pub(crate) fn resource(&mut self, kind: Resource, label: &str) -> String {
        let name = kind.name(&self.prefix, label);
        let entry = (kind, name.clone());
        if !self.used.contains(&entry) {
            self.used.push(entry);
        }
        name
    }

    /// All resources named so far.
    pub(crate) fn used(&self) -> Vec<(Resource, String)> {
        self.used.clone()
    }

    /// Runs a closure with a number as the value of `{n}`.
    pub(crate) fn counting<T>(&mut self, n: u64, run: impl FnOnce(&mut Self) -> T) -> T {
        self.counters.push(n);
        let result = run(self);
        self.counters.pop();
        result
    }

    /// Fills in a request: every placeholder must have a value or generate one.
    pub(crate) fn render(&mut self, template: &Template) -> Result<String, String> {
        let mut out = String::new();
        for piece in self.fill(template)? {
            match piece {
                Piece::Text(text) => out.push_str(&text),
                Piece::Capture(kind, name, _) => out.push_str(&self.value_to_send(kind, name.as_deref())?),
            }
        }
        Ok(out)
    }

    fn value_to_send(&mut self, kind: Capture, name: Option<&str>) -> Result<String, String> {
        if kind == Capture::Date {
            return Ok(self.now.http().as_str().to_owned());
        }
        let Some(name) = name else {
            return match kind {
                Capture::Id => Ok(system::guid()),
                _ => Err(format!("a placeholder of kind {kind:?} in a request needs a name")),
            };
        };
        let key = key_of(kind, name);
        match self.captured.get(&key) {
            Some(value) if kind == Capture::Etag => Ok(etag_of(value)),
            Some(value) => Ok(value.clone()),
            None if kind == Capture::Id => {
                let id = system::guid();
                self.captured.insert(key, id.clone());
                Ok(id)
            }
            None => Err(format!("nothing was captured for {{{key}}}")),
        }
    }

    /// Compares the value of a named capture with the value of that name, or stores it.
    pub(crate) fn settle(&mut self, kind: Capture, name: &str, value: &str) -> Result<(), String> {
        let key = key_of(kind, name);
        match self.captured.get(&key) {
            Some(known) if known == value => return Ok(()),
            Some(known) => return Err(format!("{{{key}}} was {known} before, here it is {value}")),
            None => {}
        }
        if matches!(kind, Capture::Etag | Capture::Stamp)
            && let Some(other) = self.etag_names.insert(value.to_owned(), name.to_owned())
        {
            return Err(format!("{{etag:{name}}} has the value of {{etag:{other}}}: {value}"));
        }
        self.captured.insert(key, value.to_owned());
        Ok(())
    }

    /// Fills in everything that does not depend on the response.
    pub(crate) fn fill(&mut self, template: &Template) -> Result<Vec<Piece>, String> {
        let mut out = Pieces::default();
        self.fill_into(template, &mut out)?;
        Ok(out.pieces)
    }

    fn fill_into(&mut self, template: &Template, out: &mut Pieces) -> Result<(), String> {
        for part in &template.parts {
            match part {
                TemplatePart::Text(text) => out.text(text)?,
                TemplatePart::Placeholder { name, arguments, line } => {
                    self.fill_placeholder(name, arguments, *line, out)?
                }
            }
        }
        Ok(())
    }

    fn fill_placeholder(
        &mut self,
        name: &str,
        arguments: &[Template],
        line: usize,
        out: &mut Pieces,
    ) -> Result<(), String> {
        if let Some(kind) = capture_of(name) {
            let label = self.argument(name, arguments).ok().map(|label| self.render(label)).transpose()?;
            out.pieces.push(Piece::Capture(kind, label, line));
            return Ok(());
        }
        match (name, arguments) {
            ("each", [from, to, body]) => self.each(from, to, body, out),
            ("error" | "xml" | "oldxml" | "frontxml" | "storage", [code, message, details @ ..]) => {
                self.error(name, code, message, line, out)?;
                if let [details] = details {
                    self.fill_into(details, out)?;
                }
                out.text(error_end(name))
            }
            ("use", [label]) => {
                let label = self.render(label)?;
                let text = self.texts.get(&label).cloned();
                self.fill_into(&text.ok_or_else(|| format!("unknown name {label}"))?, out)
            }
            _ => {
                let text = self.constant(name, arguments)?;
                out.text(&text)
            }
        }
    }

    /// Placeholders whose value is known before the response.
    fn constant(&mut self, name: &str, arguments: &[Template]) -> Result<String, String> {
        Ok(match name {
            "account" => self.account.clone(),
            "base" => self.base.clone(),
            "bom" => "\u{feff}".to_owned(),
            "crlf" => "\r\n".to_owned(),
            "host" => self.host.clone(),
            "lf" => "\n".to_owned(),
            "prefix" => self.prefix.clone(),
            "root" => self.root.clone(),
            "scheme" => self.scheme.clone(),
            "n" => return self.counter(arguments),
            "repeat" => return self.repeat(arguments),
            _ => {
                let inner = self.argument(name, arguments)?;
                let inner = self.render(inner)?;
                match name {
                    _ if Resource::parse(name).is_some() => {
                        Resource::parse(name).map(|kind| self.resource(kind, &inner)).unwrap_or_default()
                    }
                    "lower" => inner.to_lowercase(),
                    "upper" => inner.to_uppercase(),
                    "sas" => self.signed(&inner)?,
                    "url" => {
                        let mut out = Vec::new();
                        percent::encode_into(&mut out, &inner);
                        String::from_utf8_lossy(&out).into_owned()
                    }
                    _ => return Err(format!("{{{name}}} cannot be filled")),
                }
            }
        })
    }

    /// The parameters of a shared access signature, with the signature. `name?` before them is the queue,
    /// container or blob that it covers.
    fn signed(&self, text: &str) -> Result<String, String> {
        let (resource, parameters) = text.split_once('?').unwrap_or(("", text));
        let key = self.key.as_ref().ok_or("{sas} needs a key to sign with")?;
        let query = format!("{parameters}&sig=");
        let mut token = Token::parse(Query(&query)).unwrap_or_default();
        if !token.sign(Presented::resource(&self.account, resource), key) {
            return Err(format!("{parameters} cannot be signed as a shared access signature"));
        }
        Ok(token.to_query())
    }

    fn argument<'t>(&self, name: &str, arguments: &'t [Template]) -> Result<&'t Template, String> {
        arguments.first().ok_or_else(|| format!("{{{name}}} needs an argument after a colon"))
    }

    fn number(&mut self, template: &Template) -> Result<usize, String> {
        let text = self.render(template)?;
        text.trim().parse().map_err(|_| format!("{text} is not a number"))
    }

    fn counter(&mut self, arguments: &[Template]) -> Result<String, String> {
        let width = arguments.first().map(|width| self.number(width)).transpose()?.unwrap_or(0);
        let n = self.counters.last().ok_or("{n} has no value here")?;
        Ok(format!("{n:0width$}"))
    }

    fn repeat(&mut self, arguments: &[Template]) -> Result<String, String> {
        let [text, times] = arguments else { return Err("{repeat} needs a string and a number".to_owned()) };
        let (text, times) = (self.render(text)?, self.number(times)?);
        if text.len().saturating_mul(times) > TEXT_BYTES_MAX {
            return Err("{repeat} expands to too much text".to_owned());
        }
        Ok(text.repeat(times))
    }

    fn each(
        &mut self,
        from: &Template,
        to: &Template,
        body: &Template,
        out: &mut Pieces,
    ) -> Result<(), String> {
        let (from, to) = (self.number(from)?, self.number(to)?);
        for n in from..=to {
            self.counting(n as u64, |values| values.fill_into(body, out))?;
        }
        Ok(())
    }

    /// The body of an error up to the end of its message, with the trailer that every error has.
    fn error(
        &mut self,
        form: &str,
        code: &Template,
        message: &Template,
        line: usize,
        out: &mut Pieces,
    ) -> Result<(), String> {
        let code = self.render(code)?;
        let message = self.fill(message)?;
        let open = error_start(form, &code);
        let json = form == "error";
        out.text(&open)?;
        for piece in message {
            match piece {
                Piece::Text(text) if json => out.text(&json_escaped(&text))?,
                Piece::Text(text) => out.text(&xml_escaped(&text))?,
                capture @ Piece::Capture(..) => out.pieces.push(capture),
            }
        }
        let newline = if json { "\\n" } else { "\n" };
        out.text(newline)?;
        out.text("RequestId:")?;
        out.pieces.push(Piece::Capture(Capture::RequestId, None, line));
        out.text(newline)?;
        out.text("Time:")?;
        out.pieces.push(Piece::Capture(Capture::Time7, None, line));
        out.text(message_end(form))
    }
}

#[cfg(test)]
mod tests;
