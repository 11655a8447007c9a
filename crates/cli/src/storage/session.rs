//! One connection to a service: signs requests, repeats them where that is safe, and turns error responses into
//! errors.

use std::time::Duration;

use lazuli_probe::blocking::Client;
use lazuli_probe::{Request, Response};

use super::request::StorageRequest;
use super::xml::Element;
use super::{Credential, Storage};
use crate::fault::{Fault, Rejected};

/// The version of the protocol that the commands use.
pub const VERSION: &str = "2021-12-02";
/// Maximum number of attempts for a request that may be repeated.
const ATTEMPTS_MAX: u32 = 4;
/// The wait before the second attempt; it doubles with every further one.
const FIRST_WAIT: Duration = Duration::from_millis(200);

/// One connection to a service.
pub struct Session<'a> {
    storage: &'a Storage,
    client: Client,
}

impl<'a> Session<'a> {
    pub(super) fn new(storage: &'a Storage) -> Self {
        Self { storage, client: storage.client() }
    }

    /// Sends a request. A status of 400 or above is an error.
    pub fn send(&mut self, call: &StorageRequest) -> Result<Response, Fault> {
        let attempts = if call.is_repeatable { ATTEMPTS_MAX } else { 1 };
        let mut wait = FIRST_WAIT;
        for _ in 1..attempts {
            match self.attempt(call) {
                Err(fault) if fault.may_pass() && !is_connection_refused(&fault) => {}
                done => return done,
            }
            pause(wait);
            wait *= 2;
        }
        self.attempt(call)
    }

    /// Sends a request, and reports whether the resource exists.
    pub fn exists(&mut self, call: &StorageRequest) -> Result<bool, Fault> {
        match self.send(call) {
            Ok(_) => Ok(true),
            Err(Fault::Rejected(error)) if error.status == 404 => Ok(false),
            Err(fault) => Err(fault),
        }
    }

    /// Sends a request. An error with this code counts as success; returns whether the request itself succeeded.
    pub fn send_unless(&mut self, call: &StorageRequest, code: &str) -> Result<bool, Fault> {
        match self.send(call) {
            Ok(_) => Ok(true),
            Err(Fault::Rejected(error)) if error.code == code => Ok(false),
            Err(fault) => Err(fault),
        }
    }

    /// Sends a request, and reads the document of its response.
    pub fn document(&mut self, call: &StorageRequest) -> Result<Element, Fault> {
        let response = self.send(call)?;
        Ok(Element::parse(&response.body)?)
    }

    fn attempt(&mut self, call: &StorageRequest) -> Result<Response, Fault> {
        let request = self.request(call);
        let response =
            self.client.exchange(&request).map_err(|error| Fault::NoResponse(error.to_string()))?;
        if response.status < 400 { Ok(response) } else { Err(Fault::Rejected(rejected(&response))) }
    }

    fn request(&self, call: &StorageRequest) -> Request {
        let Storage { endpoint, credential, .. } = self.storage;
        let path = format!("{}{}", endpoint.path(), call.target());
        let mut target = if path.starts_with('/') { path } else { format!("/{path}") };
        if let Credential::Signature(token) = credential {
            target.push(if target.contains('?') { '&' } else { '?' });
            target.push_str(token);
        }
        let mut request = Request::new(call.method, target);
        request = request.with("Host", endpoint.authority().to_owned()).with("x-ms-version", VERSION);
        for (name, value) in &call.headers {
            request = request.with(name.clone(), value.clone());
        }
        request.body.clone_from(&call.body);
        match credential {
            Credential::Key(pair) => pair.0.sign(&mut request, lazuli_server::clock::now()),
            Credential::Signature(_) | Credential::None => request.announce_length(),
        }
        request
    }
}

/// Nothing listens on this port: a retry would not help a user who typed the wrong one.
fn is_connection_refused(fault: &Fault) -> bool {
    matches!(fault, Fault::NoResponse(error) if error.contains("refused"))
}

#[allow(clippy::disallowed_methods, reason = "a retry waits for a busy server, which sends no event")]
fn pause(time: Duration) {
    std::thread::sleep(time);
}

fn rejected(response: &Response) -> Rejected {
    let header = |name: &str| response.header(name).unwrap_or_default().to_owned();
    let document = Element::parse(&response.body).unwrap_or_default();
    let text = |name: &str| document.text_of(name);
    let code = if text("Code").is_empty() { header("x-ms-error-code") } else { text("Code").to_owned() };
    let message = text("Message").lines().next().unwrap_or_default();
    let message = if message.is_empty() { response.reason() } else { message };
    Rejected {
        status: response.status,
        code,
        message: message.to_owned(),
        request_id: header("x-ms-request-id"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_come_from_the_document_or_else_from_the_head() {
        let head = "HTTP/1.1 404 The specified blob does not exist.\r\nx-ms-error-code: BlobNotFound\r\n\r\n";
        let mut response = Response::from_head(head.into()).unwrap();
        let found = rejected(&response).to_string();
        assert_eq!(found, "BlobNotFound: The specified blob does not exist. (status 404)");
        response.body = b"<Error><Code>Other</Code><Message>Text.\nRequestId:1</Message></Error>".to_vec();
        assert_eq!(rejected(&response).to_string(), "Other: Text. (status 404)");
    }
}
