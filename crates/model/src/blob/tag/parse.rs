//! The parser of tag expressions: `"name" = 'value'` with `AND`, `OR` and parentheses.
//!
//! Recursion, the number of comparisons and the length are bounded.

use std::fmt;

use super::{TagComparison, TagExpression, TagOperator, TagQuery, is_legal};
use crate::blob::limits::{
    TAG_COMPARISONS_MAX, TAG_EXPRESSION_BYTES_MAX, TAG_EXPRESSION_DEPTH_MAX, TAG_NAME_CHARS_MAX,
    TAG_VALUE_CHARS_MAX, TAGS_MAX,
};

/// An invalid tag expression, with the position of the error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    /// The byte at which parsing stopped.
    pub at: usize,
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "error parsing query at or near character position {}", self.at + 1)
    }
}

impl std::error::Error for SyntaxError {}

/// The name that stands for the container in a search.
const CONTAINER: &str = "@container";

pub(super) fn expression(text: &str) -> Result<TagExpression, SyntaxError> {
    let mut parser = Parser::new(text)?;
    let found = parser.any(0)?;
    parser.end()?;
    Ok(found)
}

pub(super) fn query(text: &str) -> Result<TagQuery, SyntaxError> {
    let mut parser = Parser::new(text)?;
    let mut query = TagQuery::default();
    loop {
        parser.skip_blanks();
        let at = parser.at;
        if parser.symbol(CONTAINER) {
            if query.container.is_some() || parser.operator()? != TagOperator::Equal {
                return Err(SyntaxError { at });
            }
            query.container = Some(parser.container()?);
        } else {
            let comparison = parser.comparison()?;
            if !can_search(&comparison, &query.comparisons) {
                return Err(SyntaxError { at });
            }
            query.comparisons.push(comparison);
        }
        if !parser.keyword("and") {
            break;
        }
    }
    parser.end()?;
    if query.comparisons.is_empty() { Err(SyntaxError { at: parser.at }) } else { Ok(query) }
}

/// Is this comparison allowed after the earlier ones? A search uses at most ten tags.
fn can_search(comparison: &TagComparison, earlier: &[TagComparison]) -> bool {
    let TagComparison { name, operator, value } = comparison;
    let fits = (1..=TAG_NAME_CHARS_MAX).contains(&name.chars().count())
        && value.chars().count() <= TAG_VALUE_CHARS_MAX
        && *operator != TagOperator::NotEqual;
    let mut names: Vec<&str> = earlier.iter().map(|other| &*other.name).chain([&**name]).collect();
    names.sort_unstable();
    names.dedup();
    fits && names.len() <= TAGS_MAX
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    comparisons: usize,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str) -> Result<Self, SyntaxError> {
        if text.len() > TAG_EXPRESSION_BYTES_MAX {
            return Err(SyntaxError { at: TAG_EXPRESSION_BYTES_MAX });
        }
        Ok(Self { text, at: 0, comparisons: 0 })
    }

    fn error<T>(&self) -> Result<T, SyntaxError> {
        Err(SyntaxError { at: self.at })
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn skip_blanks(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start_matches([' ', '\t']).len();
    }

    fn end(&mut self) -> Result<(), SyntaxError> {
        self.skip_blanks();
        if self.rest().is_empty() { Ok(()) } else { self.error() }
    }

    fn symbol(&mut self, symbol: &str) -> bool {
        self.skip_blanks();
        let found = self.rest().starts_with(symbol);
        if found {
            self.at += symbol.len();
        }
        found
    }

    /// A keyword in any letter case, but not as the start of a longer word.
    fn keyword(&mut self, word: &str) -> bool {
        self.skip_blanks();
        let rest = self.rest();
        let found = rest.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word))
            && !rest[word.len()..].starts_with(is_name_character);
        if found {
            self.at += word.len();
        }
        found
    }

    fn any(&mut self, depth: usize) -> Result<TagExpression, SyntaxError> {
        self.joined("or", TagExpression::Or, |parser| {
            parser.joined("and", TagExpression::And, |parser| parser.operand(depth))
        })
    }

    fn joined(
        &mut self,
        word: &str,
        join: impl Fn(Vec<TagExpression>) -> TagExpression,
        next: impl Fn(&mut Self) -> Result<TagExpression, SyntaxError>,
    ) -> Result<TagExpression, SyntaxError> {
        let first = next(self)?;
        if !self.keyword(word) {
            return Ok(first);
        }
        let mut all = vec![first, next(self)?];
        while self.keyword(word) {
            all.push(next(self)?);
        }
        Ok(join(all))
    }

    fn operand(&mut self, depth: usize) -> Result<TagExpression, SyntaxError> {
        if !self.symbol("(") {
            return self.comparison().map(TagExpression::Compare);
        }
        if depth == TAG_EXPRESSION_DEPTH_MAX {
            return self.error();
        }
        let inner = self.any(depth + 1)?;
        if self.symbol(")") { Ok(inner) } else { self.error() }
    }

    fn comparison(&mut self) -> Result<TagComparison, SyntaxError> {
        self.comparisons += 1;
        if self.comparisons > TAG_COMPARISONS_MAX {
            return self.error();
        }
        Ok(TagComparison { name: self.name()?, operator: self.operator()?, value: self.value()? })
    }

    /// A name in quotes can contain all characters that are allowed in tags.
    fn name(&mut self) -> Result<String, SyntaxError> {
        if self.symbol("\"") {
            return self.until('"', is_legal);
        }
        let rest = self.rest();
        let length = rest.len() - rest.trim_start_matches(is_name_character).len();
        if length == 0 {
            return self.error();
        }
        self.at += length;
        Ok(rest[..length].to_owned())
    }

    fn operator(&mut self) -> Result<TagOperator, SyntaxError> {
        const SYMBOLS: [(&str, TagOperator); 6] = [
            ("<>", TagOperator::NotEqual),
            ("<=", TagOperator::LessOrEqual),
            (">=", TagOperator::GreaterOrEqual),
            ("<", TagOperator::Less),
            (">", TagOperator::Greater),
            ("=", TagOperator::Equal),
        ];
        let found = SYMBOLS.iter().find(|(symbol, _)| self.symbol(symbol));
        found.map_or_else(|| self.error(), |(_, operator)| Ok(*operator))
    }

    fn value(&mut self) -> Result<String, SyntaxError> {
        if self.symbol("'") { self.until('\'', is_legal) } else { self.error() }
    }

    /// The name of a container. Names of system containers contain characters that tags cannot contain.
    fn container(&mut self) -> Result<String, SyntaxError> {
        if self.symbol("'") { self.until('\'', |_| true) } else { self.error() }
    }

    /// The string up to the closing quote; tags can contain neither kind of quote.
    fn until(&mut self, quote: char, is_legal: fn(&str) -> bool) -> Result<String, SyntaxError> {
        let Some(length) = self.rest().find(quote) else { return self.error() };
        let found = &self.rest()[..length];
        if !is_legal(found) {
            return self.error();
        }
        self.at += length + quote.len_utf8();
        Ok(found.to_owned())
    }
}

/// The allowed characters of a name without quotes.
fn is_name_character(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_'
}
