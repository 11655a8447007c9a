//! Types that the client stores and reads, with keys and properties.
//!
//! Operations and queries are generic over [`Entity`]; `#[derive(Entity)]` implements it. [`Shape`] is the part
//! that has properties but no keys, so that one struct can be stored inside another.
//!
//! ```
//! use lazuli_client::{Entity, Shape};
//!
//! #[derive(Shape)]
//! struct Address { city: String }
//!
//! #[derive(Entity)]
//! struct Person {
//!     #[table(partition_key)] country: String,
//!     #[table(row_key)] name: String,
//!     #[table(flatten, prefix = "Home_")] home: Address,
//! }
//!
//! let ann = Person { country: "NL".into(), name: "Ann".into(), home: Address { city: "Delft".into() } };
//! assert_eq!(ann.properties()?.get::<String>("Home_city")?.as_deref(), Some("Delft"));
//! # Ok::<(), lazuli_client::Error>(())
//! ```

mod shape;
mod writer;

use std::borrow::Cow;

use lazuli_model::table::limits::ENTITY_BYTES_MAX;
use lazuli_model::{EntityKey, ErrorCode, Failure, Value};
use lazuli_protocol::table::json::send;

use crate::decode::{DecodeError, RawEntity};
use crate::error::Result;
use crate::props::Props;

pub use shape::{Builder, Shape};
pub use writer::Writer;

/// A type that is stored as an entity. Derive it.
///
/// | `#[table(…)]` on a type | |
/// |---|---|
/// | `name = "Products"` | its table, for [`crate::TableService::table_of`] |
/// | `kind = "Product.Guitar"` | its kind, base first; stored as a lineage in `_Type`: see [`crate::kind`] |
/// | `rename_all = "PascalCase"` | derives property names from field names; also `camelCase`, `lowercase`, … |
/// | `partition_key = function`, `row_key = function` | keys computed from other fields |
/// | `strict` | a property without a field is an error; otherwise it is ignored, or stored in `extra` |
/// | `eq_by_key` | `Eq` and `Hash` by the two keys |
///
/// | on a field | |
/// |---|---|
/// | `partition_key`, `row_key` | a key; any [`crate::keys::KeyText`] |
/// | `timestamp`, `etag` | set by the service (`Option<DateTime>`, `Option<String>`); not sent |
/// | `rename = "Name"` | the property's name |
/// | `skip` | not stored; `Default` when read |
/// | `default` | `Default` if the property is absent |
/// | `int64`, `double`, `guid`, `binary`, `datetime` | stored as this type instead of the field's own |
/// | `string` | stored as a string, by `Display` and `FromStr`; also compared as a string: `Order::status().eq(Status::Paid.to_string())` |
/// | `json` | stored as JSON, by serde |
/// | `indexed` | a `Vec`, one property per item: `Tags_0`, `Tags_1`, … |
/// | `flatten`, `flatten, prefix = "Home_"` | the properties of another struct; without a prefix it can be the struct that this one extends, including keys |
/// | `extra` | [`Props`] for all other properties |
/// | `no_field` | generates no function for this field in queries |
///
/// An enum of entities with kinds decodes each row as its own kind:
/// `enum Any { Guitar(Guitar), #[table(other)] Other(Dynamic) }`.
/// Rows of any other kind, and rows that their type cannot decode, go to `other`.
///
/// Mistakes do not compile:
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
/// enum Any { Plain(Plain) } // no row would be decoded as a variant without a kind
/// ```
/// ```compile_fail
/// #[derive(lazuli_client::Entity)]
/// struct NoPart { #[table(partition_key)] a: String, #[table(row_key)] b: String, #[table(flatten)] c: String }
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
    /// The table of these entities, unless the caller specifies another one (LA-32).
    ///
    /// ```
    /// # use lazuli_client::Entity;
    /// #[derive(Entity)]
    /// #[table(name = "Products")]
    /// struct Guitar { #[table(partition_key)] brand: String, #[table(row_key)] number: String }
    ///
    /// assert_eq!(Guitar::TABLE, Some("Products"));
    /// ```
    const TABLE: Option<&'static str> = None;

    /// The value of the property `_Type`: the names of the kind and of the kinds it extends, as
    /// `Entity/Product/Guitar/`. A query for this type also finds kinds that extend it (LA-14).
    ///
    /// ```
    /// # use lazuli_client::Entity;
    /// #[derive(Entity)]
    /// #[table(kind = "Product.Guitar")]
    /// struct Guitar { #[table(partition_key)] brand: String, #[table(row_key)] number: String }
    ///
    /// assert_eq!(Guitar::LINEAGE, Some("Entity/Product/Guitar/"));
    /// ```
    const LINEAGE: Option<&'static str> = None;

    /// Its PartitionKey.
    ///
    /// ```
    /// # use lazuli_client::{DateTime, Entity, keys};
    /// #[derive(Entity)]
    /// #[table(partition_key = |entry: &Entry| keys::date(entry.at))]
    /// struct Entry { #[table(row_key)] at: DateTime, text: String }
    ///
    /// let entry = Entry { at: DateTime::parse("2008-10-01T10:00:00Z").unwrap(), text: "Hello".into() };
    /// assert_eq!(entry.partition_key(), "2008-10-01");
    /// ```
    fn partition_key(&self) -> Cow<'_, str>;

    /// Its RowKey.
    ///
    /// ```
    /// # use lazuli_client::Entity;
    /// #[derive(Entity)]
    /// struct Order { #[table(partition_key)] customer: String, #[table(row_key)] number: u32 }
    ///
    /// assert_eq!(Order { customer: "Ann".into(), number: 7 }.row_key(), "0000000007");
    /// ```
    fn row_key(&self) -> Cow<'_, str>;

    /// Writes all its properties except the keys, fixed ones first.
    ///
    /// ```
    /// # use lazuli_embedded::doc::Person;
    ///
    /// use lazuli_client::{Entity, entity::Writer};
    ///
    /// let mut out = Writer::default();
    /// Person::new("Delft", "Ann", 41).write(&mut out)?;
    /// assert_eq!(out.into_props().get::<i32>("Age")?, Some(41));
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    fn write(&self, out: &mut Writer) -> Result<()>;

    /// Decodes an entity.
    ///
    /// ```
    /// # use lazuli_embedded::doc::Person;
    ///
    /// use lazuli_client::{Entity, decode::RawEntity};
    ///
    /// let raw = RawEntity::parse(br#"{"PartitionKey": "Delft", "RowKey": "Ann", "Age": 41, "Hats": 3}"#)?;
    /// assert_eq!(Person::decode(&raw)?, Person::new("Delft", "Ann", 41)); // the type is not strict
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    fn decode(raw: &RawEntity<'_>) -> std::result::Result<Self, DecodeError>;

    /// The value of a property, including the keys, by its name in the table.
    ///
    /// ```
    /// # use lazuli_embedded::doc::Person;
    ///
    /// use lazuli_client::{Entity, Value};
    ///
    /// let ann = Person::new("Delft", "Ann", 41);
    /// assert_eq!(ann.value_of("Age"), Some(Value::Int32(41)));
    /// assert_eq!(ann.value_of("RowKey"), Some(Value::String("Ann".into())));
    /// assert_eq!(ann.value_of("Hats"), None);
    /// ```
    fn value_of(&self, name: &str) -> Option<Value>;

    /// The names of its properties, if it uses no others: the names that a query must select.
    ///
    /// ```
    /// # use lazuli_embedded::doc::Person;
    ///
    /// use lazuli_client::{Dynamic, Entity};
    ///
    /// assert_eq!(Person::names(), Some(vec!["Age".to_owned()]));
    /// assert_eq!(Dynamic::names(), None); // any property
    /// ```
    fn names() -> Option<Vec<String>> {
        None
    }

    /// All its properties except the keys, fixed and flexible (LA-03), checked.
    ///
    /// ```
    /// use lazuli_client::{Dynamic, Entity};
    ///
    /// let guitar = Dynamic::new("Gibson", "SG").with("Color", "Red")?;
    /// assert_eq!(guitar.properties()?.len(), 1);
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    fn properties(&self) -> Result<Props> {
        let mut out = Writer::default();
        self.write(&mut out)?;
        Ok(out.into_props())
    }

    /// Its two keys, checked.
    ///
    /// ```
    /// # use lazuli_embedded::doc::Person;
    ///
    /// use lazuli_client::{Entity, ErrorCode};
    ///
    /// let key = Person::new("Delft", "Ann", 41).key().unwrap();
    /// assert_eq!((key.partition.as_str(), key.row.as_str()), ("Delft", "Ann"));
    /// let rejected = Person::new("Delft", "Ann/Bob", 41).key().unwrap_err();
    /// assert_eq!(rejected.code(), Some(ErrorCode::OutOfRangeInput));
    /// ```
    fn key(&self) -> Result<EntityKey> {
        crate::write::key(self.partition_key(), self.row_key())
    }
}

/// An encoded entity, ready to be sent.
///
/// ```
/// use lazuli_client::{Dynamic, entity::encode};
///
/// let sent = encode(&Dynamic::new("Gibson", "SG").with("Sold", 5_i64)?)?;
/// assert_eq!(sent.key.row.as_str(), "SG");
/// assert_eq!(
///     String::from_utf8_lossy(&sent.body),
///     r#"{"PartitionKey":"Gibson","RowKey":"SG","Sold@odata.type":"Edm.Int64","Sold":"5"}"#
/// );
/// # Ok::<(), lazuli_client::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Encoded {
    /// Its keys.
    pub key: EntityKey,
    /// The JSON of the entity, including its keys and the types of its values.
    pub body: Vec<u8>,
}

/// Encodes an entity for sending, and checks all limits of the service.
///
/// ```
/// # use lazuli_embedded::doc::Person;
///
/// use lazuli_client::{decode::decode_entity, entity::encode};
///
/// let ann = Person::new("Delft", "Ann", 41);
/// let body = encode(&ann)?.body;
/// assert_eq!(decode_entity::<Person>(&body)?, ann);
/// # Ok::<(), lazuli_client::Error>(())
/// ```
pub fn encode<T: Entity>(entity: &T) -> Result<Encoded> {
    let key = entity.key()?;
    let props = entity.properties()?;
    let keys = lazuli_model::table::entity::entity_bytes(&key, std::iter::empty());
    if keys + props.bytes() > ENTITY_BYTES_MAX {
        return Err(Failure::from(ErrorCode::EntityTooLarge).into());
    }
    let mut body = send::Entity::new(key.partition.as_str(), key.row.as_str());
    for (name, value) in &props {
        body.property(name, value.as_ref());
    }
    Ok(Encoded { body: body.finish(), key })
}

#[cfg(test)]
mod tests;
