//! A property that no type declares: known only by name, and compared with constants of any type.

use std::borrow::Cow;
use std::fmt;

use lazuli_model::table::filter::Operator;

use super::{Named, starts_with};
use crate::filter::Filter;
use crate::value::{Scalar, class};

/// A property known only by name.
///
/// It can be compared with a constant of any type; an entity in which it has another type does not match
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

/// A property known only by name: see [`prop`].
///
/// ```
/// use lazuli_client::{Dynamic, Prop, prop};
///
/// let speakers: Prop = prop("NoOfSpeakers");
/// let pair = speakers.clone().eq(2) | speakers.eq("two"); // as different makers store it
/// assert!(pair.holds(&Dynamic::new("Fender", "Twin").with("NoOfSpeakers", 2)?));
/// assert!(pair.holds(&Dynamic::new("Vox", "AC30").with("NoOfSpeakers", "two")?));
/// # Ok::<(), lazuli_client::Error>(())
/// ```
#[derive(Clone)]
pub struct Prop {
    name: Cow<'static, str>,
}

impl Prop {
    /// Its name.
    ///
    /// ```
    /// let column = String::from("Price");
    /// assert_eq!(lazuli_client::prop(column).name(), "Price");
    /// ```
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Equal to this value.
    ///
    /// ```
    /// use lazuli_client::{Guid, prop};
    ///
    /// assert_eq!(prop("Color").eq("Black").to_string(), "Color eq 'Black'");
    /// assert_eq!(prop("Sold").eq(5_000_000_000_i64).to_string(), "Sold eq 5000000000L");
    /// assert_eq!(prop("Id").eq(Guid([0; 16])).to_string(), "Id eq guid'00000000-0000-0000-0000-000000000000'");
    /// ```
    pub fn eq(self, value: impl Scalar) -> Filter {
        self.compare(Operator::Eq, value)
    }

    /// Not equal to this value, but of the same type.
    ///
    /// ```
    /// use lazuli_client::{Dynamic, prop};
    ///
    /// let guitar = Dynamic::new("Gibson", "SG").with("Color", "Red")?;
    /// assert!(prop("Color").ne("Black").holds(&guitar));
    /// assert!(!prop("Color").ne(7).holds(&guitar)); // not a number, so not a different number either
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    pub fn ne(self, value: impl Scalar) -> Filter {
        self.compare(Operator::Ne, value)
    }

    /// Less than this value.
    ///
    /// ```
    /// use lazuli_client::prop;
    ///
    /// assert_eq!(prop("Price").lt(99.5).to_string(), "Price lt 99.5");
    /// ```
    pub fn lt<V: Scalar<Class: class::Ordered>>(self, value: V) -> Filter {
        self.compare(Operator::Lt, value)
    }

    /// Less than or equal to this value.
    ///
    /// ```
    /// use lazuli_client::{Dynamic, prop};
    ///
    /// assert!(prop("Frets").le(22).holds(&Dynamic::new("Gibson", "SG").with("Frets", 22)?));
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    pub fn le<V: Scalar<Class: class::Ordered>>(self, value: V) -> Filter {
        self.compare(Operator::Le, value)
    }

    /// Greater than this value.
    ///
    /// ```
    /// use lazuli_client::{Dynamic, prop};
    ///
    /// let guitar = Dynamic::new("Gibson", "SG").with("Frets", 22)?;
    /// assert!(prop("Frets").gt(21).holds(&guitar));
    /// assert!(!prop("Frets").gt(22).holds(&guitar));
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    pub fn gt<V: Scalar<Class: class::Ordered>>(self, value: V) -> Filter {
        self.compare(Operator::Gt, value)
    }

    /// Greater than or equal to this value.
    ///
    /// ```
    /// use lazuli_client::{DateTime, prop};
    ///
    /// let from = DateTime::parse("1959-01-01").unwrap();
    /// assert_eq!(prop("Built").ge(from).to_string(), "Built ge datetime'1959-01-01T00:00:00Z'");
    /// ```
    pub fn ge<V: Scalar<Class: class::Ordered>>(self, value: V) -> Filter {
        self.compare(Operator::Ge, value)
    }

    /// At least `from` and less than `to`.
    ///
    /// ```
    /// use lazuli_client::prop;
    ///
    /// assert_eq!(prop("Price").between(100, 200).to_string(), "Price ge 100 and Price lt 200");
    /// ```
    pub fn between<V: Scalar<Class: class::Ordered>>(self, from: V, to: V) -> Filter {
        self.clone().ge(from) & self.lt(to)
    }

    /// A string that starts with this prefix.
    ///
    /// ```
    /// use lazuli_client::{Dynamic, prop};
    ///
    /// let gothic = prop("Model").starts_with("Gothic");
    /// assert!(gothic.holds(&Dynamic::new("Gibson", "1").with("Model", "Gothic V")?));
    /// assert!(!gothic.holds(&Dynamic::new("Gibson", "2").with("Model", "Goth")?));
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    pub fn starts_with(self, prefix: impl AsRef<str>) -> Filter {
        starts_with(self.name.into_owned(), prefix.as_ref())
    }

    /// Equal to one of these values; an empty list never matches. A filter can contain at most 512 values: a
    /// longer list is evaluated in the client, on all rows that match the rest of the query.
    ///
    /// ```
    /// use lazuli_client::prop;
    ///
    /// assert_eq!(prop("Color").is_one_of(["Black", "Red"]).to_string(), "Color eq 'Black' or Color eq 'Red'");
    /// ```
    #[doc(alias = "is_in")]
    #[doc(alias = "in")]
    #[doc(alias = "contains")]
    pub fn is_one_of<V: Scalar>(self, values: impl IntoIterator<Item = V>) -> Filter {
        Filter::any_of(values.into_iter().map(|value| self.clone().eq(value)))
    }

    pub(super) fn compare(self, operator: Operator, value: impl Scalar) -> Filter {
        Filter::compare(self.name.into_owned(), operator, value.scalar())
    }
}

impl fmt::Debug for Prop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl Named for Prop {
    fn into_name(self) -> String {
        self.name.into_owned()
    }
}
