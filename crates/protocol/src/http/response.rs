//! A response before it is written to the socket, and the context of the request that determines its format.

use std::borrow::Cow;

use lazuli_model::{DateTime, ErrorCode};

use crate::ApiVersion;
use crate::http::url::Base;

/// Number of header fields for which a response has room without growing.
const FIELDS_USUAL: usize = 20;

/// A header field of a response. Names are sent as they are written here: old .NET clients expect the
/// documented case.
pub type ResponseField = (Cow<'static, str>, Cow<'static, str>);

/// A response.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Response {
    /// The HTTP status.
    pub status: u16,
    /// Header fields that belong to this response; those common to all are added when it is sent.
    pub fields: Vec<ResponseField>,
    /// The body, perhaps empty.
    pub body: Vec<u8>,
    /// Length of content that is streamed in place of `body`, or that a response to HEAD announces.
    pub content_length: Option<u64>,
    /// Was it rejected before it reached the service? Such responses have fewer common headers.
    pub front_end: bool,
    /// The error code, for the log: also that of a failed batch, whose headers do not contain it.
    pub error: Option<ErrorCode>,
}

impl Response {
    /// A response without body.
    pub fn new(status: u16) -> Self {
        Self { status, fields: Vec::with_capacity(FIELDS_USUAL), ..Self::default() }
    }

    /// A response that reports a failure.
    pub fn error(code: ErrorCode) -> Self {
        Self { error: Some(code), ..Self::new(code.status()) }
    }

    /// Adds a header field.
    pub fn with(mut self, name: impl Into<Cow<'static, str>>, value: impl Into<Cow<'static, str>>) -> Self {
        self.fields.push((name.into(), value.into()));
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

/// Where and when a request is handled.
#[derive(Clone, Debug)]
pub struct Context {
    /// The account that was addressed.
    pub account: String,
    /// The base URL of generated URLs.
    pub base: Base,
    /// The server's time.
    pub now: DateTime,
    /// `x-ms-request-id`.
    pub request_id: String,
    /// The version of the request.
    pub version: ApiVersion,
}
