//! The EDM types as Rust types: which comparisons are possible.
//!
//! They have no values; they only determine the available comparisons.
//!
//! ```
//! use lazuli_client::{Entity, Field, value::class};
//!
//! #[derive(Entity)]
//! struct Person { #[table(partition_key)] city: String, #[table(row_key)] name: String, age: i32 }
//!
//! // The derive gives a field the class of its values.
//! let age: Field<class::Int32> = Person::age();
//! assert_eq!(age.ge(18).to_string(), "age ge 18");
//! ```

/// One of the EDM types.
///
/// ```
/// use lazuli_client::{Field, Filter, value::{Operand, class::Class}};
///
/// fn any_of<C: Class, V: Operand<C>, const N: usize>(field: &Field<C>, values: [V; N]) -> Option<Filter> {
///     values.into_iter().map(|value| field.clone().eq(value)).reduce(|some, other| some | other)
/// }
///
/// let filter = any_of(&lazuli_client::row_key(), ["Ann", "Bob"]).unwrap();
/// assert_eq!(filter.to_string(), "RowKey eq 'Ann' or RowKey eq 'Bob'");
/// ```
pub trait Class: 'static {}

/// A type whose values have an order: `lt`, `le`, `gt` and `ge` are available.
///
/// ```
/// use lazuli_client::{Field, Filter, row_key, value::{Operand, class::Ordered}};
///
/// /// Greater than the lower bound, up to and including the upper bound.
/// fn up_to<C: Ordered>(field: &Field<C>, from: impl Operand<C>, to: impl Operand<C>) -> Filter {
///     field.clone().gt(from) & field.clone().le(to)
/// }
///
/// assert_eq!(up_to(&row_key(), "a", "b").to_string(), "RowKey gt 'a' and RowKey le 'b'");
/// ```
#[diagnostic::on_unimplemented(
    message = "values of type {Self} can only be compared with `eq` and `ne`",
    note = "booleans, GUIDs and binary values have no order in a filter"
)]
pub trait Ordered: Class {}

macro_rules! classes {
    ($($(#[$doc:meta])* $name:ident $($ordered:ident)?;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub enum $name {}
        impl Class for $name {}
        $(impl $ordered for $name {})?
    )*};
}

classes! {
    /// Edm.String.
    ///
    /// ```
    /// use lazuli_client::{Field, value::class};
    ///
    /// assert_eq!(Field::<class::Text>::new("Name").eq("O'Neil").to_string(), "Name eq 'O''Neil'");
    /// ```
    Text Ordered;
    /// Edm.Int32.
    ///
    /// ```
    /// use lazuli_client::{Field, value::class};
    ///
    /// assert_eq!(Field::<class::Int32>::new("Age").ge(18).to_string(), "Age ge 18");
    /// ```
    Int32 Ordered;
    /// Edm.Int64.
    ///
    /// ```
    /// use lazuli_client::{Field, value::class};
    ///
    /// assert_eq!(Field::<class::Int64>::new("Bytes").lt(1 << 40).to_string(), "Bytes lt 1099511627776L");
    /// ```
    Int64 Ordered;
    /// Edm.Double.
    ///
    /// ```
    /// use lazuli_client::{Field, value::class};
    ///
    /// assert_eq!(Field::<class::Double>::new("Rating").gt(4.0).to_string(), "Rating gt 4.0");
    /// ```
    Double Ordered;
    /// Edm.DateTime.
    ///
    /// ```
    /// use std::time::UNIX_EPOCH;
    /// use lazuli_client::{Field, value::class};
    ///
    /// let filter = Field::<class::Moment>::new("Born").lt(UNIX_EPOCH);
    /// assert_eq!(filter.to_string(), "Born lt datetime'1970-01-01T00:00:00Z'");
    /// ```
    Moment Ordered;
    /// Edm.Boolean.
    ///
    /// ```
    /// use lazuli_client::{Field, value::class};
    ///
    /// assert_eq!(Field::<class::Flag>::new("Sold").eq(false).to_string(), "Sold eq false");
    /// ```
    Flag;
    /// Edm.Guid.
    ///
    /// ```
    /// use lazuli_client::{Field, Guid, value::class};
    ///
    /// let id: Guid = "c9da6455-213d-42c9-9a79-3e9149a57833".parse().unwrap();
    /// let filter = Field::<class::Identifier>::new("Id").eq(id);
    /// assert_eq!(filter.to_string(), "Id eq guid'c9da6455-213d-42c9-9a79-3e9149a57833'");
    /// ```
    Identifier;
    /// Edm.Binary.
    ///
    /// ```
    /// use lazuli_client::{Field, value::class};
    ///
    /// assert_eq!(Field::<class::Bytes>::new("Hash").ne([0xca, 0xfe]).to_string(), "Hash ne X'cafe'");
    /// ```
    Bytes;
}

/// A key that is the string form of a `T` (see [`crate::keys::KeyText`]); it has the order of `T`.
///
/// ```
/// # use lazuli_client::Entity;
/// #[derive(Entity)]
/// struct Order { #[table(partition_key)] customer: String, #[table(row_key)] number: u32 }
///
/// assert_eq!(Order::number().lt(100).to_string(), "RowKey lt '0000000100'");
/// ```
#[derive(Debug)]
pub struct Coded<T>(std::marker::PhantomData<T>);

impl<T: 'static> Class for Coded<T> {}
impl<T: 'static> Ordered for Coded<T> {}
