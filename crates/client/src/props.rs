//! Properties by name: the flexible part of an entity, and all properties of a [`crate::Dynamic`] one.
//!
//! Names and values are checked when they are assigned, not when they are sent (LA-06), so the service accepts
//! all properties in here.
//!
//! ```
//! use lazuli_client::Props;
//!
//! let mut props = Props::new();
//! props.set("Fretboard", "Ebony")?;
//! assert!(props.set("fret board", "Ebony").is_err(), "not a valid name");
//! assert!(props.set("Note", "x".repeat(40_000)).is_err(), "more than 64 KiB");
//! assert_eq!(props.len(), 1);
//! # Ok::<(), lazuli_client::Error>(())
//! ```

use std::borrow::Cow;
use std::fmt;

use lazuli_model::table::entity::{PARTITION_KEY, ROW_KEY, TIMESTAMP, check_property, property_bytes};
use lazuli_model::table::limits::{ENTITY_BYTES_MAX, PROPERTIES_MAX};
use lazuli_model::{ErrorCode, Value};

use crate::error::{Error, Result};
use crate::value::{FromValue, ToValue, WireValue};

/// Named values in the order in which they were set.
///
/// ```
/// use lazuli_client::{Props, props};
///
/// let mut guitar = props! { Fretboard: "Ebony", NoOfFrets: 22 }?;
/// guitar.set("Bridge", "Tune-o-matic")?;
/// assert_eq!(guitar.get::<i32>("NoOfFrets")?, Some(22));
/// assert_eq!(guitar.get::<String>("Color")?, None);
/// assert!(guitar.set("not a name", 1).is_err());
/// let names: Vec<&str> = guitar.iter().map(|(name, _)| name).collect();
/// assert_eq!(names, ["Fretboard", "NoOfFrets", "Bridge"]);
/// # Ok::<(), lazuli_client::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct Props {
    list: Vec<(Cow<'static, str>, Value)>,
    /// Size as the service counts it.
    bytes: usize,
}

impl Props {
    /// No properties.
    ///
    /// ```
    /// assert!(lazuli_client::Props::new().is_empty());
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets a property, or removes it if the value is `None`. Names, values, the number of properties and their size
    /// must be within the limits of the service; a rejected property changes nothing.
    ///
    /// ```
    /// use lazuli_client::{ErrorCode, Props};
    ///
    /// let mut guitar = Props::new();
    /// guitar.set("Color", "Red")?.set("Frets", 22)?;
    /// let rejected = guitar.set("Color", "Red".repeat(20_000)).unwrap_err();
    /// assert_eq!(rejected.code(), Some(ErrorCode::PropertyValueTooLarge));
    /// assert_eq!(guitar.get::<String>("Color")?.as_deref(), Some("Red"));
    /// guitar.set("Color", None::<&str>)?;
    /// assert_eq!(guitar.len(), 1);
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    pub fn set(&mut self, name: impl Into<Cow<'static, str>>, value: impl ToValue) -> Result<&mut Self> {
        let name = name.into();
        match value.to_value() {
            Some(value) => {
                check_property(&name, &value)?;
                if matches!(&*name, PARTITION_KEY | ROW_KEY | TIMESTAMP) {
                    return Err(Error::input(format!("{name} is a system property and cannot be set here")));
                }
                self.put(name, value)?;
            }
            None => {
                self.remove(&name);
            }
        }
        Ok(self)
    }

    /// Sets a property whose name and value have been checked.
    pub(crate) fn put(&mut self, name: Cow<'static, str>, value: Value) -> Result<()> {
        let known = self.list.iter().position(|(given, _)| *given == name);
        let before = known.map_or(0, |at| property_bytes(&name, &self.list[at].1.as_ref()));
        let bytes = self.bytes - before + property_bytes(&name, &value.as_ref());
        if known.is_none() && self.list.len() >= PROPERTIES_MAX {
            return Err(rejected(ErrorCode::TooManyProperties));
        }
        if bytes > ENTITY_BYTES_MAX {
            return Err(rejected(ErrorCode::EntityTooLarge));
        }
        self.bytes = bytes;
        match known {
            Some(at) => self.list[at].1 = value,
            None => self.list.push((name, value)),
        }
        Ok(())
    }

    /// Stores a property that the service sent, which is within the limits by the service's own count.
    pub(crate) fn keep(&mut self, name: &str, value: &WireValue<'_>) {
        if let Some(value) = value.to_value() {
            self.bytes += property_bytes(name, &value.as_ref());
            self.list.push((Cow::Owned(name.to_owned()), value));
        }
    }

    /// The value of a property as a `T`. `None` if it is absent; an error if it has another type.
    ///
    /// ```
    /// let guitar = lazuli_client::props! { Frets: 22 }?;
    /// assert_eq!(guitar.get::<i64>("Frets")?, Some(22)); // numbers widen
    /// assert_eq!(guitar.get::<i64>("Strings")?, None);
    /// assert!(guitar.get::<String>("Frets").is_err());
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    pub fn get<T: FromValue>(&self, name: &str) -> Result<Option<T>> {
        match self.value(name) {
            None => Ok(None),
            Some(value) => T::from_value(&WireValue::from(value))
                .map(Some)
                .map_err(|wrong| Error::input(format!("property {name}: {wrong}"))),
        }
    }

    /// The value of a property.
    ///
    /// ```
    /// use lazuli_client::{Value, props};
    ///
    /// let guitar = props! { Frets: 22 }?;
    /// assert_eq!(guitar.value("Frets"), Some(&Value::Int32(22)));
    /// assert_eq!(guitar.value("Strings"), None);
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    pub fn value(&self, name: &str) -> Option<&Value> {
        self.list.iter().find(|(given, _)| given == name).map(|(_, value)| value)
    }

    /// Is there a property with this name?
    ///
    /// ```
    /// let guitar = lazuli_client::props! { Frets: 22 }?;
    /// assert!(guitar.contains("Frets") && !guitar.contains("frets"));
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    pub fn contains(&self, name: &str) -> bool {
        self.value(name).is_some()
    }

    /// Removes a property and returns it.
    ///
    /// ```
    /// use lazuli_client::{Value, props};
    ///
    /// let mut guitar = props! { Frets: 22 }?;
    /// assert_eq!(guitar.remove("Frets"), Some(Value::Int32(22)));
    /// assert_eq!(guitar.remove("Frets"), None);
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    pub fn remove(&mut self, name: &str) -> Option<Value> {
        let at = self.list.iter().position(|(given, _)| given == name)?;
        let (name, value) = self.list.remove(at);
        self.bytes = self.bytes.saturating_sub(property_bytes(&name, &value.as_ref()));
        Some(value)
    }

    /// The properties in order.
    ///
    /// ```
    /// use lazuli_client::{EdmType, props};
    ///
    /// let guitar = props! { Frets: 22, Strings: 6, Color: "Red" }?;
    /// let numbers = guitar.iter().filter(|(_, value)| value.kind() == EdmType::Int32);
    /// assert_eq!(numbers.map(|(name, _)| name).collect::<Vec<_>>(), ["Frets", "Strings"]);
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    pub fn iter(&self) -> Iter<'_> {
        Iter(self.list.iter())
    }

    /// Number of properties.
    ///
    /// ```
    /// assert_eq!(lazuli_client::props! { Frets: 22, Color: "Red" }?.len(), 2);
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Are there no properties?
    ///
    /// ```
    /// assert!(lazuli_client::props! { Color: None::<&str> }?.is_empty());
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Size as the service counts it, without the keys of the entity.
    ///
    /// ```
    /// let guitar = lazuli_client::props! { Frets: 22 }?;
    /// assert_eq!(guitar.bytes(), 8 + 2 * "Frets".len() + 4); // overhead, the name in UTF-16, an Int32
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

fn rejected(code: ErrorCode) -> Error {
    Error::from(lazuli_model::Failure::from(code))
}

/// The properties of a [`Props`], in order.
///
/// ```
/// use lazuli_client::{Props, props, props::Iter};
///
/// fn longest<'a>(names: Iter<'a>) -> Option<&'a str> {
///     names.map(|(name, _)| name).max_by_key(|name| name.len())
/// }
///
/// let guitar: Props = props! { Frets: 22, Fretboard: "Ebony" }?;
/// assert_eq!(longest(guitar.iter()), Some("Fretboard"));
/// # Ok::<(), lazuli_client::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Iter<'a>(std::slice::Iter<'a, (Cow<'static, str>, Value)>);

impl<'a> Iterator for Iter<'a> {
    type Item = (&'a str, &'a Value);

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(|(name, value)| (&**name, value))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl ExactSizeIterator for Iter<'_> {}

impl<'a> IntoIterator for &'a Props {
    type Item = (&'a str, &'a Value);
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

impl IntoIterator for Props {
    type Item = (Cow<'static, str>, Value);
    type IntoIter = std::vec::IntoIter<Self::Item>;

    fn into_iter(self) -> Self::IntoIter {
        self.list.into_iter()
    }
}

/// Equality ignores the order of assignment, which no service promises to preserve.
impl Props {
    /// Are these the same values? Unlike with `==`, NaN equals NaN.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let is_same = |own: &Value, given: &Value| match (own, given) {
            (Value::Double(own), Value::Double(given)) if own.is_nan() => given.is_nan(),
            _ => own == given,
        };
        self.list.len() == other.list.len()
            && self.iter().all(|(name, own)| other.value(name).is_some_and(|given| is_same(own, given)))
    }
}

impl PartialEq for Props {
    fn eq(&self, other: &Self) -> bool {
        self.list.len() == other.list.len()
            && self.list.iter().all(|(name, value)| other.value(name) == Some(value))
    }
}

/// A required property, as in a map (LA-07). [`Props::get`] converts, and distinguishes a missing property from
/// one of the wrong type.
///
/// ```
/// use lazuli_client::{Value, props};
///
/// let guitar = props! { Frets: 22 }?;
/// assert_eq!(guitar["Frets"], Value::Int32(22));
/// # Ok::<(), lazuli_client::Error>(())
/// ```
///
/// # Panics
///
/// If there is no such property.
impl std::ops::Index<&str> for Props {
    type Output = Value;

    fn index(&self, name: &str) -> &Value {
        self.value(name).unwrap_or_else(|| panic!("there is no property {name}"))
    }
}

impl fmt::Debug for Props {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

/// Creates [`Props`]: `props! { Name: value, … }`. Returns a `Result`, since names and values are checked.
///
/// ```
/// use lazuli_client::props;
///
/// let effect = props! { EffectType: "Distortion", Price: 9000, Note: None::<&str> }?;
/// assert_eq!(effect.len(), 2);
/// # Ok::<(), lazuli_client::Error>(())
/// ```
#[macro_export]
macro_rules! props {
    ($($name:ident : $value:expr),* $(,)?) => {
        {
            let make = || -> $crate::Result<$crate::Props> {
                #[allow(unused_mut, reason = "there may be no properties")]
                let mut props = $crate::Props::new();
                $(props.set(stringify!($name), $value)?;)*
                Ok(props)
            };
            make()
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn rejected(props: &mut Props, name: &str, value: Value, code: ErrorCode) {
        let before = props.clone();
        let error = props.set(name.to_owned(), value).map(|_| ()).expect_err("it is rejected");
        assert_eq!(error.code(), Some(code));
        assert_eq!(*props, before, "a rejected property changes nothing");
    }

    /// LA-06, DM-15 to DM-22: at the limit and beyond it.
    #[test]
    fn assignments_are_checked() {
        let mut props = Props::new();
        rejected(&mut props, "a-b", Value::Int32(1), ErrorCode::PropertyNameInvalid);
        rejected(&mut props, &"x".repeat(256), Value::Int32(1), ErrorCode::PropertyNameTooLong);
        rejected(&mut props, "s", Value::String("a".repeat(32769)), ErrorCode::PropertyValueTooLarge);
        rejected(&mut props, "b", Value::Binary(vec![0; 65537]), ErrorCode::PropertyValueTooLarge);
        for own in ["PartitionKey", "RowKey", "Timestamp"] {
            assert!(props.set(own, "p").is_err(), "{own}");
        }
        props.set("s", "a".repeat(32768)).unwrap();
        for n in 0..251 {
            props.set(format!("p{n}"), n).unwrap();
        }
        rejected(&mut props, "more", Value::Int32(1), ErrorCode::TooManyProperties);
        props.set("p0", "existing properties can still change").unwrap();
    }

    #[test]
    fn size_is_updated_as_properties_change() {
        let mut props = Props::new();
        for n in 0..15 {
            props.set(format!("p{n}"), vec![0_u8; 65536]).unwrap();
        }
        let before = props.bytes();
        rejected(&mut props, "last", Value::Binary(vec![0; 65536]), ErrorCode::EntityTooLarge);
        props.set("small", 1).unwrap();
        props.remove("small");
        assert_eq!(props.bytes(), before);
        props.set("p0", 1).unwrap();
        props.set("last", vec![0_u8; 65536]).unwrap();
        props.set("last", None::<i32>).unwrap();
        assert!(!props.contains("last"));
    }

    /// No service promises to preserve the order, and a repeated insert recognises its own entity by equality (ER-05).
    #[test]
    fn equal_in_any_order() {
        let one = props! { A: 1, B: "x" }.unwrap();
        assert_eq!(one, props! { B: "x", A: 1 }.unwrap());
        for other in
            [props! { A: 1 }, props! { A: 1, B: "y" }, props! { A: 1, C: "x" }, props! { A: 1, B: "x", C: 1 }]
        {
            assert_ne!(one, other.unwrap());
        }
    }

    /// LA-34.
    #[test]
    fn the_macro_creates_properties() {
        let props = props! { Fretboard: "Ebony", Frets: 22, Absent: None::<i32> }.unwrap();
        assert_eq!(format!("{props:?}"), r#"{"Fretboard": String("Ebony"), "Frets": Int32(22)}"#);
        assert!(props.get::<String>("Frets").is_err());
        assert!(props! {}.unwrap().is_empty());
    }
}
