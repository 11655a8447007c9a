//! One request to the Blob or Queue service.

use lazuli_protocol::http::percent;

/// A request, except for the account, the date and the signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StorageRequest {
    /// The HTTP verb.
    pub method: &'static str,
    /// The path below the account, escaped; empty for the account itself.
    pub path: String,
    /// The parameters, in order.
    pub query: Vec<(&'static str, String)>,
    /// The headers, in order.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
    /// May it be sent again if there is no response? Only if it is idempotent.
    pub is_repeatable: bool,
}

impl StorageRequest {
    /// A request on a path of names, which are escaped here.
    pub fn new(method: &'static str, names: &[&str]) -> Self {
        let mut path = String::new();
        for name in names {
            path.push('/');
            path.push_str(&escape_path(name));
        }
        let is_repeatable = matches!(method, "GET" | "HEAD");
        Self { method, path, query: Vec::new(), headers: Vec::new(), body: Vec::new(), is_repeatable }
    }

    /// Adds a parameter.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl ToString) -> Self {
        self.query.push((name, value.to_string()));
        self
    }

    /// Adds a parameter if there is a value.
    #[must_use]
    pub fn maybe(self, name: &'static str, value: Option<impl ToString>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl ToString) -> Self {
        self.headers.push((name.into(), value.to_string()));
        self
    }

    /// Adds a header if there is a value.
    #[must_use]
    pub fn maybe_header(self, name: &str, value: Option<impl ToString>) -> Self {
        match value {
            Some(value) => self.header(name, value),
            None => self,
        }
    }

    /// The same with metadata.
    #[must_use]
    pub fn metadata(mut self, pairs: &[(String, String)]) -> Self {
        for (name, value) in pairs {
            self = self.header(format!("x-ms-meta-{name}"), value);
        }
        self
    }

    /// Sets the body.
    #[must_use]
    pub fn body(mut self, body: Vec<u8>) -> Self {
        self.body = body;
        self
    }

    /// Allows sending the request again if there is no response.
    #[must_use]
    pub fn repeatable(mut self) -> Self {
        self.is_repeatable = true;
        self
    }

    /// Path and query.
    pub fn target(&self) -> String {
        let mut target = self.path.clone();
        for (index, (name, value)) in self.query.iter().enumerate() {
            target.push(if index == 0 { '?' } else { '&' });
            target.push_str(name);
            target.push('=');
            target.push_str(&escape(value));
        }
        target
    }
}

/// Escapes a value in a URL.
pub fn escape(text: &str) -> String {
    let mut out = Vec::with_capacity(text.len());
    percent::encode_into(&mut out, text);
    String::from_utf8(out).unwrap_or_default()
}

/// Escapes a path in a URL, except for slashes.
pub fn escape_path(text: &str) -> String {
    text.split('/').map(escape).collect::<Vec<_>>().join("/")
}

/// Parses `NAME=VALUE` of a command line.
pub fn parse_pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("expected NAME=VALUE".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_values_are_escaped() {
        let call =
            StorageRequest::new("GET", &["files", "a b/ü?.txt"]).with("comp", "x&y").maybe("n", None::<u8>);
        assert_eq!(call.target(), "/files/a%20b/%C3%BC%3F.txt?comp=x%26y");
        assert!(call.is_repeatable && !StorageRequest::new("PUT", &[]).is_repeatable);
    }
}
