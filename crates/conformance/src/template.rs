//! Text with placeholders for values that differ from run to run.
//!
//! A brace that does not open a known placeholder is an ordinary character, so JSON needs no escaping.

/// A piece of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TemplatePart {
    /// Literal text.
    Text(String),
    /// A placeholder.
    Placeholder {
        /// Its kind: one of [`NAMES`].
        name: &'static str,
        /// The arguments after the name, split as the kind requires.
        arguments: Vec<Template>,
        /// Lines between the start of the template and the placeholder.
        line: usize,
    },
}

/// Text with placeholders.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Template {
    pub(crate) parts: Vec<TemplatePart>,
}

/// The way in which the arguments of a placeholder are split.
#[derive(Clone, Copy)]
enum Split {
    /// Everything is one argument, which may be absent.
    Whole,
    /// At the last colon.
    Last,
    /// At the first two colons.
    FirstTwo,
    /// At the first two vertical bars.
    Bar,
}

/// Every kind of placeholder.
const NAMES: &[(&str, Split)] = &[
    ("account", Split::Whole),
    ("any", Split::Whole),
    ("base", Split::Whole),
    ("bom", Split::Whole),
    ("container", Split::Whole),
    ("crlf", Split::Whole),
    ("date", Split::Whole),
    ("each", Split::FirstTwo),
    ("error", Split::Bar),
    ("etag", Split::Whole),
    ("frontxml", Split::Bar),
    ("host", Split::Whole),
    ("id", Split::Whole),
    ("lf", Split::Whole),
    ("lower", Split::Whole),
    ("n", Split::Whole),
    ("oldxml", Split::Bar),
    ("prefix", Split::Whole),
    ("queue", Split::Whole),
    ("repeat", Split::Last),
    ("requestid", Split::Whole),
    ("root", Split::Whole),
    ("sas", Split::Whole),
    ("scheme", Split::Whole),
    ("seconds", Split::Whole),
    ("stamp", Split::Whole),
    ("storage", Split::Bar),
    ("table", Split::Whole),
    ("time", Split::Whole),
    ("time7", Split::Whole),
    ("token", Split::Whole),
    ("upper", Split::Whole),
    ("url", Split::Whole),
    ("use", Split::Whole),
    ("xml", Split::Bar),
];

impl Template {
    /// Reads a template.
    pub(crate) fn parse(text: &str) -> Self {
        parse_at(text, 0)
    }
}

fn parse_at(text: &str, first_line: usize) -> Template {
    let mut parts = Vec::new();
    let mut literal = String::new();
    let mut line = first_line;
    let mut rest = text;
    while let Some(at) = rest.find('{') {
        let (before, from_brace) = rest.split_at(at);
        literal.push_str(before);
        line += before.matches('\n').count();
        if let Some((placeholder, length)) = placeholder(from_brace, line) {
            if !literal.is_empty() {
                parts.push(TemplatePart::Text(std::mem::take(&mut literal)));
            }
            line += from_brace[..length].matches('\n').count();
            parts.push(placeholder);
            rest = &from_brace[length..];
        } else {
            literal.push('{');
            rest = &from_brace[1..];
        }
    }
    literal.push_str(rest);
    if !literal.is_empty() {
        parts.push(TemplatePart::Text(literal));
    }
    Template { parts }
}

/// Parses a placeholder at the start of the string, and returns it with its length.
fn placeholder(text: &str, line: usize) -> Option<(TemplatePart, usize)> {
    let end = matching_brace(text)?;
    let inner = &text[1..end];
    let (name, argument) = match inner.split_once(':') {
        Some((name, argument)) => (name, Some(argument)),
        None => (inner, None),
    };
    let &(name, split) = NAMES.iter().find(|(known, _)| *known == name)?;
    let arguments = match argument {
        None => Vec::new(),
        Some(argument) => arguments(argument, split)?.into_iter().map(|text| parse_at(text, line)).collect(),
    };
    Some((TemplatePart::Placeholder { name, arguments, line }, end + 1))
}

fn arguments(text: &str, split: Split) -> Option<Vec<&str>> {
    Some(match split {
        Split::Whole => vec![text],
        Split::Last => {
            let (first, last) = text.rsplit_once(':')?;
            vec![first, last]
        }
        Split::FirstTwo => {
            let (first, rest) = text.split_once(':')?;
            let (second, third) = rest.split_once(':')?;
            vec![first, second, third]
        }
        Split::Bar => {
            let parts: Vec<&str> = text.splitn(3, '|').collect();
            return (parts.len() > 1).then_some(parts);
        }
    })
}

/// The position of the brace that closes the one at the start.
fn matching_brace(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' => {
                depth -= 1;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn show(template: &Template) -> String {
        let part = |part: &TemplatePart| match part {
            TemplatePart::Text(text) => text.clone(),
            TemplatePart::Placeholder { name, arguments, line } => {
                let arguments: Vec<_> = arguments.iter().map(show).collect();
                format!("<{name}@{line} {}>", arguments.join(";"))
            }
        };
        template.parts.iter().map(part).collect()
    }

    #[track_caller]
    fn check(text: &str, shown: &str) {
        assert_eq!(show(&Template::parse(text)), shown);
    }

    #[test]
    fn placeholders_are_found_and_json_is_left_alone() {
        check("plain", "plain");
        check(r#"{"a":{"b":"{etag:1}"}}"#, r#"{"a":{"b":"<etag@0 1>"}}"#);
        check("{} {unknown} {any", "{} {unknown} {any");
        check("x{any}y", "x<any@0 >y");
        check("a\n{id}\n{id:b}", "a\n<id@1 >\n<id@2 b>");
        check("{Any}", "{Any}");
    }

    #[test]
    fn arguments_are_split_as_the_kind_wants() {
        check("{repeat:a:b:3}", "<repeat@0 a:b;3>");
        check(r#"{each:1:3:{"k":"{n}"}}"#, r#"<each@0 1;3;{"k":"<n@0 >"}>"#);
        check("{error:Code|Text: {table:a}}", "<error@0 Code;Text: <table@0 a>>");
        check("{upper:{table:a}}", "<upper@0 <table@0 a>>");
        check("{each:1:2}", "{each:1:2}");
    }
}
