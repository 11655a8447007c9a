//! The reason why a command failed, the message that it prints, and its exit code.

use std::fmt;
use std::process::ExitCode;

use lazuli_client::ErrorKind;

/// Exit codes, listed in the help of the commands.
const NOT_FOUND: u8 = 3;
const CONFLICT: u8 = 4;
const FORBIDDEN: u8 = 5;
const UNREACHABLE: u8 = 6;

/// The end of the help of every command that talks to a server.
pub const EXIT_CODES: &str = "\
Exit codes: 0 done, 1 failed, 2 wrong usage, 3 not found, 4 already exists or has changed,
5 not allowed, 6 no response";

/// Why a command failed.
#[derive(Debug)]
pub enum Fault {
    /// A mistake of the user, or a problem on this machine.
    Message(String),
    /// An error of the table client.
    Client(lazuli_client::Error),
    /// The Blob or Queue service rejected a request.
    Rejected(Rejected),
    /// No response came.
    NoResponse(String),
    /// The reader of standard output has closed it.
    OutputClosed,
}

/// An error response of the Blob or Queue service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejected {
    /// The HTTP status.
    pub status: u16,
    /// The error code, such as `BlobNotFound`; empty if the response has none.
    pub code: String,
    /// The message, its first line.
    pub message: String,
    /// The id of the request, for the server's log.
    pub request_id: String,
}

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.code.is_empty() {
            write!(f, "{}: ", self.code)?;
        }
        write!(f, "{} (status {}", self.message, self.status)?;
        if !self.request_id.is_empty() {
            write!(f, ", request {}", self.request_id)?;
        }
        f.write_str(")")
    }
}

impl From<String> for Fault {
    fn from(text: String) -> Self {
        Fault::Message(text)
    }
}

impl From<lazuli_client::Error> for Fault {
    fn from(error: lazuli_client::Error) -> Self {
        Fault::Client(error)
    }
}

impl From<std::io::Error> for Fault {
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::BrokenPipe => Fault::OutputClosed,
            _ => Fault::Message(error.to_string()),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Message(text) | Fault::NoResponse(text) => f.write_str(text),
            Fault::Client(error) => error.fmt(f),
            Fault::Rejected(error) => error.fmt(f),
            Fault::OutputClosed => f.write_str("the reader closed the output"),
        }
    }
}

impl Fault {
    fn code(&self) -> u8 {
        match self {
            Fault::Message(_) | Fault::OutputClosed => 1,
            Fault::NoResponse(_) => UNREACHABLE,
            Fault::Rejected(error) => code_of_status(error.status),
            Fault::Client(error) => match (error.kind(), error.status()) {
                (ErrorKind::Transport | ErrorKind::Deadline, _) => UNREACHABLE,
                _ if error.is_not_found() => NOT_FOUND,
                _ if error.is_conflict() || error.is_precondition_failed() => CONFLICT,
                (_, Some(401 | 403)) => FORBIDDEN,
                _ => 1,
            },
        }
    }

    /// Was the work interrupted rather than rejected?
    pub fn may_pass(&self) -> bool {
        let status = match self {
            Fault::Client(error) => error.status(),
            Fault::Rejected(error) => Some(error.status),
            _ => None,
        };
        self.code() == UNREACHABLE || status.is_some_and(|status| status >= 500)
    }

    /// The status of an error response of the Blob or Queue service.
    pub fn rejected(&self) -> Option<&Rejected> {
        match self {
            Fault::Rejected(error) => Some(error),
            _ => None,
        }
    }

    fn show(&self, endpoint: &str) {
        match self {
            Fault::Message(text) => tell!("lazuli: {text}"),
            Fault::Client(error) if self.code() == UNREACHABLE => no_response(endpoint, &error.to_string()),
            Fault::NoResponse(error) => no_response(endpoint, error),
            Fault::Client(error) => tell!("lazuli: {error}"),
            Fault::Rejected(error) => tell!("lazuli: {error}"),
            Fault::OutputClosed => {}
        }
    }
}

fn code_of_status(status: u16) -> u8 {
    match status {
        404 => NOT_FOUND,
        409 | 412 => CONFLICT,
        401 | 403 => FORBIDDEN,
        _ => 1,
    }
}

fn no_response(endpoint: &str, error: &str) {
    tell!("lazuli: no response from {endpoint}: {error}");
    if let Some(hint) = hint(error) {
        tell!("lazuli: {hint}");
    }
}

/// Suggests what to do about a connection that could not be made.
fn hint(error: &str) -> Option<&'static str> {
    let hints = [
        (
            "UnknownIssuer",
            "the certificate is not trusted; pass it, or the root that signed it, with --ca-file",
        ),
        (
            "not signed by a trusted",
            "the certificate is not trusted; pass it, or the root that signed it, with --ca-file",
        ),
        ("NotValidForName", "the certificate is for another host name; use that name in the endpoint"),
        ("Expired", "the certificate has expired"),
        (
            "InvalidContentType",
            "the server does not speak TLS there; is the endpoint http:// rather than https://?",
        ),
        (
            "does not speak TLS",
            "the server does not speak TLS there; is the endpoint http:// rather than https://?",
        ),
        (
            "Connection refused",
            "nothing listens there; is the server running (lazuli serve), and is the port right?",
        ),
    ];
    hints.into_iter().find(|(sign, _)| error.contains(sign)).map(|(_, hint)| hint)
}

/// Exit code for wrong usage, the same as that of clap.
const USAGE: u8 = 2;

/// Reports wrong usage that the command line parser cannot detect.
pub fn usage(message: impl fmt::Display) -> Result<ExitCode, String> {
    tell!("error: {message}");
    Ok(ExitCode::from(USAGE))
}

/// The exit code of a command that reports whether something exists.
pub fn found(yes: bool) -> ExitCode {
    if yes { ExitCode::SUCCESS } else { ExitCode::from(NOT_FOUND) }
}

/// Prints the error, if any, and returns the exit code.
pub fn settle(done: Result<ExitCode, Fault>, endpoint: &str) -> ExitCode {
    match done {
        Ok(code) => code,
        Err(Fault::OutputClosed) => ExitCode::SUCCESS,
        Err(fault) => {
            fault.show(endpoint);
            ExitCode::from(fault.code())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_follow_from_the_status() {
        let rejected = |status| {
            let (code, message, request_id) = Default::default();
            Fault::Rejected(Rejected { status, code, message, request_id })
        };
        for (status, code) in [(400, 1), (401, 5), (403, 5), (404, 3), (409, 4), (412, 4), (503, 1)] {
            assert_eq!(rejected(status).code(), code, "{status}");
            assert_eq!(rejected(status).may_pass(), status >= 500, "{status}");
        }
        assert_eq!(Fault::NoResponse(String::new()).code(), 6);
        assert!(Fault::NoResponse(String::new()).may_pass());
        assert_eq!(Fault::Message(String::new()).code(), 1);
    }
}
