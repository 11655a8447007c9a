//! Properties by name in queries: typed ones that a derive makes, and any others with [`prop`].
//!
//! What does not make sense does not compile: a constant of the wrong type, and an order where there is none.
//!
//! ```compile_fail
//! lazuli_client::prop("Used").lt(true); // booleans have no order
//! ```
//! ```compile_fail
//! lazuli_client::prop("Id").ge(lazuli_client::Guid([0; 16])); // nor have GUIDs
//! ```
//! ```compile_fail
//! lazuli_client::prop("Photo").gt(vec![1_u8]); // nor have bytes
//! ```
//! ```compile_fail
//! lazuli_client::row_key().eq(5); // keys are texts
//! ```
//! ```compile_fail
//! # use lazuli_client::Entity;
//! #[derive(Entity)]
//! struct Guitar { #[table(partition_key)] brand: String, #[table(row_key)] number: String, price: i32 }
//! Guitar::price().eq("cheap"); // a price is a number
//! ```
//! ```compile_fail
//! # use lazuli_client::Entity;
//! #[derive(Entity)]
//! struct Guitar { #[table(partition_key)] brand: String, #[table(row_key)] number: String, price: i32 }
//! Guitar::price().starts_with("1"); // and has no prefix
//! ```

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use lazuli_model::entity::{PARTITION_KEY, ROW_KEY, TIMESTAMP};
use lazuli_model::filter::Operator;

use crate::filter::{Filter, prefix_end};
use crate::value::{Operand, Scalar, class};

/// A property whose type is known.
///
/// ```
/// use lazuli_client::Entity;
///
/// #[derive(Entity)]
/// #[table(rename_all = "PascalCase")]
/// struct Guitar {
///     #[table(partition_key)] brand: String,
///     #[table(row_key)] type_number: String,
///     price: i32,
/// }
///
/// let filter = Guitar::brand().eq("Gibson") & Guitar::price().lt(10_000);
/// assert_eq!(filter.to_string(), "PartitionKey eq 'Gibson' and Price lt 10000");
/// ```
pub struct Field<C> {
    name: Cow<'static, str>,
    class: PhantomData<fn() -> C>,
}

impl<C> Field<C> {
    /// A property by its name in the table.
    pub const fn new(name: &'static str) -> Self {
        Self { name: Cow::Borrowed(name), class: PhantomData }
    }

    /// Its name in the table.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The same property of a part that is stored with a prefix: `Address::city().within("Address_")`.
    pub fn within(self, prefix: &str) -> Self {
        Self { name: Cow::Owned(format!("{prefix}{}", self.name)), class: PhantomData }
    }

    /// It has this value.
    pub fn eq(self, value: impl Operand<C>) -> Filter {
        self.compare(Operator::Eq, value)
    }

    /// It has another value than this one. Entities without the property are not meant.
    pub fn ne(self, value: impl Operand<C>) -> Filter {
        self.compare(Operator::Ne, value)
    }

    fn compare(self, operator: Operator, value: impl Operand<C>) -> Filter {
        Filter::compare(self.name.into_owned(), operator, value.operand())
    }
}

impl<C: class::Ordered> Field<C> {
    /// It is less.
    pub fn lt(self, value: impl Operand<C>) -> Filter {
        self.compare(Operator::Lt, value)
    }

    /// It is less or equal.
    pub fn le(self, value: impl Operand<C>) -> Filter {
        self.compare(Operator::Le, value)
    }

    /// It is greater.
    pub fn gt(self, value: impl Operand<C>) -> Filter {
        self.compare(Operator::Gt, value)
    }

    /// It is greater or equal.
    pub fn ge(self, value: impl Operand<C>) -> Filter {
        self.compare(Operator::Ge, value)
    }

    /// It is at least the one and less than the other.
    pub fn between(self, from: impl Operand<C>, to: impl Operand<C>) -> Filter {
        let other = Self { name: self.name.clone(), class: PhantomData };
        self.ge(from) & other.lt(to)
    }
}

impl Field<class::Text> {
    /// It starts with this text: a range, which the service can look up where the property is a key.
    ///
    /// ```
    /// # use lazuli_client::row_key;
    /// assert_eq!(row_key().starts_with("empid_").to_string(), "RowKey ge 'empid_' and RowKey lt 'empid`'");
    /// ```
    pub fn starts_with(self, prefix: impl AsRef<str>) -> Filter {
        starts_with(self.name.into_owned(), prefix.as_ref())
    }
}

impl<C> Clone for Field<C> {
    fn clone(&self) -> Self {
        Self { name: self.name.clone(), class: PhantomData }
    }
}

impl<C> fmt::Debug for Field<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// The PartitionKey.
pub const fn partition_key() -> Field<class::Text> {
    Field::new(PARTITION_KEY)
}

/// The RowKey.
pub const fn row_key() -> Field<class::Text> {
    Field::new(ROW_KEY)
}

/// When the service last changed the entity.
pub const fn timestamp() -> Field<class::Moment> {
    Field::new(TIMESTAMP)
}

/// A property that is known by its name alone.
///
/// It can be compared with a constant of any type; where an entity has it with another type, the entity does not match
/// (LA-29).
///
/// ```
/// use lazuli_client::prop;
///
/// assert_eq!(prop("NoOfSpeakers").eq(2).to_string(), "NoOfSpeakers eq 2");
/// ```
pub fn prop(name: impl Into<Cow<'static, str>>) -> Prop {
    Prop { name: name.into() }
}

/// A property that is known by its name alone: see [`prop`].
#[derive(Clone)]
pub struct Prop {
    name: Cow<'static, str>,
}

impl Prop {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// It has this value.
    pub fn eq(self, value: impl Scalar) -> Filter {
        self.compare(Operator::Eq, value)
    }

    /// It has another value of the same type.
    pub fn ne(self, value: impl Scalar) -> Filter {
        self.compare(Operator::Ne, value)
    }

    /// It is less.
    pub fn lt<V: Scalar<Class: class::Ordered>>(self, value: V) -> Filter {
        self.compare(Operator::Lt, value)
    }

    /// It is less or equal.
    pub fn le<V: Scalar<Class: class::Ordered>>(self, value: V) -> Filter {
        self.compare(Operator::Le, value)
    }

    /// It is greater.
    pub fn gt<V: Scalar<Class: class::Ordered>>(self, value: V) -> Filter {
        self.compare(Operator::Gt, value)
    }

    /// It is greater or equal.
    pub fn ge<V: Scalar<Class: class::Ordered>>(self, value: V) -> Filter {
        self.compare(Operator::Ge, value)
    }

    /// It is a text that starts with this one.
    pub fn starts_with(self, prefix: impl AsRef<str>) -> Filter {
        starts_with(self.name.into_owned(), prefix.as_ref())
    }

    fn compare(self, operator: Operator, value: impl Scalar) -> Filter {
        Filter::compare(self.name.into_owned(), operator, value.scalar())
    }
}

impl fmt::Debug for Prop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

fn starts_with(name: String, prefix: &str) -> Filter {
    let from = Filter::compare(name.clone(), Operator::Ge, prefix.to_owned().scalar());
    match prefix_end(prefix) {
        Some(end) => from & Filter::compare(name, Operator::Lt, end.scalar()),
        None => from,
    }
}

/// Something that names a property: a [`Field`], a [`Prop`], or a text.
pub trait Named {
    /// The name in the table.
    fn into_name(self) -> String;
}

impl<C> Named for Field<C> {
    fn into_name(self) -> String {
        self.name.into_owned()
    }
}

impl Named for Prop {
    fn into_name(self) -> String {
        self.name.into_owned()
    }
}

impl Named for &str {
    fn into_name(self) -> String {
        self.to_owned()
    }
}

impl Named for String {
    fn into_name(self) -> String {
        self
    }
}
