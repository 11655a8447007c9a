//! Collects the properties of an entity: names are checked and prefixed, and must be unique.

use std::borrow::Cow;

use lazuli_model::table::entity::{check_property, property_bytes};
use lazuli_model::{ErrorCode, Failure, Value};

use crate::entity::Shape;
use crate::error::Result;
use crate::kind::KIND_PROPERTY;
use crate::props::Props;

/// Collects the properties of an entity while it is written.
///
/// ```
/// use std::borrow::Cow;
/// use lazuli_client::decode::{DecodeError, RawEntity};
/// use lazuli_client::{Dynamic, Entity, Result, Value, entity::Writer};
///
/// /// An entity that records its writer: written by hand, since the derive does not support generic types.
/// struct Signed<T>(T);
///
/// impl<T: Entity> Entity for Signed<T> {
///     fn partition_key(&self) -> Cow<'_, str> { self.0.partition_key() }
///     fn row_key(&self) -> Cow<'_, str> { self.0.row_key() }
///     fn value_of(&self, name: &str) -> Option<Value> { self.0.value_of(name) }
///     fn decode(raw: &RawEntity<'_>) -> Result<Self, DecodeError> { T::decode(raw).map(Self) }
///
///     fn write(&self, out: &mut Writer) -> Result<()> {
///         self.0.write(out)?;
///         out.put("Writer", Some(Value::String("shop".into())))
///     }
/// }
///
/// let guitar = Signed(Dynamic::new("Gibson", "SG").with("Color", "Red")?);
/// assert_eq!(format!("{:?}", guitar.properties()?), r#"{"Color": String("Red"), "Writer": String("shop")}"#);
/// # Ok::<(), lazuli_client::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Writer {
    props: Props,
    prefix: String,
}

impl Writer {
    /// Adds a property; `None` adds nothing. The name is that of a field, with the prefixes of the enclosing fields.
    ///
    /// ```
    /// use lazuli_client::{ErrorCode, entity::Writer, value::ToValue};
    ///
    /// let mut out = Writer::default();
    /// out.put("Age", 41.to_value())?;
    /// out.put("Hats", None)?;
    /// let again = out.put("Age", 42.to_value()).unwrap_err();
    /// assert_eq!(again.code(), Some(ErrorCode::DuplicatePropertiesSpecified));
    /// assert_eq!(out.into_props().len(), 1);
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    pub fn put(&mut self, name: &'static str, value: Option<Value>) -> Result<()> {
        let Some(value) = value else { return Ok(()) };
        let name = if self.prefix.is_empty() {
            Cow::Borrowed(name)
        } else {
            Cow::Owned(format!("{}{name}", self.prefix))
        };
        self.add(name, value)
    }

    /// Adds a property with a name computed at run time.
    ///
    /// ```
    /// use lazuli_client::{entity::Writer, value::ToValue};
    ///
    /// let mut out = Writer::default();
    /// for (month, sold) in [3, 1, 2].into_iter().enumerate() {
    ///     out.put_named(format!("Sold{:02}", month + 1), sold.to_value())?;
    /// }
    /// assert_eq!(out.into_props().get::<i32>("Sold03")?, Some(2));
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    pub fn put_named(&mut self, name: String, value: Option<Value>) -> Result<()> {
        let Some(value) = value else { return Ok(()) };
        let name = if self.prefix.is_empty() { name } else { format!("{}{name}", self.prefix) };
        self.add(Cow::Owned(name), value)
    }

    /// Adds flexible properties, which must not have the name of a fixed one.
    ///
    /// ```
    /// use lazuli_client::{entity::Writer, props, value::ToValue};
    ///
    /// let mut out = Writer::default();
    /// out.put("Price", 900.to_value())?;
    /// out.put_all(&props! { Color: "Red", Frets: 22 }?)?;
    /// assert!(out.put_all(&props! { Price: 1 }?).is_err()); // a fixed property has this name
    /// assert_eq!(out.into_props().len(), 3);
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    pub fn put_all(&mut self, props: &Props) -> Result<()> {
        for (name, value) in props {
            self.put_named(name.to_owned(), Some(value.clone()))?;
        }
        Ok(())
    }

    /// Adds the kind, unless the flexible properties contain one: an entity that was read as a base kind keeps
    /// its own kind.
    ///
    /// ```
    /// use lazuli_client::{entity::Writer, props};
    ///
    /// let mut out = Writer::default();
    /// out.put_all(&props! { _Type: "Entity/Product/Guitar/" }?)?; // read as a product, but it is a guitar
    /// out.put_kind("Entity/Product/")?;
    /// assert_eq!(out.into_props().get::<String>("_Type")?.as_deref(), Some("Entity/Product/Guitar/"));
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    pub fn put_kind(&mut self, lineage: &'static str) -> Result<()> {
        match self.props.contains(KIND_PROPERTY) {
            true => Ok(()),
            false => self.put(KIND_PROPERTY, Some(Value::String(lineage.to_owned()))),
        }
    }

    /// Adds the properties of a nested field, with a prefix.
    ///
    /// ```
    /// use lazuli_client::{Shape, entity::Writer};
    ///
    /// #[derive(Shape)]
    /// #[table(rename_all = "PascalCase")]
    /// struct Address { street: String, city: String }
    ///
    /// let mut out = Writer::default();
    /// out.nested("Home_", &Address { street: "Mekelweg".into(), city: "Delft".into() })?;
    /// assert_eq!(out.into_props().get::<String>("Home_City")?.as_deref(), Some("Delft"));
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    pub fn nested<S: Shape>(&mut self, prefix: &str, shape: &S) -> Result<()> {
        let length = self.prefix.len();
        self.prefix.push_str(prefix);
        let written = shape.write_fields(self);
        self.prefix.truncate(length);
        written
    }

    /// All properties that were added.
    ///
    /// ```
    /// use lazuli_client::{Dynamic, Entity, entity::Writer};
    ///
    /// let mut out = Writer::default();
    /// Dynamic::new("Gibson", "SG").with("Color", "Red")?.write(&mut out)?;
    /// assert!(out.into_props().contains("Color"));
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    pub fn into_props(self) -> Props {
        self.props
    }

    fn add(&mut self, name: Cow<'static, str>, value: Value) -> Result<()> {
        check_property(&name, &value)?;
        if self.props.contains(&name) {
            return Err(Failure::from(ErrorCode::DuplicatePropertiesSpecified).into());
        }
        debug_assert!(property_bytes(&name, &value.as_ref()) > 0);
        self.props.put(name, value)
    }
}
