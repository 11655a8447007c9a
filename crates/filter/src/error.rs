//! Errors for strings that are not a valid filter, with the message for the client.

use std::fmt;

use lazuli_model::{EdmType, ErrorCode, Failure};

/// The reason why a filter is rejected. Its [`Display`](fmt::Display) is the message on the wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParseError {
    /// The text does not follow the grammar.
    Syntax {
        /// Position at which parsing stopped, in UTF-16 code units: the end of the unexpected token.
        position: usize,
        /// The whole filter.
        filter: Box<str>,
    },
    /// A constant has the syntax of a type, but is not a valid value of it.
    Literal {
        /// The type.
        kind: EdmType,
        /// The constant, as written.
        literal: Box<str>,
        /// The start of the constant, in UTF-16 code units.
        position: usize,
        /// The whole filter.
        filter: Box<str>,
    },
    /// The two sides of an operator have incompatible types. An open property has no type.
    OperandTypes {
        /// The type of the left side.
        left: Option<EdmType>,
        /// The type of the right side.
        right: Option<EdmType>,
        /// Name of the operator in OData's messages.
        operator: &'static str,
    },
    /// The operand of `not` is not a condition.
    OperandType {
        /// Type of the operand.
        operand: EdmType,
    },
    /// The whole filter is a value, not a condition.
    NotACondition,
    /// A well-formed comparison that the service does not support: `null`, two properties, an unknown property.
    Rejected,
    /// Nested deeper or longer than the limits allow.
    TooComplex,
    /// Any part of OData that the service does not support: functions, arithmetic, paths.
    NotImplemented,
}

impl ParseError {
    /// The error code for the response.
    pub fn code(&self) -> ErrorCode {
        match self {
            ParseError::NotImplemented => ErrorCode::NotImplemented,
            ParseError::Syntax { .. }
            | ParseError::Literal { .. }
            | ParseError::OperandTypes { .. }
            | ParseError::OperandType { .. }
            | ParseError::NotACondition
            | ParseError::Rejected
            | ParseError::TooComplex => ErrorCode::InvalidInput,
        }
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParseError::Syntax { position, filter } => {
                write!(f, "Syntax error at position {position} in '{filter}'.")
            }
            ParseError::Literal { kind, literal, position, filter } => {
                let kind = kind.name();
                write!(f, "Unrecognized '{kind}' literal '{literal}' at '{position}' in '{filter}'.")
            }
            ParseError::OperandTypes { left, right, operator } => write!(
                f,
                "A binary operator with incompatible types was detected. \
                 Found operand types '{}' and '{}' for operator kind '{operator}'.",
                type_name(*left),
                type_name(*right),
            ),
            ParseError::OperandType { operand } => write!(
                f,
                "A unary operator with an incompatible type was detected. \
                 Found operand type '{}' for operator kind 'Not'.",
                operand.name(),
            ),
            ParseError::NotACondition => {
                f.write_str("The $filter expression must evaluate to a single boolean value.")
            }
            ParseError::Rejected | ParseError::TooComplex | ParseError::NotImplemented => {
                f.write_str(self.code().message())
            }
        }
    }
}

impl std::error::Error for ParseError {}

impl From<ParseError> for Failure {
    fn from(error: ParseError) -> Self {
        Failure::new(error.code(), error.to_string())
    }
}

fn type_name(kind: Option<EdmType>) -> &'static str {
    kind.map_or("<null>", EdmType::name)
}
