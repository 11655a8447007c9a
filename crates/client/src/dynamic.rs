//! An entity without a schema: two keys and properties by name.
//!
//! ```
//! # lazuli_embedded::doc_test(|service| async move {
//! use lazuli_client::Dynamic;
//!
//! let table = service.create_table("Things").await?;
//! table.insert(&Dynamic::new("p", "lamp").with("Watts", 40)?).await?;
//! table.insert(&Dynamic::new("p", "song").with("Seconds", 180)?.with("Title", "Sea")?).await?;
//! // Rows with any properties in one query.
//! let sizes: Vec<_> = table.query::<Dynamic>().collect().await?.iter().map(|row| row.props.len()).collect();
//! assert_eq!(sizes, [1, 2]);
//! # Ok(()) })
//! ```

use std::borrow::Cow;

use lazuli_model::table::entity::{PARTITION_KEY, ROW_KEY, TIMESTAMP};
use lazuli_model::{DateTime, Value};

use crate::decode::{DecodeError, Head, RawEntity};
use crate::entity::{Entity, Writer};
use crate::error::Result;
use crate::kind::KIND_PROPERTY;
use crate::props::Props;
use crate::value::{FromValue, ToValue};

/// An entity that can have any properties: every row can be decoded as one.
///
/// ```
/// use lazuli_client::Dynamic;
///
/// let mut effect = Dynamic::new("Boss", "MT2").with("Price", 9000)?.with("EffectType", "Distortion")?;
/// effect.set("Price", 8500)?;
/// assert_eq!(effect.get::<i32>("Price")?, Some(8500));
/// assert_eq!(effect.get::<i32>("Speakers")?, None);
/// # Ok::<(), lazuli_client::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dynamic {
    /// PartitionKey.
    pub partition_key: String,
    /// RowKey.
    pub row_key: String,
    /// Time of its last change, set by the service; not sent.
    pub timestamp: Option<DateTime>,
    /// All other properties.
    pub props: Props,
}

impl Dynamic {
    /// An entity with its keys and no other properties.
    ///
    /// ```
    /// use lazuli_client::Dynamic;
    ///
    /// let guitar = Dynamic::new("Gibson", "SG");
    /// assert_eq!((guitar.partition_key.as_str(), guitar.row_key.as_str()), ("Gibson", "SG"));
    /// assert!(guitar.props.is_empty());
    /// ```
    pub fn new(partition_key: impl Into<String>, row_key: impl Into<String>) -> Self {
        Self { partition_key: partition_key.into(), row_key: row_key.into(), ..Self::default() }
    }

    /// Adds a property.
    ///
    /// ```
    /// use lazuli_client::Dynamic;
    ///
    /// let guitar = Dynamic::new("Gibson", "SG").with("Color", "Red")?.with("Frets", 22)?;
    /// assert_eq!(guitar.props.len(), 2);
    /// assert!(guitar.with("no name", 1).is_err());
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    pub fn with(mut self, name: impl Into<Cow<'static, str>>, value: impl ToValue) -> Result<Self> {
        self.props.set(name, value)?;
        Ok(self)
    }

    /// Sets a property, or removes it if the value is `None`; see [`Props::set`].
    ///
    /// ```
    /// use lazuli_client::Dynamic;
    ///
    /// let mut guitar = Dynamic::new("Gibson", "SG").with("Color", "Red")?;
    /// guitar.set("Frets", 22)?.set("Color", None::<&str>)?;
    /// assert!(guitar.props.contains("Frets") && !guitar.props.contains("Color"));
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    pub fn set(&mut self, name: impl Into<Cow<'static, str>>, value: impl ToValue) -> Result<&mut Self> {
        self.props.set(name, value)?;
        Ok(self)
    }

    /// The value of a property as a `T`; `None` if it is absent (LA-07).
    ///
    /// ```
    /// use lazuli_client::Dynamic;
    ///
    /// let guitar = Dynamic::new("Gibson", "SG").with("Frets", 22)?;
    /// assert_eq!(guitar.get::<i32>("Frets")?, Some(22));
    /// assert_eq!(guitar.get::<i32>("Strings")?, None);
    /// assert!(guitar.get::<String>("Frets").is_err());
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    pub fn get<T: FromValue>(&self, name: &str) -> Result<Option<T>> {
        self.props.get(name)
    }

    /// The lineage of its kind, if it has one: `Entity/Product/Guitar/`.
    ///
    /// ```
    /// use lazuli_client::{Dynamic, kind};
    ///
    /// let guitar = Dynamic::new("Gibson", "SG").with(kind::KIND_PROPERTY, kind::lineage("Product.Guitar"))?;
    /// assert_eq!(guitar.kind(), Some("Entity/Product/Guitar/"));
    /// assert_eq!(Dynamic::new("Gibson", "V").kind(), None);
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    pub fn kind(&self) -> Option<&str> {
        match self.props.value(KIND_PROPERTY) {
            Some(Value::String(lineage)) => Some(lineage),
            _ => None,
        }
    }

    /// Decodes the row as another type, for example that of its kind (LA-12). If the type cannot decode it, or
    /// it has another kind, the result is an error, and the row is unchanged.
    ///
    /// ```
    /// # use lazuli_embedded::doc::Person;
    /// use lazuli_client::Dynamic;
    ///
    /// let row = Dynamic::new("Delft", "Ann").with("Age", 41)?;
    /// assert_eq!(row.read_as::<Person>()?, Person::new("Delft", "Ann", 41));
    /// let odd = Dynamic::new("Delft", "Bob").with("Age", "old")?;
    /// assert!(odd.read_as::<Person>().is_err());
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    pub fn read_as<T: Entity>(&self) -> Result<T> {
        let (partition, row) = (Cow::from(&self.partition_key), Cow::from(&self.row_key));
        let head = Head { partition, row, timestamp: self.timestamp, etag: None };
        RawEntity::of(head, &self.props).decode()
    }
}

/// A required property, as in a map (LA-07).
///
/// ```
/// use lazuli_client::{Dynamic, Value};
///
/// let guitar = Dynamic::new("Gibson", "SG").with("Frets", 22)?;
/// assert_eq!(guitar["Frets"], Value::Int32(22));
/// # Ok::<(), lazuli_client::Error>(())
/// ```
///
/// # Panics
///
/// If there is no such property.
impl std::ops::Index<&str> for Dynamic {
    type Output = Value;

    fn index(&self, name: &str) -> &Value {
        &self.props[name]
    }
}

impl Entity for Dynamic {
    fn partition_key(&self) -> Cow<'_, str> {
        Cow::Borrowed(&self.partition_key)
    }

    fn row_key(&self) -> Cow<'_, str> {
        Cow::Borrowed(&self.row_key)
    }

    fn write(&self, out: &mut Writer) -> Result<()> {
        out.put_all(&self.props)
    }

    fn decode(raw: &RawEntity<'_>) -> std::result::Result<Self, DecodeError> {
        let mut props = Props::new();
        raw.members().for_each(|(name, value)| props.keep(name, value));
        Ok(Self {
            partition_key: raw.head.partition.to_string(),
            row_key: raw.head.row.to_string(),
            timestamp: raw.head.timestamp,
            props,
        })
    }

    fn value_of(&self, name: &str) -> Option<Value> {
        match name {
            PARTITION_KEY => Some(Value::String(self.partition_key.clone())),
            ROW_KEY => Some(Value::String(self.row_key.clone())),
            TIMESTAMP => self.timestamp.map(Value::DateTime),
            name => self.props.value(name).cloned(),
        }
    }
}
