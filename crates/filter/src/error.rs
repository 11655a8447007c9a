//! Why a text is not a filter, in the words that go to the client.

use std::fmt;

use lazuli_model::{EdmType, ErrorCode, Failure};

/// Why a filter is refused. Its [`Display`](fmt::Display) is the message on the wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParseError {
    /// The text does not follow the grammar.
    Syntax {
        /// Where reading stopped, in UTF-16 code units: the end of the token that does not fit.
        position: usize,
        /// The whole filter.
        filter: Box<str>,
    },
    /// A constant has the form of a type, but is not a value of it.
    Literal {
        /// The type.
        kind: EdmType,
        /// The constant as written.
        literal: Box<str>,
        /// Where it starts, in UTF-16 code units.
        position: usize,
        /// The whole filter.
        filter: Box<str>,
    },
    /// The two sides of an operator do not go together. An open property has no type.
    OperandTypes {
        /// The type of the left side.
        left: Option<EdmType>,
        /// The type of the right side.
        right: Option<EdmType>,
        /// The operator as OData's messages name it.
        operator: &'static str,
    },
    /// `not` stands before something that is not a condition.
    OperandType {
        /// The type of what it stands before.
        operand: EdmType,
    },
    /// The whole filter is a value and not a condition.
    NotACondition,
    /// Well formed, but not something that the service compares: `null`, two properties, a property that there is not.
    Refused,
    /// Deeper or longer than we evaluate.
    TooComplex,
    /// A part of OData that the service does not have: functions, arithmetic, paths.
    NotImplemented,
}

impl ParseError {
    /// The code that goes with the message.
    pub fn code(&self) -> ErrorCode {
        match self {
            ParseError::NotImplemented => ErrorCode::NotImplemented,
            ParseError::Syntax { .. }
            | ParseError::Literal { .. }
            | ParseError::OperandTypes { .. }
            | ParseError::OperandType { .. }
            | ParseError::NotACondition
            | ParseError::Refused
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
            ParseError::Refused | ParseError::TooComplex | ParseError::NotImplemented => {
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
