//! What the client stores and reads: a type with keys and properties.
//!
//! [`Entity`] is what operations and queries are generic over; `#[derive(Entity)]` writes it. [`Shape`] is the part
//! that has properties but no keys, so that one struct can be stored inside another.

use std::borrow::Cow;

use lazuli_model::entity::{PARTITION_KEY, ROW_KEY, check_property, property_bytes};
use lazuli_model::key::{Key, KeyError};
use lazuli_model::limits::ENTITY_BYTES_MAX;
use lazuli_model::{DateTime, EntityKey, ErrorCode, Failure, Value};
use lazuli_protocol::json::send;

use crate::decode::{DecodeError, Head, RawEntity};
use crate::error::Result;
use crate::kind::KIND_PROPERTY;
use crate::props::Props;
use crate::value::WireValue;

/// Something that is stored as an entity. Derive it.
///
/// | `#[table(…)]` on a type | |
/// |---|---|
/// | `name = "Products"` | its table |
/// | `kind = "Product.Guitar"` | its kind, base first; stored as a lineage in `_Type`: see [`crate::kind`] |
/// | `rename_all = "PascalCase"` | names of properties from names of fields; also `camelCase`, `lowercase`, … |
/// | `partition_key = function`, `row_key = function` | keys made of other fields |
/// | `strict` | a property without a field is an error; otherwise it is ignored, or kept by `extra` |
/// | `eq_by_key` | `Eq` and `Hash` by the two keys |
///
/// | on a field | |
/// |---|---|
/// | `partition_key`, `row_key` | a key; any [`crate::keys::KeyText`] |
/// | `timestamp`, `etag` | what the service says of the entity (`Option<DateTime>`, `Option<String>`); not sent |
/// | `rename = "Name"` | the property's name |
/// | `skip` | not stored; `Default` when read |
/// | `default` | `Default` if there is no such property |
/// | `int64`, `double`, `guid`, `binary`, `datetime` | stored as this type rather than the field's own |
/// | `string` | stored as text, by `Display` and `FromStr` |
/// | `json` | stored as JSON text, by serde |
/// | `indexed` | a `Vec`, one property for each item: `Tags_0`, `Tags_1`, … |
/// | `flatten`, `flatten, prefix = "Home_"` | the properties of another struct; without a prefix it can be the one that this extends, keys included |
/// | `extra` | [`Props`] for all other properties |
/// | `no_field` | no function of the field's name for queries |
///
/// An enum of entities with kinds reads each row as its own: `enum Any { Guitar(Guitar), #[table(other)] Other(Dynamic) }`.
/// What has no kind among them, or does not fit its type, goes to `other`.
///
/// What is wrong does not compile:
///
/// ```compile_fail
/// #[derive(lazuli_client::Entity)]
/// struct NoRowKey { #[table(partition_key)] city: String }
/// ```
/// ```compile_fail
/// #[derive(lazuli_client::Entity)]
/// struct BadName { #[table(partition_key)] a: String, #[table(row_key)] b: String, #[table(rename = "a-b")] c: i32 }
/// ```
/// ```compile_fail
/// #[derive(lazuli_client::Entity)]
/// struct NoWireType { #[table(partition_key)] a: String, #[table(row_key)] b: String, c: u64 } // int64? string?
/// ```
/// ```compile_fail
/// # #[derive(lazuli_client::Entity)]
/// # struct Plain { #[table(partition_key)] a: String, #[table(row_key)] b: String }
/// #[derive(lazuli_client::Entity)]
/// enum Any { Plain(Plain) } // a variant without a kind would never be read
/// ```
///
/// ```
/// use lazuli_client::{Entity, Props};
///
/// #[derive(Entity)]
/// #[table(name = "Products", kind = "Product.Guitar", rename_all = "PascalCase")]
/// struct Guitar {
///     #[table(partition_key)]
///     brand: String,
///     #[table(row_key)]
///     type_number: String,
///     price: i32,
///     color: Option<String>,
///     #[table(extra)]
///     extra: Props,
/// }
///
/// let mut guitar = Guitar {
///     brand: "Gibson".into(),
///     type_number: "Gothic V".into(),
///     price: 160_000,
///     color: None,
///     extra: Props::new(),
/// };
/// guitar.extra.set("Fretboard", "Ebony")?;
/// let all = guitar.properties()?;
/// let names: Vec<&str> = all.iter().map(|(name, _)| name).collect();
/// assert_eq!(names, ["Price", "Fretboard", "_Type"]);
/// # Ok::<(), lazuli_client::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an entity",
    note = "use #[derive(Entity)] on a struct with a partition key and a row key, or `Dynamic`"
)]
pub trait Entity: Sized + Send + 'static {
    /// The table that holds such entities, unless the caller names another one (LA-32).
    const TABLE: Option<&'static str> = None;

    /// What is stored in the property `_Type`: the names of the kind and of those it descends from, as
    /// `Entity/Product/Guitar/`. A query for this type finds its descendants as well (LA-14).
    const LINEAGE: Option<&'static str> = None;

    /// Its PartitionKey.
    fn partition_key(&self) -> Cow<'_, str>;

    /// Its RowKey.
    fn row_key(&self) -> Cow<'_, str>;

    /// Gives all its properties but the keys, fixed ones first.
    fn write(&self, out: &mut Writer) -> Result<()>;

    /// Reads one.
    fn decode(raw: &RawEntity<'_>) -> std::result::Result<Self, DecodeError>;

    /// The value of a property, the keys among them, by the name it has in the table.
    fn value_of(&self, name: &str) -> Option<Value>;

    /// The names of its properties, if no others can matter to it: what a query has to select.
    fn names() -> Option<Vec<String>> {
        None
    }

    /// All its properties but the keys, fixed and flexible (LA-03), checked.
    fn properties(&self) -> Result<Props> {
        let mut out = Writer::default();
        self.write(&mut out)?;
        Ok(out.props)
    }

    /// Its two keys, checked.
    fn key(&self) -> Result<EntityKey> {
        Ok(EntityKey { partition: checked_key(self.partition_key())?, row: checked_key(self.row_key())? })
    }
}

fn checked_key(text: Cow<'_, str>) -> Result<Key> {
    Ok(Key::new(text.into_owned()).map_err(|error| match error {
        KeyError::TooLong => Failure::from(ErrorCode::KeyValueTooLarge),
        KeyError::Character(_) => Failure::from(ErrorCode::OutOfRangeInput),
    })?)
}

/// An entity as it is sent.
#[derive(Clone, Debug, PartialEq)]
pub struct Encoded {
    /// Its keys.
    pub key: EntityKey,
    /// The JSON of the entity, its keys and the types of its values included.
    pub body: Vec<u8>,
}

/// Writes an entity for sending, and holds it to every limit that the service has.
pub fn encode<T: Entity>(entity: &T) -> Result<Encoded> {
    let key = entity.key()?;
    let props = entity.properties()?;
    let keys = lazuli_model::entity::entity_bytes(&key, std::iter::empty());
    if keys + props.bytes() > ENTITY_BYTES_MAX {
        return Err(Failure::from(ErrorCode::EntityTooLarge).into());
    }
    let mut body = send::Entity::new(key.partition.as_str(), key.row.as_str());
    for (name, value) in &props {
        body.property(name, value.as_ref());
    }
    Ok(Encoded { body: body.finish(), key })
}

/// Collects the properties of an entity while it is written.
#[derive(Clone, Debug, Default)]
pub struct Writer {
    props: Props,
    prefix: String,
}

impl Writer {
    /// Adds a property; `None` adds nothing. The name is that of a field, with the prefixes of the fields around it.
    pub fn put(&mut self, name: &'static str, value: Option<Value>) -> Result<()> {
        let Some(value) = value else { return Ok(()) };
        let name = if self.prefix.is_empty() {
            Cow::Borrowed(name)
        } else {
            Cow::Owned(format!("{}{name}", self.prefix))
        };
        self.add(name, value)
    }

    /// Adds a property with a name made at run time.
    pub fn put_named(&mut self, name: String, value: Option<Value>) -> Result<()> {
        let Some(value) = value else { return Ok(()) };
        let name = if self.prefix.is_empty() { name } else { format!("{}{name}", self.prefix) };
        self.add(Cow::Owned(name), value)
    }

    /// Adds flexible properties, which must not have the name of a fixed one.
    pub fn put_all(&mut self, props: &Props) -> Result<()> {
        for (name, value) in props {
            self.put_named(name.to_owned(), Some(value.clone()))?;
        }
        Ok(())
    }

    /// Adds the kind, unless the entity brought its own with its flexible properties: one that was read as a type it
    /// descends from keeps its kind.
    pub fn put_kind(&mut self, lineage: &'static str) -> Result<()> {
        match self.props.contains(KIND_PROPERTY) {
            true => Ok(()),
            false => self.put(KIND_PROPERTY, Some(Value::String(lineage.to_owned()))),
        }
    }

    /// Adds what a field of its own holds, each name behind a prefix.
    pub fn nested<S: Shape>(&mut self, prefix: &str, shape: &S) -> Result<()> {
        let length = self.prefix.len();
        self.prefix.push_str(prefix);
        let written = shape.write_fields(self);
        self.prefix.truncate(length);
        written
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

/// Something that has properties: an entity, or a part of one. `#[derive(Shape)]` writes it for a part.
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
pub trait Shape: Sized {
    /// Holds what has been read so far.
    type Builder: Builder<Output = Self>;

    /// Gives its properties.
    fn write_fields(&self, out: &mut Writer) -> Result<()>;

    /// The value of a property.
    fn field_value(&self, name: &str) -> Option<Value>;

    /// Adds the names of its properties; `false` if it can hold others.
    fn field_names(prefix: &str, out: &mut Vec<String>) -> bool;
}

/// What one reads a [`Shape`] with: a place for each property.
pub trait Builder: Default {
    /// What it builds.
    type Output;

    /// Offers a property. `false` if it has no place for it.
    fn take(&mut self, name: &str, value: &WireValue<'_>) -> std::result::Result<bool, DecodeError>;

    /// Puts a property that has no place of its own with the flexible ones. `false` if there are none.
    fn keep(&mut self, name: &str, value: &WireValue<'_>) -> bool;

    /// The whole, if nothing is missing.
    fn finish(self, head: &Head<'_>) -> std::result::Result<Self::Output, DecodeError>;
}

/// A part that can be absent as a whole: `None` writes nothing, and is what no property at all is read as.
impl<S: Shape> Shape for Option<S> {
    type Builder = OptionBuilder<S::Builder>;

    fn write_fields(&self, out: &mut Writer) -> Result<()> {
        self.as_ref().map_or(Ok(()), |shape| shape.write_fields(out))
    }

    fn field_value(&self, name: &str) -> Option<Value> {
        self.as_ref().and_then(|shape| shape.field_value(name))
    }

    fn field_names(prefix: &str, out: &mut Vec<String>) -> bool {
        S::field_names(prefix, out)
    }
}

/// Reads a part that can be absent.
#[derive(Debug, Default)]
pub struct OptionBuilder<B> {
    inner: B,
    seen: bool,
}

impl<B: Builder> Builder for OptionBuilder<B> {
    type Output = Option<B::Output>;

    fn take(&mut self, name: &str, value: &WireValue<'_>) -> std::result::Result<bool, DecodeError> {
        let taken = self.inner.take(name, value)?;
        self.seen |= taken && *value != WireValue::Null;
        Ok(taken)
    }

    fn keep(&mut self, name: &str, value: &WireValue<'_>) -> bool {
        self.inner.keep(name, value)
    }

    fn finish(self, head: &Head<'_>) -> std::result::Result<Self::Output, DecodeError> {
        if self.seen { self.inner.finish(head).map(Some) } else { Ok(None) }
    }
}

/// Reads an entity that is a [`Shape`]: what the derive calls.
pub fn decode_shape<T: Entity + Shape>(
    raw: &RawEntity<'_>,
    strict: bool,
) -> std::result::Result<T, DecodeError> {
    let mut builder = <T as Shape>::Builder::default();
    for (name, value) in raw.members() {
        if name == KIND_PROPERTY && T::LINEAGE.is_some_and(|own| is_text(value, own)) {
            continue;
        }
        let taken = builder.take(name, value)? || builder.keep(name, value);
        if !taken && strict && name != KIND_PROPERTY && *value != WireValue::Null {
            return Err(DecodeError::unknown(name));
        }
    }
    builder.finish(&raw.head)
}

fn is_text(value: &WireValue<'_>, text: &str) -> bool {
    matches!(value, WireValue::String(found) if found == text)
}

/// The value of a property of an entity that is a [`Shape`]: what the derive calls.
pub fn shape_value<T: Entity + Shape>(entity: &T, name: &str) -> Option<Value> {
    match name {
        PARTITION_KEY => Some(Value::String(entity.partition_key().into_owned())),
        ROW_KEY => Some(Value::String(entity.row_key().into_owned())),
        name => entity.field_value(name).or_else(|| {
            let own = T::LINEAGE.filter(|_| name == KIND_PROPERTY);
            own.map(|lineage| Value::String(lineage.to_owned()))
        }),
    }
}

/// The names that a query for a [`Shape`] has to select: what the derive calls.
pub fn shape_names<T: Entity + Shape>() -> Option<Vec<String>> {
    let mut names = Vec::new();
    T::field_names("", &mut names).then(|| {
        names.extend(T::LINEAGE.map(|_| KIND_PROPERTY.to_owned()));
        names
    })
}

/// When the service last changed an entity, where it tells.
pub type Timestamp = Option<DateTime>;

#[cfg(test)]
mod tests;
