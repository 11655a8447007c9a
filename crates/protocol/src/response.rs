//! An answer before it is put on the socket, and what every answer's look depends on.

use std::borrow::Cow;

use lazuli_model::{DateTime, ErrorCode};

use crate::media::Format;
use crate::url::Base;
use crate::{ApiVersion, Head};

/// Header fields that most answers have room for without growing.
const FIELDS_USUAL: usize = 12;

/// A header field of an answer. Names go out as they are written here: old .NET clients look for the documented case.
pub type Field = (&'static str, Cow<'static, str>);

/// An answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Response {
    /// The HTTP status.
    pub status: u16,
    /// Header fields that belong to this answer; those common to all are added when it is sent.
    pub fields: Vec<Field>,
    /// The body, perhaps empty.
    pub body: Vec<u8>,
    /// Was it refused before the table service saw it? Such answers carry fewer common headers.
    pub front_end: bool,
    /// Why it is an error, or why the batch that it answers failed: for the log, whatever the headers say.
    pub error: Option<ErrorCode>,
}

impl Response {
    /// An answer without body.
    pub fn new(status: u16) -> Self {
        Self { status, fields: Vec::with_capacity(FIELDS_USUAL), ..Self::default() }
    }

    /// An answer that tells of a failure.
    pub fn refusal(code: ErrorCode) -> Self {
        Self { error: Some(code), ..Self::new(code.status()) }
    }

    /// Adds a header field.
    pub fn with(mut self, name: &'static str, value: impl Into<Cow<'static, str>>) -> Self {
        self.fields.push((name, value.into()));
        self
    }

    /// Adds a header field if there is a value.
    pub fn with_some(self, name: &'static str, value: Option<impl Into<Cow<'static, str>>>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    /// Sets the body.
    pub fn with_body(mut self, body: Vec<u8>) -> Self {
        self.body = body;
        self
    }

    /// The value of a header field.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.fields
            .iter()
            .find(|(given, _)| given.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_ref())
    }
}

/// What `Prefer` asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prefer {
    /// `return-content`.
    Content,
    /// `return-no-content`.
    NoContent,
}

impl Prefer {
    /// The wish of a request, if its version knows the header.
    pub fn of(head: &Head<'_>, version: ApiVersion) -> Option<Self> {
        let text = head.get("prefer").filter(|_| version >= ApiVersion::V2013_08_15)?;
        text.split(',').find_map(|wish| match wish.trim() {
            "return-content" => Some(Prefer::Content),
            "return-no-content" => Some(Prefer::NoContent),
            _ => None,
        })
    }

    /// The value of `Preference-Applied`.
    pub fn applied(self) -> &'static str {
        match self {
            Prefer::Content => "return-content",
            Prefer::NoContent => "return-no-content",
        }
    }
}

/// The properties that `$select` names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Select {
    /// The text, which the answer repeats.
    pub echo: String,
    /// The names; `None` for all.
    pub names: Option<Vec<String>>,
}

/// Where and when a request is answered.
#[derive(Clone, Debug)]
pub struct Context {
    /// The account that was addressed.
    pub account: String,
    /// The base of generated URLs.
    pub base: Base,
    /// The server's time.
    pub now: DateTime,
    /// `x-ms-request-id`.
    pub request_id: String,
    /// The version that was asked for.
    pub version: ApiVersion,
}

/// How the answer to a request is to look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// The format of its body.
    pub format: Format,
    /// What `Prefer` asked for.
    pub prefer: Option<Prefer>,
    /// What `$select` asked for.
    pub select: Option<Select>,
}

impl Shape {
    /// The look of an answer to a request that was not understood.
    pub fn fallback(version: ApiVersion) -> Self {
        Self { format: Format::default_of(version), prefer: None, select: None }
    }

    /// The names to return, if not all.
    pub fn selected(&self) -> Option<&[String]> {
        self.select.as_ref()?.names.as_deref()
    }
}

/// The fields that every answer of the table service proper carries.
pub fn odata_fields(version: ApiVersion) -> impl Iterator<Item = Field> {
    let nosniff =
        (version >= ApiVersion::V2013_08_15).then_some(("X-Content-Type-Options", Cow::Borrowed("nosniff")));
    [Some(("Cache-Control", Cow::Borrowed("no-cache"))), nosniff].into_iter().flatten()
}
