//! Blob tags, and the expressions over them in conditions and searches.
//!
//! Tags are kept in the order of their names, which is the order of responses.

mod parse;

pub use parse::SyntaxError;

use crate::blob::limits::{TAG_NAME_CHARS_MAX, TAG_VALUE_CHARS_MAX, TAGS_MAX};
use crate::{ErrorCode, Failure};

/// The tags of a blob: at most ten, with unique names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tags(Vec<(Box<str>, Box<str>)>);

impl Tags {
    /// Adds a tag. Fails if the name is empty, illegal, too long or already present, or if there are too many tags.
    ///
    /// ```
    /// use lazuli_model::blob::Tags;
    ///
    /// let mut tags = Tags::default();
    /// tags.insert("project", "apollo")?;
    /// tags.insert("by", "ada")?;
    /// assert_eq!(tags.get("project"), Some("apollo"));
    /// assert_eq!(tags.iter().next(), Some(("by", "ada")));
    /// # Ok::<(), lazuli_model::Failure>(())
    /// ```
    pub fn insert(&mut self, name: &str, value: &str) -> Result<(), Failure> {
        if name.is_empty() {
            return Err(ErrorCode::EmptyTagName.into());
        }
        let fits = name.chars().count() <= TAG_NAME_CHARS_MAX && value.chars().count() <= TAG_VALUE_CHARS_MAX;
        if !fits || !is_legal(name) || !is_legal(value) {
            return Err(ErrorCode::InvalidTag.into());
        }
        match self.0.binary_search_by(|(own, _)| (**own).cmp(name)) {
            Ok(_) => Err(ErrorCode::DuplicateTagNames.into()),
            Err(_) if self.0.len() == TAGS_MAX => Err(ErrorCode::TagsTooLarge.into()),
            Err(at) => {
                self.0.insert(at, (name.into(), value.into()));
                Ok(())
            }
        }
    }

    /// The value of a tag.
    pub fn get(&self, name: &str) -> Option<&str> {
        let at = self.0.binary_search_by(|(own, _)| (**own).cmp(name)).ok()?;
        Some(&self.0[at].1)
    }

    /// Names and values in the order of the names.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (&**name, &**value))
    }

    /// The number of tags.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The allowed characters of names and values.
fn is_legal(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_alphanumeric() || b" +-./:=_".contains(&b))
}

/// A comparison operator. Tags are compared in byte order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TagOperator {
    /// `=`
    Equal,
    /// `<>`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

/// A comparison of a tag with a string.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TagComparison {
    /// The name of the tag.
    pub name: String,
    /// How it is compared.
    pub operator: TagOperator,
    /// The string that it is compared with.
    pub value: String,
}

impl TagComparison {
    /// Is it true? A missing tag fulfils only `<>`.
    pub fn matches(&self, tags: &Tags) -> bool {
        let Some(own) = tags.get(&self.name) else { return self.operator == TagOperator::NotEqual };
        let order = own.cmp(&self.value);
        match self.operator {
            TagOperator::Equal => order.is_eq(),
            TagOperator::NotEqual => order.is_ne(),
            TagOperator::Less => order.is_lt(),
            TagOperator::LessOrEqual => order.is_le(),
            TagOperator::Greater => order.is_gt(),
            TagOperator::GreaterOrEqual => order.is_ge(),
        }
    }
}

/// The expression of `x-ms-if-tags`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TagExpression {
    /// One comparison.
    Compare(TagComparison),
    /// All of these.
    And(Vec<TagExpression>),
    /// At least one of these.
    Or(Vec<TagExpression>),
}

impl TagExpression {
    /// Reads an expression: comparisons with `AND`, `OR` and parentheses.
    ///
    /// ```
    /// use lazuli_model::blob::{TagExpression, Tags};
    ///
    /// let mut tags = Tags::default();
    /// tags.insert("tag1 name", "my tag")?;
    /// let expression = TagExpression::parse("\"tag1 name\"='my tag' AND tag2 <> 'x'").unwrap();
    /// assert!(expression.matches(&tags));
    /// # Ok::<(), lazuli_model::Failure>(())
    /// ```
    pub fn parse(text: &str) -> Result<Self, SyntaxError> {
        parse::expression(text)
    }

    /// Is it true for a blob with these tags?
    pub fn matches(&self, tags: &Tags) -> bool {
        match self {
            TagExpression::Compare(comparison) => comparison.matches(tags),
            TagExpression::And(all) => all.iter().all(|each| each.matches(tags)),
            TagExpression::Or(any) => any.iter().any(|each| each.matches(tags)),
        }
    }
}

/// The expression of a search: a conjunction of comparisons, optionally limited to one container.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TagQuery {
    /// `@container = '…'`.
    pub container: Option<String>,
    /// The comparisons: at least one, none of them `<>`.
    pub comparisons: Vec<TagComparison>,
}

impl TagQuery {
    /// Reads the expression of a search.
    ///
    /// ```
    /// use lazuli_model::blob::tag::TagQuery;
    ///
    /// let query = TagQuery::parse("@container='logs' and \"level\" >= '3'").unwrap();
    /// assert_eq!(query.container.as_deref(), Some("logs"));
    /// assert_eq!(query.comparisons.len(), 1);
    /// ```
    pub fn parse(text: &str) -> Result<Self, SyntaxError> {
        parse::query(text)
    }

    /// Are all comparisons true for a blob with these tags?
    pub fn matches(&self, tags: &Tags) -> bool {
        self.comparisons.iter().all(|comparison| comparison.matches(tags))
    }
}

#[cfg(test)]
mod tests;
