//! One request before it is signed: operations build it, and the pipeline sends it.

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method};
use lazuli_protocol::http::percent;

use crate::account::Endpoint;
use crate::error::{Error, Result};

/// `Accept` of requests that return entities.
pub(crate) const MINIMAL_METADATA: &str = "application/json;odata=minimalmetadata";
/// `Accept` of requests that need no metadata.
pub(crate) const NO_METADATA: &str = "application/json;odata=nometadata";

/// A request, relative to the endpoint it is sent to.
#[derive(Clone, Debug)]
pub(crate) struct TableRequest {
    /// Name of the operation, for spans and logs.
    pub operation: &'static str,
    pub method: Method,
    /// The path after the endpoint, escaped, without a leading slash.
    pub path: String,
    /// Names and values of the query, not escaped.
    pub query: Vec<(&'static str, String)>,
    pub headers: Vec<(HeaderName, String)>,
    pub body: Bytes,
    /// Is it a read?
    pub reads: bool,
    /// Send it to the secondary.
    pub secondary: bool,
    /// May an earlier request for the same operation have been applied?
    pub uncertain: bool,
}

impl TableRequest {
    pub fn new(operation: &'static str, method: Method, path: impl Into<String>) -> Self {
        let reads = method == Method::GET;
        Self {
            operation,
            method,
            path: path.into(),
            query: Vec::new(),
            headers: Vec::new(),
            body: Bytes::new(),
            reads,
            secondary: false,
            uncertain: false,
        }
    }

    /// A request with an XML body or response: policies, properties, stats.
    pub fn xml(operation: &'static str, method: Method, path: impl Into<String>) -> Self {
        Self::new(operation, method, path).header("accept", "application/xml")
    }

    pub fn query(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.query.push((name, value.into()));
        self
    }

    pub fn query_some(self, name: &'static str, value: Option<impl Into<String>>) -> Self {
        match value {
            Some(value) => self.query(name, value),
            None => self,
        }
    }

    pub fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((HeaderName::from_static(name), value.into()));
        self
    }

    pub fn header_some(self, name: &'static str, value: Option<impl Into<String>>) -> Self {
        match value {
            Some(value) => self.header(name, value),
            None => self,
        }
    }

    pub fn body(mut self, content_type: &str, body: impl Into<Bytes>) -> Self {
        self = self.header("content-type", content_type);
        self.body = body.into();
        self
    }

    pub fn at_secondary(mut self, secondary: bool) -> Self {
        self.secondary = secondary;
        self
    }

    pub fn after(mut self, uncertain: bool) -> Self {
        self.uncertain = uncertain;
        self
    }

    /// The request for an endpoint. `token` is a shared access signature.
    pub fn at(&self, endpoint: &Endpoint, token: Option<&str>) -> Result<http::Request<Bytes>> {
        let mut request = http::Request::new(self.body.clone());
        *request.method_mut() = self.method.clone();
        *request.uri_mut() = self
            .url(endpoint, token)
            .parse()
            .map_err(|error| Error::input(format!("invalid URL: {error}")))?;
        for (name, value) in &self.headers {
            let value = HeaderValue::from_str(value)
                .map_err(|_| Error::input(format!("'{value}' is not valid in the header '{name}'")))?;
            request.headers_mut().insert(name.clone(), value);
        }
        Ok(request)
    }

    /// The URL. `token` is a shared access signature.
    pub fn url(&self, endpoint: &Endpoint, token: Option<&str>) -> String {
        let mut out = format!("{}/{}", endpoint.as_str(), self.path).into_bytes();
        let mut separator = b'?';
        for (name, value) in &self.query {
            out.push(separator);
            out.extend_from_slice(name.as_bytes());
            out.push(b'=');
            percent::encode_into(&mut out, value);
            separator = b'&';
        }
        if let Some(token) = token {
            out.push(separator);
            out.extend_from_slice(token.as_bytes());
        }
        String::from_utf8(out).unwrap_or_default()
    }
}

/// Builds a path with a function that writes it.
pub(crate) fn path(write: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut out = Vec::with_capacity(96);
    write(&mut out);
    String::from_utf8(out).unwrap_or_default()
}
