//! How Azure's logs and metrics classify the outcome of a request.

use lazuli_model::ErrorCode;

/// How a request authenticated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Auth {
    /// With an account's key.
    #[default]
    Key,
    /// Not at all.
    Anonymous,
    /// With a shared access signature.
    Sas,
    /// With a bearer token.
    Bearer,
}

impl Auth {
    /// The name in the log.
    pub fn name(self) -> &'static str {
        match self {
            Auth::Key => "authenticated",
            Auth::Anonymous => "anonymous",
            Auth::Sas => "sas",
            Auth::Bearer => "bearer",
        }
    }

    /// The prefix of the status in the log.
    pub fn prefix(self) -> &'static str {
        match self {
            Auth::Key => "",
            Auth::Anonymous => "Anonymous",
            Auth::Sas => "SAS",
            Auth::Bearer => "OAuth",
        }
    }
}

macro_rules! statuses {
    ($($(#[$doc:meta])* $variant:ident;)*) => {
        /// The outcome of a request.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Status { $($(#[$doc])* $variant,)* }

        impl Status {
            /// Every status.
            pub const ALL: &[Status] = &[$(Status::$variant,)*];

            /// Its name, without the prefix for the kind of authentication.
            pub fn name(self) -> &'static str {
                match self { $(Status::$variant => stringify!($variant),)* }
            }
        }
    };
}

statuses! {
    /// It was done.
    Success;
    /// Too many requests.
    ThrottlingError;
    /// The client took too long.
    ClientTimeoutError;
    /// The server took too long.
    ServerTimeoutError;
    /// Something else is wrong with the request.
    ClientOtherError;
    /// Something else went wrong in the server.
    ServerOtherError;
    /// The sender is unknown, or lacks permission.
    AuthorizationError;
    /// The connection broke.
    NetworkError;
}

impl Status {
    /// The class of a request with this error, or without one.
    pub fn of(error: Option<ErrorCode>) -> Self {
        let Some(code) = error else { return Status::Success };
        match (code, code.status()) {
            (ErrorCode::ServerBusy, _) => Status::ThrottlingError,
            (ErrorCode::OperationTimedOut, _) => Status::ServerTimeoutError,
            (ErrorCode::RequestTimeout, _) => Status::ClientTimeoutError,
            (_, 401 | 403) | (ErrorCode::InvalidAuthenticationInfo, _) => Status::AuthorizationError,
            // The request would fail with the same error on any server.
            (_, ..=499 | 501) => Status::ClientOtherError,
            _ => Status::ServerOtherError,
        }
    }
}

/// The status as the log shows it. From 2017-04-17 on the status of other errors is the error code itself.
pub fn logged(auth: Auth, error: Option<ErrorCode>, shows_codes: bool) -> String {
    match (Status::of(error), error) {
        (Status::ClientOtherError, Some(code)) if shows_codes => format!("{}{}", auth.prefix(), code.name()),
        (status, _) => format!("{}{}", auth.prefix(), status.name()),
    }
}

/// Is the request logged? Unauthenticated requests are logged only if they are of interest, such as a read with
/// the response 304.
pub fn is_logged(auth: Auth, error: Option<ErrorCode>) -> bool {
    auth != Auth::Anonymous
        || error.is_some_and(|code| code.status() == 304)
        || matches!(
            Status::of(error),
            Status::Success
                | Status::ServerOtherError
                | Status::ServerTimeoutError
                | Status::ClientTimeoutError
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_classified() {
        for (auth, error, old, new) in [
            (Auth::Key, None, "Success", "Success"),
            (Auth::Sas, None, "SASSuccess", "SASSuccess"),
            (Auth::Anonymous, None, "AnonymousSuccess", "AnonymousSuccess"),
            (Auth::Key, Some(ErrorCode::ServerBusy), "ThrottlingError", "ThrottlingError"),
            (
                Auth::Sas,
                Some(ErrorCode::AuthenticationFailed),
                "SASAuthorizationError",
                "SASAuthorizationError",
            ),
            (Auth::Key, Some(ErrorCode::OperationTimedOut), "ServerTimeoutError", "ServerTimeoutError"),
            (Auth::Key, Some(ErrorCode::RequestTimeout), "ClientTimeoutError", "ClientTimeoutError"),
            (Auth::Key, Some(ErrorCode::InternalError), "ServerOtherError", "ServerOtherError"),
            (Auth::Key, Some(ErrorCode::NotImplemented), "ClientOtherError", "NotImplemented"),
            (
                Auth::Sas,
                Some(ErrorCode::EntityAlreadyExists),
                "SASClientOtherError",
                "SASEntityAlreadyExists",
            ),
            (Auth::Bearer, Some(ErrorCode::TableNotFound), "OAuthClientOtherError", "OAuthTableNotFound"),
        ] {
            assert_eq!(logged(auth, error, false), old);
            assert_eq!(logged(auth, error, true), new);
        }
    }

    #[test]
    fn rejected_strangers_are_not_logged() {
        for (auth, error, expected) in [
            (Auth::Anonymous, None, true),
            (Auth::Anonymous, Some(ErrorCode::AuthenticationFailed), false),
            (Auth::Anonymous, Some(ErrorCode::BlobNotFound), false),
            (Auth::Anonymous, Some(ErrorCode::InternalError), true),
            (Auth::Anonymous, Some(ErrorCode::NotModified), true),
            (Auth::Key, Some(ErrorCode::AuthenticationFailed), true),
        ] {
            assert_eq!(is_logged(auth, error), expected, "{auth:?} {error:?}");
        }
    }
}
