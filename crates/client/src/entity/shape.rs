//! Parts of entities: properties without keys, and builders that decode them.

use lazuli_model::Value;

use crate::decode::{DecodeError, Head};
use crate::entity::Writer;
use crate::error::Result;
use crate::value::WireValue;

/// A type with properties: an entity or a part of one. `#[derive(Shape)]` implements it for a part.
///
/// ```
/// use lazuli_client::{Entity, Shape};
///
/// #[derive(Shape)]
/// #[table(rename_all = "PascalCase")]
/// struct Address { street: String, city: String }
///
/// #[derive(Entity)]
/// struct Person {
///     #[table(partition_key)] country: String,
///     #[table(row_key)] name: String,
///     #[table(flatten, prefix = "Address_")] address: Address,
/// }
///
/// let person = Person {
///     country: "NL".into(),
///     name: "Jan".into(),
///     address: Address { street: "Mekelweg".into(), city: "Delft".into() },
/// };
/// assert_eq!(person.properties()?.get::<String>("Address_City")?.as_deref(), Some("Delft"));
/// # Ok::<(), lazuli_client::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a part of an entity",
    note = "#[table(flatten)] requires a struct with #[derive(Shape)] or #[derive(Entity)]; for a value that is one property, remove `flatten` or use another attribute such as #[table(json)]"
)]
pub trait Shape: Sized {
    /// Collects properties while decoding.
    type Builder: Builder<Output = Self>;

    /// Writes its properties.
    ///
    /// ```
    /// # use lazuli_client::Shape;
    /// # #[derive(Debug, PartialEq, Shape)] struct Address { street: String, city: String }
    ///
    /// use lazuli_client::entity::Writer;
    ///
    /// let mut out = Writer::default();
    /// Address { street: "Mekelweg".into(), city: "Delft".into() }.write_fields(&mut out)?;
    /// assert_eq!(out.into_props().get::<String>("street")?.as_deref(), Some("Mekelweg"));
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    fn write_fields(&self, out: &mut Writer) -> Result<()>;

    /// The value of a property.
    ///
    /// ```
    /// # use lazuli_client::Shape;
    /// # #[derive(Debug, PartialEq, Shape)] struct Address { street: String, city: String }
    ///
    /// use lazuli_client::Value;
    ///
    /// let address = Address { street: "Mekelweg".into(), city: "Delft".into() };
    /// assert_eq!(address.field_value("city"), Some(Value::String("Delft".into())));
    /// assert_eq!(address.field_value("country"), None);
    /// ```
    fn field_value(&self, name: &str) -> Option<Value>;

    /// Adds the names of its properties; `false` if it can have others.
    ///
    /// ```
    /// # use lazuli_client::Shape;
    /// # #[derive(Debug, PartialEq, Shape)] struct Address { street: String, city: String }
    ///
    /// let mut names = Vec::new();
    /// assert!(Address::field_names("home_", &mut names));
    /// assert_eq!(names, ["home_street", "home_city"]);
    /// ```
    fn field_names(prefix: &str, out: &mut Vec<String>) -> bool;
}

/// Decodes a [`Shape`]: a slot for each property.
///
/// ```
/// use lazuli_client::decode::{DecodeError, Head};
/// use lazuli_client::value::{FromValue, WireValue};
/// use lazuli_client::{Result, Shape, Value, entity::{Builder, Writer}};
///
/// /// A range, stored as its two ends. It wraps a foreign type, so it is written by hand.
/// struct Span(std::ops::Range<i32>);
///
/// #[derive(Default)]
/// struct Ends { from: Option<i32>, to: Option<i32> }
///
/// impl Builder for Ends {
///     type Output = Span;
///
///     fn take(&mut self, name: &str, value: &WireValue<'_>) -> Result<bool, DecodeError> {
///         let place = match name {
///             "From" => &mut self.from,
///             "To" => &mut self.to,
///             _ => return Ok(false),
///         };
///         *place = <Option<i32>>::from_value(value).map_err(|wrong| DecodeError::wrong(name, &wrong))?;
///         Ok(true)
///     }
///
///     fn keep(&mut self, _: &str, _: &WireValue<'_>) -> bool {
///         false
///     }
///
///     fn finish(self, _: &Head<'_>) -> Result<Span, DecodeError> {
///         let from = self.from.ok_or_else(|| DecodeError::missing("From"))?;
///         Ok(Span(from..self.to.ok_or_else(|| DecodeError::missing("To"))?))
///     }
/// }
///
/// impl Shape for Span {
///     type Builder = Ends;
///
///     fn write_fields(&self, out: &mut Writer) -> Result<()> {
///         out.put("From", self.field_value("From"))?;
///         out.put("To", self.field_value("To"))
///     }
///
///     fn field_value(&self, name: &str) -> Option<Value> {
///         match name {
///             "From" => Some(Value::Int32(self.0.start)),
///             "To" => Some(Value::Int32(self.0.end)),
///             _ => None,
///         }
///     }
///
///     fn field_names(prefix: &str, out: &mut Vec<String>) -> bool {
///         out.extend([format!("{prefix}From"), format!("{prefix}To")]);
///         true
///     }
/// }
///
/// # use lazuli_client::{Entity, decode::decode_entity, entity::encode};
/// #[derive(Entity)]
/// struct Shift {
///     #[table(partition_key)] day: String,
///     #[table(row_key)] name: String,
///     #[table(flatten, prefix = "Hours_")] hours: Span,
/// }
///
/// let body = encode(&Shift { day: "monday".into(), name: "Ann".into(), hours: Span(9..17) })?.body;
/// assert_eq!(decode_entity::<Shift>(&body)?.hours.0, 9..17);
/// # Ok::<(), lazuli_client::Error>(())
/// ```
pub trait Builder: Default {
    /// The type that it builds.
    type Output;

    /// Passes a property to the builder. `false` if there is no slot for it.
    ///
    /// ```
    /// # use lazuli_client::Shape;
    /// # #[derive(Debug, PartialEq, Shape)] struct Address { street: String, city: String }
    ///
    /// use lazuli_client::{entity::Builder, value::WireValue};
    ///
    /// let mut builder = <Address as Shape>::Builder::default();
    /// assert!(builder.take("city", &WireValue::String("Delft".into()))?);
    /// assert!(!builder.take("country", &WireValue::String("NL".into()))?);
    /// assert!(builder.take("street", &WireValue::Int32(4)).is_err());
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    fn take(&mut self, name: &str, value: &WireValue<'_>) -> std::result::Result<bool, DecodeError>;

    /// Adds a property without a slot to the flexible ones. `false` if the type has none.
    ///
    /// ```
    /// use lazuli_client::{Props, Shape, decode::Head, entity::Builder, value::WireValue};
    ///
    /// #[derive(Shape)]
    /// struct Anything { #[table(extra)] all: Props }
    ///
    /// let mut builder = <Anything as Shape>::Builder::default();
    /// assert!(builder.keep("Hats", &WireValue::Int32(3)));
    /// assert_eq!(builder.finish(&Head::default())?.all.get::<i32>("Hats")?, Some(3));
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    fn keep(&mut self, name: &str, value: &WireValue<'_>) -> bool;

    /// The complete value, if nothing is missing.
    ///
    /// ```
    /// # use lazuli_client::Shape;
    /// # #[derive(Debug, PartialEq, Shape)] struct Address { street: String, city: String }
    ///
    /// use lazuli_client::{decode::Head, entity::Builder, value::WireValue};
    ///
    /// let mut builder = <Address as Shape>::Builder::default();
    /// builder.take("street", &WireValue::String("Mekelweg".into()))?;
    /// assert_eq!(builder.finish(&Head::default()).unwrap_err().to_string(), "property city: is missing");
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    fn finish(self, head: &Head<'_>) -> std::result::Result<Self::Output, DecodeError>;
}
