//! The query parameters of a request, decoded once. Names are not case-sensitive.

use std::borrow::Cow;

use lazuli_model::{ErrorCode, Failure};

use crate::http::query::Query;

/// Maximum parameters of a query, far more than any client sends.
const PARAMETERS_MAX: usize = 64;

/// The parameters of a request in the order in which they were sent.
#[derive(Clone, Debug, Default)]
pub struct Params<'a>(Vec<(Cow<'a, str>, Cow<'a, str>)>);

impl<'a> Params<'a> {
    /// Decodes a query. Broken escapes and too many parameters are errors.
    pub fn parse(query: Query<'a>) -> Result<Self, Failure> {
        let mut pairs = Vec::new();
        for pair in query.pairs() {
            let pair = pair.ok_or(ErrorCode::InvalidQueryParameterValue)?;
            if pairs.len() == PARAMETERS_MAX {
                return Err(ErrorCode::InvalidUri.into());
            }
            pairs.push(pair);
        }
        Ok(Self(pairs))
    }

    /// The value of a parameter. If several have the same name, the first one counts.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.all(name).next()
    }

    /// The value of a parameter; an empty one counts as absent.
    pub fn filled(&self, name: &str) -> Option<&str> {
        self.get(name).filter(|value| !value.is_empty())
    }

    /// The values of all parameters with that name.
    pub fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        self.0.iter().filter(move |(given, _)| given.eq_ignore_ascii_case(name)).map(|(_, value)| &**value)
    }

    /// Does the parameter have that value, in any letter case?
    pub fn is(&self, name: &str, value: &str) -> bool {
        self.get(name).is_some_and(|given| given.eq_ignore_ascii_case(value))
    }

    /// The value of `comp` in lower case, which determines the operation together with the method.
    pub fn comp(&self) -> String {
        self.get("comp").unwrap_or_default().to_ascii_lowercase()
    }

    /// A number between two bounds. A number of any length outside the bounds is out of range, not malformed.
    pub fn number(&self, name: &str, min: u64, max: u64) -> Result<Option<u64>, Failure> {
        let Some(text) = self.filled(name) else { return Ok(None) };
        let digits = text.strip_prefix('-').unwrap_or(text);
        if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
            return Err(invalid(name, text));
        }
        match text.parse() {
            Ok(number) if (min..=max).contains(&number) => Ok(Some(number)),
            _ => Err(out_of_range(name, text, min, max)),
        }
    }
}

/// `InvalidQueryParameterValue` that names the parameter.
pub fn invalid(name: &str, value: &str) -> Failure {
    Failure::from(ErrorCode::InvalidQueryParameterValue)
        .detail("QueryParameterName", name.to_owned())
        .detail("QueryParameterValue", value.to_owned())
}

/// Like [`invalid`], with a reason.
pub fn invalid_because(name: &str, value: &str, reason: &'static str) -> Failure {
    invalid(name, value).detail("Reason", reason)
}

/// `OutOfRangeQueryParameterValue` that names the parameter and its bounds.
pub fn out_of_range(name: &str, value: &str, min: u64, max: u64) -> Failure {
    Failure::from(ErrorCode::OutOfRangeQueryParameterValue)
        .detail("QueryParameterName", name.to_owned())
        .detail("QueryParameterValue", value.to_owned())
        .detail("MinimumAllowed", min.to_string())
        .detail("MaximumAllowed", max.to_string())
}

/// `MissingRequiredQueryParameter` that names the parameter.
pub fn missing(name: &'static str) -> Failure {
    Failure::from(ErrorCode::MissingRequiredQueryParameter).detail("QueryParameterName", name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters() {
        let params = Params::parse(Query("Comp=LIST&include=a&include=&x=%2B+&maxresults=7&y")).unwrap();
        assert_eq!(params.comp(), "list");
        assert_eq!(params.all("INCLUDE").collect::<Vec<_>>(), ["a", ""]);
        assert_eq!(params.get("x"), Some("+ "));
        assert_eq!((params.get("y"), params.filled("y")), (Some(""), None));
        assert_eq!(params.number("maxresults", 1, 9), Ok(Some(7)));
        let failure = params.number("maxresults", 8, 9).unwrap_err();
        assert_eq!(failure.code, ErrorCode::OutOfRangeQueryParameterValue);
        assert_eq!(params.number("x", 0, 1).unwrap_err().code, ErrorCode::InvalidQueryParameterValue);
        assert!(Params::parse(Query("a=%zz")).is_err());
        assert!(Params::parse(Query(&"a&".repeat(65))).is_err());
    }
}
