//! The one table of wire error codes, and the failure that carries one of them to the client.

use std::borrow::Cow;
use std::fmt;

/// Is it of use to send the same request again?
///
/// ```
/// # use lazuli_model as lazuli_client;
/// use lazuli_client::{ErrorCode, Retry};
///
/// assert_eq!(ErrorCode::ServerBusy.retry(), Retry::Later);
/// assert_eq!(ErrorCode::InvalidInput.retry(), Retry::Never);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// The same request gets the same answer.
    Never,
    /// It may succeed later.
    Later,
}

/// Could the request have changed something although it failed?
///
/// ```
/// # use lazuli_model as lazuli_client;
/// use lazuli_client::{ErrorCode, WasApplied};
///
/// assert_eq!(ErrorCode::EntityAlreadyExists.applied(), WasApplied::No);
/// assert_eq!(ErrorCode::OperationTimedOut.applied(), WasApplied::Unknown);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WasApplied {
    /// Nothing was changed.
    No,
    /// The outcome is not known.
    Unknown,
}

macro_rules! error_codes {
    ($($(#[$doc:meta])* $variant:ident, $name:literal, $status:literal, $retry:ident, $applied:ident, $message:literal;)*) => {
        /// A code of the service's error vocabulary. One wire name may stand for several variants that differ in status.
        ///
        /// ```
        /// # use lazuli_model as lazuli_client;
        /// use lazuli_client::ErrorCode;
        ///
        /// let code = ErrorCode::UpdateConditionNotSatisfied;
        /// assert_eq!((code.name(), code.status()), ("UpdateConditionNotSatisfied", 412));
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum ErrorCode { $($(#[$doc])* #[doc = concat!($status, ", `", $name, "`: ", $message)] $variant,)* }

        impl ErrorCode {
            /// Every code.
            pub const ALL: &[ErrorCode] = &[$(ErrorCode::$variant,)*];

            /// The name in the error body.
            ///
            /// ```
            /// # use lazuli_model as lazuli_client;
            /// use lazuli_client::ErrorCode;
            ///
            /// assert_eq!(ErrorCode::TableNotFound.name(), "TableNotFound");
            /// ```
            pub fn name(self) -> &'static str {
                match self { $(ErrorCode::$variant => $name,)* }
            }

            /// The HTTP status it is sent with.
            ///
            /// ```
            /// # use lazuli_model as lazuli_client;
            /// use lazuli_client::ErrorCode;
            ///
            /// assert_eq!(ErrorCode::TableNotFound.status(), 404);
            /// ```
            pub fn status(self) -> u16 {
                match self { $(ErrorCode::$variant => $status,)* }
            }

            /// Whether to try again.
            ///
            /// ```
            /// # use lazuli_model as lazuli_client;
            /// use lazuli_client::{ErrorCode, Retry};
            ///
            /// assert_eq!(ErrorCode::TableBeingDeleted.retry(), Retry::Later);
            /// ```
            pub fn retry(self) -> Retry {
                match self { $(ErrorCode::$variant => Retry::$retry,)* }
            }

            /// Whether the request may have been applied.
            ///
            /// ```
            /// # use lazuli_model as lazuli_client;
            /// use lazuli_client::{ErrorCode, WasApplied};
            ///
            /// assert_eq!(ErrorCode::TableAlreadyExists.applied(), WasApplied::No);
            /// ```
            pub fn applied(self) -> WasApplied {
                match self { $(ErrorCode::$variant => WasApplied::$applied,)* }
            }

            /// The text for the caller, unless the place of the failure knows a better one.
            ///
            /// ```
            /// # use lazuli_model as lazuli_client;
            /// use lazuli_client::ErrorCode;
            ///
            /// assert_eq!(ErrorCode::TableNotFound.message(), "The table specified does not exist.");
            /// ```
            pub fn message(self) -> &'static str {
                match self { $(ErrorCode::$variant => $message,)* }
            }
        }
    };
}

// Texts are the live service's where recorded (the misspelt "specifed" included), else the documentation's.
error_codes! {
    AccountRequiresHttps, "AccountRequiresHttps", 400, Never, No, "The account being accessed does not support http.";
    AtomFormatNotSupported, "AtomFormatNotSupported", 415, Never, No, "Atom format is not supported.";
    AuthenticationFailed, "AuthenticationFailed", 403, Never, No, "Server failed to authenticate the request. Make sure the value of Authorization header is formed correctly including the signature.";
    AuthorizationFailure, "AuthorizationFailure", 403, Never, No, "This request is not authorized to perform this operation.";
    AuthorizationPermissionMismatch, "AuthorizationPermissionMismatch", 403, Never, No, "This request is not authorized to perform this operation using this permission.";
    AuthorizationProtocolMismatch, "AuthorizationProtocolMismatch", 403, Never, No, "This request is not authorized to perform this operation using this protocol.";
    AuthorizationResourceTypeMismatch, "AuthorizationResourceTypeMismatch", 403, Never, No, "This request is not authorized to perform this operation using this resource type.";
    AuthorizationServiceMismatch, "AuthorizationServiceMismatch", 403, Never, No, "This request is not authorized to perform this operation using this service.";
    AuthorizationSourceIPMismatch, "AuthorizationSourceIPMismatch", 403, Never, No, "This request is not authorized to perform this operation using this source IP.";
    CommandsInBatchActOnDifferentPartitions, "CommandsInBatchActOnDifferentPartitions", 400, Never, No, "All commands in a batch must operate on same entity group.";
    CorsPreflightFailure, "CorsPreflightFailure", 403, Never, No, "CORS not enabled or no matching rule found for this request.";
    DuplicatePropertiesSpecified, "DuplicatePropertiesSpecified", 400, Never, No, "A property is specified more than one time.";
    EntityAlreadyExists, "EntityAlreadyExists", 409, Never, No, "The specified entity already exists.";
    EntityTooLarge, "EntityTooLarge", 400, Never, No, "The entity is larger than the maximum allowed size (1MB).";
    HostInformationNotPresent, "HostInformationNotPresent", 400, Never, No, "The required host information is not present in the request. You must send a non-empty Host header or include the absolute URI in the request line.";
    InsufficientAccountPermissions, "InsufficientAccountPermissions", 403, Never, No, "The account being accessed does not have sufficient permissions to execute this operation.";
    InternalError, "InternalError", 500, Later, Unknown, "The server encountered an internal error. Please retry the request.";
    InvalidAuthenticationInfo, "InvalidAuthenticationInfo", 400, Never, No, "The authentication information was not provided in the correct format. Verify the value of Authorization header.";
    /// A bearer token that is not accepted.
    InvalidBearerToken, "InvalidAuthenticationInfo", 401, Never, No, "Server failed to authenticate the request. Please refer to the information in the www-authenticate header.";
    InvalidDuplicateRow, "InvalidDuplicateRow", 400, Never, No, "The batch request contains multiple changes with same row key. An entity can appear only once in a batch request.";
    /// An expectation that is not known.
    ExpectationFailed, "InvalidHeaderValue", 417, Never, No, "The value for one of the HTTP headers is not in the correct format.";
    InvalidHeaderValue, "InvalidHeaderValue", 400, Never, No, "The value for one of the HTTP headers is not in the correct format.";
    InvalidHttpVerb, "InvalidHttpVerb", 400, Never, No, "The HTTP verb specified was not recognized by the server.";
    InvalidInput, "InvalidInput", 400, Never, No, "One of the request inputs is not valid.";
    InvalidMd5, "InvalidMd5", 400, Never, No, "The MD5 value specified in the request is invalid. The MD5 value must be 128 bits and Base64-encoded.";
    InvalidQueryParameterValue, "InvalidQueryParameterValue", 400, Never, No, "Value for one of the query parameters specified in the request URI is invalid.";
    InvalidResourceName, "InvalidResourceName", 400, Never, No, "The specifed resource name contains invalid characters.";
    InvalidUri, "InvalidUri", 400, Never, No, "The requested URI does not represent any resource on the server.";
    InvalidValueType, "InvalidValueType", 400, Never, No, "The value specified is invalid.";
    InvalidXmlDocument, "InvalidXmlDocument", 400, Never, No, "XML specified is not syntactically valid.";
    JsonFormatNotSupported, "JsonFormatNotSupported", 415, Never, No, "JSON format is not supported.";
    JsonVerboseFormatNotSupported, "JsonVerboseFormatNotSupported", 415, Never, No, "JSON Verbose format is not supported.";
    KeyValueTooLarge, "KeyValueTooLarge", 400, Never, No, "The key value exceeds the maximum allowed size (1KB).";
    Md5Mismatch, "Md5Mismatch", 400, Never, No, "The MD5 value specified in the request did not match the MD5 value calculated by the server.";
    MediaTypeNotSupported, "MediaTypeNotSupported", 415, Never, No, "None of the provided media types are supported.";
    MethodNotAllowed, "MethodNotAllowed", 405, Never, No, "The requested method is not allowed on the specified resource.";
    MissingContentLengthHeader, "MissingContentLengthHeader", 411, Never, No, "The Content-Length header was not specified.";
    MissingRequiredHeader, "MissingRequiredHeader", 400, Never, No, "A required HTTP header was not specified.";
    NoAuthenticationInformation, "NoAuthenticationInformation", 401, Never, No, "Server failed to authenticate the request. Please refer to the information in the www-authenticate header.";
    NotImplemented, "NotImplemented", 501, Never, No, "The requested operation is not implemented on the specified resource.";
    OperationTimedOut, "OperationTimedOut", 500, Later, Unknown, "Operation could not be completed within the specified time.";
    OutOfRangeInput, "OutOfRangeInput", 400, Never, No, "One of the request inputs is out of range.";
    PropertiesNeedValue, "PropertiesNeedValue", 400, Never, No, "The values are not specified for all properties in the entity.";
    PropertyNameInvalid, "PropertyNameInvalid", 400, Never, No, "The property name is invalid.";
    PropertyNameTooLong, "PropertyNameTooLong", 400, Never, No, "The property name exceeds the maximum allowed length (255).";
    PropertyValueTooLarge, "PropertyValueTooLarge", 400, Never, No, "The property value exceeds the maximum allowed size (64KB). If the property value is a string, it is UTF-16 encoded and the maximum number of characters should be 32K or less.";
    RequestBodyTooLarge, "RequestBodyTooLarge", 413, Never, No, "The request body is too large and exceeds the maximum permissible limit.";
    RequestHeaderTooLarge, "RequestHeaderTooLarge", 431, Never, No, "The headers of the request exceed the maximum permissible size.";
    RequestTimeout, "RequestTimeout", 408, Later, No, "The request was not received within the permitted time.";
    RequestUrlFailedToParse, "RequestUrlFailedToParse", 400, Never, No, "The url in the request could not be parsed.";
    ResourceNotFound, "ResourceNotFound", 404, Never, No, "The specified resource does not exist.";
    ServerBusy, "ServerBusy", 503, Later, No, "The server is currently unable to receive requests. Please retry your request.";
    TableAlreadyExists, "TableAlreadyExists", 409, Never, No, "The table specified already exists.";
    TableBeingDeleted, "TableBeingDeleted", 409, Later, No, "The specified table is being deleted. Try operation later.";
    TableNotFound, "TableNotFound", 404, Never, No, "The table specified does not exist.";
    TooManyProperties, "TooManyProperties", 400, Never, No, "The entity contains more properties than allowed. Each entity can include up to 252 properties to store data. Each entity also has 3 system properties.";
    UnsupportedHttpVerb, "UnsupportedHttpVerb", 405, Never, No, "The resource doesn't support specified Http Verb.";
    UpdateConditionNotSatisfied, "UpdateConditionNotSatisfied", 412, Never, No, "The update condition specified in the request was not satisfied.";
    XMethodIncorrectCount, "XMethodIncorrectCount", 400, Never, No, "More than one X-HTTP-Method is specified.";
    XMethodIncorrectValue, "XMethodIncorrectValue", 400, Never, No, "The specified X-HTTP-Method is invalid.";
    XMethodNotUsingPost, "XMethodNotUsingPost", 400, Never, No, "The request uses X-HTTP-Method with an HTTP verb other than POST.";
}

/// How far a request had come when it failed. The original's layers leave their mark on the answer's headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Refused at the front door: authentication, framing, a service operation on the wrong path.
    FrontEnd,
    /// Refused while finding the resource that the URL names, or while reading the body.
    Routing,
    /// Refused by the operation itself.
    Operation,
}

/// Why a request is answered with an error: what the client is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The code, which fixes the status.
    pub code: ErrorCode,
    /// The text.
    pub message: Cow<'static, str>,
    /// The position of the operation in its batch.
    pub index: Option<usize>,
    /// How far the request had come.
    pub origin: Origin,
}

impl Failure {
    /// A failure with a text of its own.
    pub fn new(code: ErrorCode, message: impl Into<Cow<'static, str>>) -> Self {
        Self { code, message: message.into(), index: None, origin: Origin::Operation }
    }

    /// `InvalidInput` for a body that cannot be read.
    pub fn unreadable_body() -> Self {
        Self::new(ErrorCode::InvalidInput, "An error occurred while processing this request.")
            .found_in(Origin::Routing)
    }

    /// `InvalidInput` for a key or query in the URL that cannot be read.
    pub fn query_syntax() -> Self {
        Self::new(ErrorCode::InvalidInput, "Bad Request - Error in query syntax.")
    }

    /// `OutOfRangeInput` that names the parameter.
    pub fn out_of_range(parameter: &str, value: &str) -> Self {
        let text = format!("The '{parameter}' parameter of value '{value}' is out of range.");
        Self::new(ErrorCode::OutOfRangeInput, text)
    }

    /// The same failure, as the one of the batch operation at `index`.
    pub fn at(mut self, index: usize) -> Self {
        self.index = Some(index);
        self
    }

    /// The same failure, found earlier than in the operation.
    pub fn found_in(mut self, origin: Origin) -> Self {
        self.origin = origin;
        self
    }
}

impl From<ErrorCode> for Failure {
    fn from(code: ErrorCode) -> Self {
        Self::new(code, code.message())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code.name(), self.message)
    }
}

impl std::error::Error for Failure {}

#[cfg(test)]
mod tests {
    use super::*;

    /// ER-01.
    #[test]
    fn every_code_has_an_error_status_and_a_text() {
        for code in ErrorCode::ALL {
            assert!((400..600).contains(&code.status()), "{code:?}");
            assert!(code.message().ends_with('.'), "{code:?}");
        }
    }

    /// Clients of every language retry 500 and 503; a failure that would only repeat must not be one of them.
    #[test]
    fn only_what_may_succeed_later_looks_transient() {
        for code in ErrorCode::ALL {
            let transient = matches!(code.status(), 408 | 500 | 503);
            let waiting = *code == ErrorCode::TableBeingDeleted;
            assert_eq!(transient || waiting, code.retry() == Retry::Later, "{code:?}");
        }
    }
}
