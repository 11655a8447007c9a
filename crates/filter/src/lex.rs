//! Splits the text of a filter into tokens, and parses constants into values.
//!
//! Every byte is examined a bounded number of times, so a hostile filter costs no more than any other of the
//! same length.

use lazuli_model::table::key::utf16_len;
use lazuli_model::{DateTime, EdmType, Value};

use crate::ParseError;

/// A token.
#[derive(Debug, PartialEq)]
pub(crate) enum Token<'a> {
    /// `(`
    Open,
    /// `)`
    Close,
    /// A keyword or a name, depending on the position.
    Word(&'a str),
    /// A constant.
    Literal(Value),
    /// `null`
    Null,
    /// An arithmetic operator or a path separator.
    Sign,
    /// A character that cannot start a token.
    Stray,
    /// End of the text.
    End,
}

/// Position of the lexer in the text.
pub(crate) struct Lexer<'a> {
    text: &'a str,
    /// Start of the last token.
    start: usize,
    /// End of the last token.
    at: usize,
}

impl<'a> Lexer<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text, start: 0, at: 0 }
    }

    /// The next token.
    pub(crate) fn next(&mut self) -> Result<Token<'a>, ParseError> {
        self.skip(char::is_whitespace);
        self.start = self.at;
        let Some(first) = self.rest().chars().next() else { return Ok(Token::End) };
        match first {
            '(' => Ok(self.single(first, Token::Open)),
            ')' => Ok(self.single(first, Token::Close)),
            '\'' => self.string(),
            '-' => self.negative(),
            '0'..='9' => self.number(),
            '/' => Ok(self.single(first, Token::Sign)),
            '$' | '_' => self.word(),
            _ if is_word(first) => self.word(),
            _ => Ok(self.single(first, Token::Stray)),
        }
    }

    /// Is the next token an opening parenthesis?
    pub(crate) fn opens(&self) -> bool {
        self.rest().trim_start().starts_with('(')
    }

    /// The error for a token in an unexpected position.
    pub(crate) fn unexpected(&self) -> ParseError {
        ParseError::Syntax { position: utf16_len(&self.text[..self.at]), filter: self.text.into() }
    }

    fn malformed(&self, kind: EdmType) -> ParseError {
        ParseError::Literal {
            kind,
            literal: self.text[self.start..self.at].into(),
            position: utf16_len(&self.text[..self.start]),
            filter: self.text.into(),
        }
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn skip(&mut self, wanted: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let length = rest.find(|c| !wanted(c)).unwrap_or(rest.len());
        self.at += length;
        &rest[..length]
    }

    fn single(&mut self, c: char, token: Token<'a>) -> Token<'a> {
        self.at += c.len_utf8();
        token
    }

    /// Skips the next character if it is one of these.
    fn one_of(&mut self, wanted: &[char]) -> bool {
        let found = self.rest().starts_with(wanted);
        self.at += usize::from(found);
        found
    }

    /// The contents of a quoted string, as written. The lexer must be at the opening quote.
    fn quoted(&mut self) -> Result<&'a str, ParseError> {
        let inside = &self.rest()[1..];
        let mut end = 0;
        loop {
            let Some(quote) = inside[end..].find('\'') else {
                self.at = self.text.len();
                return Err(self.unexpected());
            };
            end += quote + 1;
            if !inside[end..].starts_with('\'') {
                break;
            }
            end += 1;
        }
        self.at += end + 1;
        Ok(&inside[..end - 1])
    }

    fn string(&mut self) -> Result<Token<'a>, ParseError> {
        let inside = self.quoted()?;
        Ok(Token::Literal(Value::String(inside.replace("''", "'"))))
    }

    fn negative(&mut self) -> Result<Token<'a>, ParseError> {
        self.at += 1;
        if self.rest().starts_with(|c: char| c.is_ascii_digit()) {
            return self.number();
        }
        let sign = self.at;
        if self.skip(is_word) == "INF" {
            return Ok(Token::Literal(Value::Double(f64::NEG_INFINITY)));
        }
        self.at = sign;
        Ok(Token::Sign)
    }

    fn word(&mut self) -> Result<Token<'a>, ParseError> {
        self.one_of(&['$']);
        self.skip(is_word);
        let word = &self.text[self.start..self.at];
        if self.rest().starts_with('\'') {
            return self.typed(word);
        }
        Ok(match word {
            "true" => Token::Literal(Value::Boolean(true)),
            "false" => Token::Literal(Value::Boolean(false)),
            "NaN" => Token::Literal(Value::Double(f64::NAN)),
            "INF" => Token::Literal(Value::Double(f64::INFINITY)),
            "null" => Token::Null,
            _ => Token::Word(word),
        })
    }

    /// A quoted constant with a type prefix.
    fn typed(&mut self, prefix: &str) -> Result<Token<'a>, ParseError> {
        let inside = self.quoted()?;
        let (kind, value) = match prefix {
            "datetime" => (EdmType::DateTime, DateTime::parse(inside).map(Value::DateTime)),
            "guid" => (EdmType::Guid, inside.parse().ok().map(Value::Guid)),
            "X" | "binary" => (EdmType::Binary, bytes_of_hex(inside).map(Value::Binary)),
            _ => return Err(self.unexpected()),
        };
        value.map(Token::Literal).ok_or_else(|| self.malformed(kind))
    }

    fn number(&mut self) -> Result<Token<'a>, ParseError> {
        let is_digit = |c: char| c.is_ascii_digit();
        self.skip(is_digit);
        let mut whole = true;
        if self.one_of(&['.']) {
            whole = false;
            if self.skip(is_digit).is_empty() {
                return Err(self.unexpected());
            }
        }
        if self.one_of(&['e', 'E']) {
            whole = false;
            self.one_of(&['+', '-']);
            if self.skip(is_digit).is_empty() {
                return Err(self.unexpected());
            }
        }
        let digits = &self.text[self.start..self.at];
        let kind = match self.skip(is_word) {
            "" if whole => EdmType::Int32,
            "L" | "l" if whole => EdmType::Int64,
            "" | "d" | "D" => EdmType::Double,
            _ => return Err(self.unexpected()),
        };
        number_of(kind, digits).map(Token::Literal).ok_or_else(|| self.malformed(kind))
    }
}

/// The characters of words. Whether a name may contain them is checked when the word turns out to be a name.
fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || (!c.is_ascii() && !c.is_whitespace())
}

fn number_of(kind: EdmType, digits: &str) -> Option<Value> {
    match kind {
        EdmType::Int32 => digits.parse().ok().map(Value::Int32),
        EdmType::Int64 => digits.parse().ok().map(Value::Int64),
        _ => digits.parse().ok().filter(|value: &f64| value.is_finite()).map(Value::Double),
    }
}

fn bytes_of_hex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> =
        text.chars().map(|c| c.to_digit(16).and_then(|digit| u8::try_from(digit).ok())).collect();
    let digits = digits.filter(|digits| digits.len().is_multiple_of(2))?;
    Some(digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}
