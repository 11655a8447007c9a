//! The verb of a request: POST can carry another one in `X-HTTP-Method`.

use lazuli_model::{ErrorCode, Failure};

use crate::Head;

/// The verbs that the Table service supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Read.
    Get,
    /// Insert.
    Post,
    /// Replace.
    Put,
    /// MERGE or PATCH.
    Merge,
    /// Remove.
    Delete,
    /// A CORS preflight.
    Options,
    /// An HTTP verb that no table resource supports.
    Other,
}

impl Verb {
    /// The effective verb of the request.
    pub fn of(head: &Head<'_>) -> Result<Self, Failure> {
        let mut tunnelled = head.all("x-http-method");
        let Some(name) = tunnelled.next() else {
            return Self::parse(head.method, ErrorCode::InvalidHttpVerb);
        };
        if tunnelled.next().is_some() || name.contains(',') {
            return Err(ErrorCode::XMethodIncorrectCount.into());
        }
        if head.method != "POST" {
            return Err(ErrorCode::XMethodNotUsingPost.into());
        }
        match Self::parse(name.trim(), ErrorCode::XMethodIncorrectValue)? {
            verb @ (Verb::Put | Verb::Merge | Verb::Delete) => Ok(verb),
            _ => Err(ErrorCode::XMethodIncorrectValue.into()),
        }
    }

    fn parse(name: &str, unknown: ErrorCode) -> Result<Self, Failure> {
        match name {
            "GET" => Ok(Verb::Get),
            "POST" => Ok(Verb::Post),
            "PUT" => Ok(Verb::Put),
            "MERGE" | "PATCH" => Ok(Verb::Merge),
            "DELETE" => Ok(Verb::Delete),
            "OPTIONS" => Ok(Verb::Options),
            "HEAD" | "TRACE" | "CONNECT" => Ok(Verb::Other),
            _ => Err(unknown.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::head::Field;

    #[track_caller]
    fn check(method: &str, tunnelled: &[&str], expected: Result<Verb, ErrorCode>) {
        let fields: Vec<_> = tunnelled.iter().map(|value| Field { name: "X-HTTP-Method", value }).collect();
        let head = Head { method, target: "/", fields: &fields };
        assert_eq!(Verb::of(&head).map_err(|f| f.code), expected, "{method} {tunnelled:?}");
    }

    #[test]
    fn verbs() {
        check("MERGE", &[], Ok(Verb::Merge));
        check("PATCH", &[], Ok(Verb::Merge));
        check("BREW", &[], Err(ErrorCode::InvalidHttpVerb));
        check("POST", &["MERGE"], Ok(Verb::Merge));
        check("POST", &["DELETE"], Ok(Verb::Delete));
        check("POST", &["MERGE", "PUT"], Err(ErrorCode::XMethodIncorrectCount));
        check("POST", &["BREW"], Err(ErrorCode::XMethodIncorrectValue));
        check("PUT", &["MERGE"], Err(ErrorCode::XMethodNotUsingPost));
    }
}
