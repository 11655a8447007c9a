//! Parses the string of a filter.
//!
//! ```text
//! filter     = and *( "or" and )
//! and        = not *( "and" not )
//! not        = "not" not / comparison
//! comparison = operand [ ( "eq" / "ne" / "gt" / "ge" / "lt" / "le" ) operand ]
//! operand    = name / constant / "(" filter ")"
//! ```
//!
//! `not` applies to the whole comparison that follows it, with or without parentheses. Open parentheses are kept in a list,
//! not on the call stack, since .NET's LINQ nests one pair for every term. The depth limit applies to the result, in
//! which chains of `and` and of `or` are flat.
//!
//! Syntax errors come before type errors: a type error is reported only for a string without syntax errors.

use lazuli_model::table::entity::is_property_name;
use lazuli_model::table::filter::{Comparison, Expr, Operator};
use lazuli_model::table::limits::{FILTER_COMPARISONS_MAX, FILTER_DEPTH_MAX};
use lazuli_model::{EdmType, Value};

use crate::compare::compare_constants;
use crate::lex::{Lexer, Token};
use crate::{ParseError, Schema};

/// Maximum number of open parentheses: twice the nesting that [`FILTER_COMPARISONS_MAX`] terms can require.
pub const PARENTHESES_MAX: usize = 2 * FILTER_COMPARISONS_MAX;

/// Parses a filter.
pub fn parse(text: &str, schema: Schema) -> Result<Expr, ParseError> {
    let parser = Parser {
        lexer: Lexer::new(text),
        schema,
        frame: Frame::default(),
        outer: Vec::new(),
        terms: 0,
        rejection: None,
    };
    parser.run()
}

/// Parses an optional filter: a string of spaces filters nothing.
pub fn parse_optional(text: &str, schema: Schema) -> Result<Option<Expr>, ParseError> {
    if text.trim().is_empty() { Ok(None) } else { parse(text, schema).map(Some) }
}

struct Parser<'a> {
    lexer: Lexer<'a>,
    schema: Schema,
    /// Parts parsed since the innermost open parenthesis.
    frame: Frame<'a>,
    /// The same list for the enclosing parentheses.
    outer: Vec<Frame<'a>>,
    /// Number of comparisons and other conditions so far.
    terms: usize,
    /// The first type error.
    rejection: Option<ParseError>,
}

/// Parts that wait for the next operand.
#[derive(Default)]
struct Frame<'a> {
    /// The left side of `or`.
    either: Option<Operand<'a>>,
    /// The left side of `and`.
    both: Option<Operand<'a>>,
    /// Number of pending `not` operators.
    nots: usize,
    /// The left side of a comparison.
    compared: Option<(Operand<'a>, Operator)>,
}

/// Operand of an operator.
enum Operand<'a> {
    Literal(Value),
    Null,
    Property(&'a str),
    Condition(Condition),
}

struct Condition {
    expr: Expr,
    depth: usize,
}

/// Operator that joins two conditions.
#[derive(Clone, Copy, PartialEq)]
enum Joint {
    And,
    Or,
}

impl<'a> Parser<'a> {
    fn run(mut self) -> Result<Expr, ParseError> {
        loop {
            let operand = self.read_operand()?;
            if let Some(whole) = self.read_operator(operand)? {
                return self.finish(whole);
            }
        }
    }

    /// Parses up to the next operand.
    fn read_operand(&mut self) -> Result<Operand<'a>, ParseError> {
        loop {
            match self.lexer.next()? {
                Token::Open => self.open()?,
                Token::Word("not") if self.frame.compared.is_some() => return Err(self.lexer.unexpected()),
                Token::Word("not") => self.frame.nots += 1,
                Token::Word(name) => return self.read_name(name),
                Token::Literal(value) => return Ok(Operand::Literal(value)),
                Token::Null => return Ok(Operand::Null),
                Token::Sign => return Err(ParseError::NotImplemented),
                Token::Close | Token::Stray | Token::End => return Err(self.lexer.unexpected()),
            }
        }
    }

    fn read_name(&self, name: &'a str) -> Result<Operand<'a>, ParseError> {
        if name.starts_with('$') || self.lexer.opens() {
            return Err(ParseError::NotImplemented);
        }
        if is_property_name(name) { Ok(Operand::Property(name)) } else { Err(self.lexer.unexpected()) }
    }

    /// Parses the operators after an operand, up to the next operand. Returns the whole filter at the end of the text.
    fn read_operator(&mut self, mut operand: Operand<'a>) -> Result<Option<Operand<'a>>, ParseError> {
        loop {
            if let Some((left, operator)) = self.frame.compared.take() {
                operand = self.compare(left, operator, operand)?;
            }
            match self.lexer.next()? {
                Token::Word("and") => {
                    let both = self.end_and(operand)?;
                    self.frame.both = Some(both);
                    return Ok(None);
                }
                Token::Word("or") => {
                    let either = self.end_or(operand)?;
                    self.frame.either = Some(either);
                    return Ok(None);
                }
                Token::Word("add" | "sub" | "mul" | "div" | "mod" | "in" | "has") | Token::Sign => {
                    return Err(ParseError::NotImplemented);
                }
                Token::Word(word) => {
                    let operator = Operator::ALL.into_iter().find(|operator| operator.keyword() == word);
                    self.frame.compared = Some((operand, operator.ok_or_else(|| self.lexer.unexpected())?));
                    return Ok(None);
                }
                Token::Close if !self.outer.is_empty() => {
                    operand = self.end_or(operand)?;
                    self.frame = self.outer.pop().unwrap_or_default();
                }
                Token::End if self.outer.is_empty() => return self.end_or(operand).map(Some),
                Token::Open | Token::Close | Token::Literal(_) | Token::Null | Token::Stray | Token::End => {
                    return Err(self.lexer.unexpected());
                }
            }
        }
    }

    fn open(&mut self) -> Result<(), ParseError> {
        if self.outer.len() >= PARENTHESES_MAX {
            return Err(ParseError::TooComplex);
        }
        self.outer.push(std::mem::take(&mut self.frame));
        Ok(())
    }

    /// Applies the pending `not` and `and` to the operand.
    fn end_and(&mut self, mut operand: Operand<'a>) -> Result<Operand<'a>, ParseError> {
        for _ in 0..std::mem::take(&mut self.frame.nots) {
            operand = self.negate(operand)?;
        }
        match self.frame.both.take() {
            Some(left) => self.join(left, Joint::And, operand),
            None => Ok(operand),
        }
    }

    /// Applies the pending `not`, `and` and `or` to the operand.
    fn end_or(&mut self, operand: Operand<'a>) -> Result<Operand<'a>, ParseError> {
        let both = self.end_and(operand)?;
        match self.frame.either.take() {
            Some(left) => self.join(left, Joint::Or, both),
            None => Ok(both),
        }
    }

    fn finish(mut self, whole: Operand<'a>) -> Result<Expr, ParseError> {
        if !self.can_be_condition(&whole) {
            self.reject(ParseError::NotACondition);
        }
        let condition = self.condition(whole)?;
        match self.rejection {
            Some(error) => Err(error),
            None => Ok(condition.expr),
        }
    }

    fn compare(
        &mut self,
        left: Operand<'a>,
        operator: Operator,
        right: Operand<'a>,
    ) -> Result<Operand<'a>, ParseError> {
        self.count_term()?;
        let kinds = (self.kind(&left), self.kind(&right));
        let expr = match (left, right) {
            (Operand::Property(name), Operand::Literal(literal)) => {
                self.check_property(name, kinds, operator);
                Expr::Compare(Comparison { property: name.to_owned(), operator, literal })
            }
            (Operand::Literal(literal), Operand::Property(name)) => {
                self.check_property(name, kinds, operator);
                Expr::Compare(Comparison { property: name.to_owned(), operator: operator.flipped(), literal })
            }
            (Operand::Literal(left), Operand::Literal(right)) => {
                let known = compare_constants(&left, operator, &right);
                if known.is_none() {
                    self.reject_types(kinds, operator.kind_name());
                }
                Expr::Constant(known.unwrap_or(false))
            }
            _ => {
                self.reject(ParseError::Rejected);
                Expr::Constant(false)
            }
        };
        Ok(Operand::Condition(Condition { expr, depth: 1 }))
    }

    /// Only open properties may be compared with constants of any type.
    fn check_property(&mut self, name: &str, kinds: (Option<EdmType>, Option<EdmType>), operator: Operator) {
        if !self.schema.allows(name) {
            self.reject(ParseError::Rejected);
        } else if self.schema.declared(name).is_some() && kinds.0 != kinds.1 {
            self.reject_types(kinds, operator.kind_name());
        }
    }

    fn negate(&mut self, operand: Operand<'a>) -> Result<Operand<'a>, ParseError> {
        if let (false, Some(operand)) = (self.can_be_condition(&operand), self.kind(&operand)) {
            self.reject(ParseError::OperandType { operand });
        }
        let inner = self.condition(operand)?;
        checked(Expr::Not(Box::new(inner.expr)), inner.depth + 1)
    }

    fn join(
        &mut self,
        left: Operand<'a>,
        joint: Joint,
        right: Operand<'a>,
    ) -> Result<Operand<'a>, ParseError> {
        if !self.can_be_condition(&left) || !self.can_be_condition(&right) {
            let kinds = (self.kind(&left), self.kind(&right));
            self.reject_types(kinds, if joint == Joint::And { "And" } else { "Or" });
        }
        let (mut parts, left_depth) = parts_of(self.condition(left)?, joint);
        let (mut more, right_depth) = parts_of(self.condition(right)?, joint);
        parts.append(&mut more);
        let expr = if joint == Joint::And { Expr::And(parts) } else { Expr::Or(parts) };
        checked(expr, 1 + left_depth.max(right_depth))
    }

    /// The operand as a condition. An operand that is not a condition was already reported, so its value does not
    /// matter.
    fn condition(&mut self, operand: Operand<'a>) -> Result<Condition, ParseError> {
        let expr = match operand {
            Operand::Condition(condition) => return Ok(condition),
            Operand::Literal(value) => Expr::Constant(value == Value::Boolean(true)),
            // An operator without operands would otherwise be mistaken for a property of type Boolean.
            Operand::Property(name) if is_operator(name) => return Err(self.lexer.unexpected()),
            Operand::Property(name) => {
                if !self.schema.allows(name) {
                    self.reject(ParseError::Rejected);
                }
                Expr::Flag(name.to_owned())
            }
            Operand::Null => {
                self.reject(ParseError::Rejected);
                Expr::Constant(false)
            }
        };
        self.count_term()?;
        Ok(Condition { expr, depth: 1 })
    }

    /// The type, if it is known without an entity.
    fn kind(&self, operand: &Operand<'a>) -> Option<EdmType> {
        match operand {
            Operand::Literal(value) => Some(value.kind()),
            Operand::Property(name) => self.schema.declared(name),
            Operand::Condition(_) => Some(EdmType::Boolean),
            Operand::Null => None,
        }
    }

    fn can_be_condition(&self, operand: &Operand<'a>) -> bool {
        matches!(self.kind(operand), None | Some(EdmType::Boolean))
    }

    fn reject_types(&mut self, kinds: (Option<EdmType>, Option<EdmType>), operator: &'static str) {
        self.reject(ParseError::OperandTypes { left: kinds.0, right: kinds.1, operator });
    }

    fn reject(&mut self, error: ParseError) {
        self.rejection.get_or_insert(error);
    }

    fn count_term(&mut self) -> Result<(), ParseError> {
        self.terms += 1;
        if self.terms > FILTER_COMPARISONS_MAX { Err(ParseError::TooComplex) } else { Ok(()) }
    }
}

/// Is the word an operator? A property may have the same name, but that is clear only in a comparison.
pub(crate) fn is_operator(word: &str) -> bool {
    matches!(word, "and" | "or") || Operator::ALL.into_iter().any(|operator| operator.keyword() == word)
}

/// The members of a chain, and the depth of the deepest one; or the condition itself if it is not a chain of this kind.
fn parts_of(condition: Condition, joint: Joint) -> (Vec<Expr>, usize) {
    match (condition.expr, joint) {
        (Expr::And(parts), Joint::And) | (Expr::Or(parts), Joint::Or) => (parts, condition.depth - 1),
        (expr, _) => (vec![expr], condition.depth),
    }
}

fn checked<'a>(expr: Expr, depth: usize) -> Result<Operand<'a>, ParseError> {
    if depth > FILTER_DEPTH_MAX {
        return Err(ParseError::TooComplex);
    }
    Ok(Operand::Condition(Condition { expr, depth }))
}
