//! Compares a JSON body with a template by value: the order of members is ignored.

use serde_json::Value;

use crate::expect::fit;
use crate::values::{Piece, Values};

/// Markers of captures inside the strings of the parsed template: private-use characters, which no transcript
/// contains.
const OPEN: char = '\u{f8f0}';
const CLOSE: char = '\u{f8f1}';

/// A difference: its path, and the expected and actual values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct JsonMismatch {
    pub(crate) path: String,
    pub(crate) expected: String,
    pub(crate) actual: String,
}

/// Compares a body with a template.
pub(crate) fn fit_json(pieces: &[Piece], body: &str, values: &mut Values) -> Result<(), JsonMismatch> {
    let whole = |expected: String, actual: &str| JsonMismatch {
        path: "the body".to_owned(),
        expected,
        actual: actual.to_owned(),
    };
    let expected: Value = serde_json::from_str(&marked(pieces))
        .map_err(|error| whole(format!("a template that is valid JSON: {error}"), body))?;
    let actual: Value =
        serde_json::from_str(body).map_err(|error| whole(format!("JSON, but: {error}"), body))?;
    Comparison { pieces, values }.value("$", &expected, &actual)
}

/// The template as a string, with each capture replaced by its index between markers.
fn marked(pieces: &[Piece]) -> String {
    let text = |(index, piece): (usize, &Piece)| match piece {
        Piece::Text(text) => text.clone(),
        Piece::Capture(..) => format!("{OPEN}{index}{CLOSE}"),
    };
    pieces.iter().enumerate().map(text).collect()
}

struct Comparison<'a> {
    pieces: &'a [Piece],
    values: &'a mut Values,
}

impl Comparison<'_> {
    fn value(&mut self, path: &str, expected: &Value, actual: &Value) -> Result<(), JsonMismatch> {
        match (expected, actual) {
            (Value::Object(expected_members), Value::Object(actual_members)) => {
                for (name, value) in expected_members {
                    let path = format!("{path}.{name}");
                    match actual_members.get(name) {
                        Some(found) => self.value(&path, value, found)?,
                        None => return Err(mismatch(&path, value.to_string(), "nothing")),
                    }
                }
                match actual_members.iter().find(|(name, _)| !expected_members.contains_key(*name)) {
                    Some((name, value)) => {
                        Err(mismatch(&format!("{path}.{name}"), "nothing".into(), &value.to_string()))
                    }
                    None => Ok(()),
                }
            }
            (Value::Array(expected_items), Value::Array(actual_items)) => {
                for (index, (value, found)) in expected_items.iter().zip(actual_items).enumerate() {
                    self.value(&format!("{path}[{index}]"), value, found)?;
                }
                let (wanted, got) = (expected_items.len(), actual_items.len());
                if wanted == got {
                    return Ok(());
                }
                Err(mismatch(path, format!("{wanted} items"), &format!("{got} items")))
            }
            (Value::String(template), Value::String(text)) => self.string(path, template, text),
            _ if expected == actual => Ok(()),
            _ => Err(mismatch(path, expected.to_string(), &actual.to_string())),
        }
    }

    fn string(&mut self, path: &str, template: &str, text: &str) -> Result<(), JsonMismatch> {
        let pieces = self.unmarked(template);
        fit(&pieces, text, self.values)
            .map_err(|found| mismatch(path, found.reason.unwrap_or(found.expected), text))
    }

    fn unmarked(&self, template: &str) -> Vec<Piece> {
        let mut out = Vec::new();
        let mut rest = template;
        while let Some((before, after)) = rest.split_once(OPEN) {
            let (number, behind) = after.split_once(CLOSE).unwrap_or((after, ""));
            if !before.is_empty() {
                out.push(Piece::Text(before.to_owned()));
            }
            out.extend(number.parse().ok().and_then(|index: usize| self.pieces.get(index)).cloned());
            rest = behind;
        }
        if !rest.is_empty() {
            out.push(Piece::Text(rest.to_owned()));
        }
        out
    }
}

fn mismatch(path: &str, expected: String, actual: &str) -> JsonMismatch {
    JsonMismatch { path: path.to_owned(), expected, actual: actual.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::template::Template;

    fn check(template: &str, body: &str) -> Result<(), JsonMismatch> {
        let mut values = Values::new("http://h/dev", "dev");
        let pieces = values.fill(&Template::parse(template)).unwrap();
        fit_json(&pieces, body, &mut values)
    }

    #[test]
    fn order_does_not_count_and_values_do() {
        assert_eq!(check(r#"{"a":1,"b":[true,null]}"#, r#"{"b": [true, null], "a": 1}"#), Ok(()));
        assert_eq!(check(r#"{"a":"x{any}z"}"#, r#"{"a":"xyz"}"#), Ok(()));
        let tag = r#"{"t":"2022-05-06T00:31:05.07Z","e":"W/\"datetime'2022-05-06T00%3A31%3A05.07Z'\""}"#;
        assert_eq!(check(r#"{"e":"{etag:1}","t":"{stamp:1}"}"#, tag), Ok(()));
        assert_eq!(check(r#"{"a":"é"}"#, r#"{"a":"\u00e9"}"#), Ok(()));
    }

    #[test]
    fn the_place_of_a_difference_is_named() {
        for (template, body, path) in [
            (r#"{"a":1}"#, r#"{"a":2}"#, "$.a"),
            (r#"{"a":1}"#, r#"{"a":1.0}"#, "$.a"),
            (r#"{"a":1}"#, r#"{"a":1,"b":2}"#, "$.b"),
            (r#"{"a":1,"b":2}"#, r#"{"a":1}"#, "$.b"),
            (r#"{"a":[1,2]}"#, r#"{"a":[1]}"#, "$.a"),
            (r#"{"a":[{"b":"x"}]}"#, r#"{"a":[{"b":"y"}]}"#, "$.a[0].b"),
            (r#"{"a":"{id}"}"#, r#"{"a":"y"}"#, "$.a"),
            (r#"{"a":1}"#, "nonsense", "the body"),
        ] {
            assert_eq!(check(template, body).unwrap_err().path, path, "{template} {body}");
        }
    }
}
