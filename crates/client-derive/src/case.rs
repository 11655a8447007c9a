//! Property names derived from field names, and the rules for them.

use syn::{Error, LitStr, Result};

/// The cases that `rename_all` supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Case {
    /// Unchanged.
    Same,
    /// `NoOfStrings`, as .NET clients write them.
    Pascal,
    /// `noOfStrings`.
    Camel,
    /// `NO_OF_STRINGS`.
    Screaming,
    /// `noofstrings`.
    Lower,
    /// `NOOFSTRINGS`.
    Upper,
}

const NAMES: [(&str, Case); 6] = [
    ("snake_case", Case::Same),
    ("PascalCase", Case::Pascal),
    ("camelCase", Case::Camel),
    ("SCREAMING_SNAKE_CASE", Case::Screaming),
    ("lowercase", Case::Lower),
    ("UPPERCASE", Case::Upper),
];

impl Case {
    /// Parses the name of a case.
    pub fn parse(text: &LitStr) -> Result<Self> {
        let name = text.value();
        let found = NAMES.iter().find(|(given, _)| *given == name);
        found.map(|(_, case)| *case).ok_or_else(|| {
            let known: Vec<&str> = NAMES.iter().map(|(name, _)| *name).collect();
            Error::new(text.span(), format!("unknown case; use one of {}", known.join(", ")))
        })
    }

    /// The property name for a field.
    pub fn apply(self, field: &str) -> String {
        let words = || field.split('_').filter(|word| !word.is_empty());
        match self {
            Case::Same => field.to_owned(),
            Case::Pascal => words().map(capital).collect(),
            Case::Camel => {
                let pascal: String = words().map(capital).collect();
                let mut chars = pascal.chars();
                chars.next().map(|first| first.to_lowercase().chain(chars).collect()).unwrap_or_default()
            }
            Case::Screaming => field.to_uppercase(),
            Case::Lower => words().collect::<String>().to_lowercase(),
            Case::Upper => words().collect::<String>().to_uppercase(),
        }
    }
}

fn capital(word: &str) -> String {
    let mut chars = word.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

/// Maximum length of a property name.
const NAME_CHARS_MAX: usize = 255;

/// Rejects a name that the service would reject. The rule is that of `lazuli_model::table::entity::is_property_name`, which a
/// macro cannot call without the crate; property_names.txt tests both.
pub fn check_name(name: &str, span: proc_macro2::Span) -> Result<()> {
    let mut chars = name.chars();
    let legal = chars.next().is_some_and(|c| unicode_ident::is_xid_start(c) || c == '_')
        && chars.all(|c| unicode_ident::is_xid_continue(c) || is_joiner(c));
    if !legal || name.chars().count() > NAME_CHARS_MAX {
        return Err(Error::new(
            span,
            format!(
                "'{name}' is not a valid property name: use at most 255 letters, digits and _, not starting with a digit"
            ),
        ));
    }
    if matches!(name, "PartitionKey" | "RowKey" | "Timestamp") {
        return Err(Error::new(
            span,
            format!(
                "'{name}' is reserved; mark the field with #[table(partition_key)], #[table(row_key)] or #[table(timestamp)]"
            ),
        ));
    }
    Ok(())
}

/// Marks that join letters or keep them apart, which some scripts, such as Persian, need inside words.
fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200c}' | '\u{200d}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases() {
        for (case, name) in [
            (Case::Same, "no_of_strings"),
            (Case::Pascal, "NoOfStrings"),
            (Case::Camel, "noOfStrings"),
            (Case::Screaming, "NO_OF_STRINGS"),
            (Case::Lower, "noofstrings"),
            (Case::Upper, "NOOFSTRINGS"),
        ] {
            assert_eq!(case.apply("no_of_strings"), name);
        }
    }

    /// Names such as `a²` were accepted by the macro, but every write of the entity failed at the server; marks
    /// inside words were rejected here.
    #[test]
    fn names_are_those_that_the_service_accepts() {
        let table = include_str!("../../model/src/table/property_names.txt");
        let table = table.replace("ZWNJ", "\u{200c}").replace("ZWJ", "\u{200d}");
        let is_valid = |name: &str| check_name(name, proc_macro2::Span::call_site()).is_ok();
        for line in table.lines().filter(|line| !line.starts_with('#')) {
            let (verdict, name) = line.split_once(' ').unwrap();
            assert_eq!(if is_valid(name) { "valid" } else { "invalid" }, verdict, "{name:?}");
        }
        assert!(is_valid(&"é".repeat(255)) && !is_valid(&"é".repeat(256)) && !is_valid(""));
    }
}
