//! Queries with a single result: counted, summed and compared in the client, without holding rows.
//!
//! If nothing else runs in the client, only that property is requested.

use std::hash::Hash;

use lazuli_model::Value;
use lazuli_model::table::entity::PARTITION_KEY;

use crate::dynamic::Dynamic;
use crate::entity::Entity;
use crate::error::{Error, Result};
use crate::field::{Field, Named};
use crate::query::{Query, order};
use crate::value::{FromValue, WireValue, class};

/// A class of values that can be converted to a Rust type: [`Query::min`] and [`Query::max`] compare them.
///
/// ```
/// # use lazuli_embedded::doc::*; people(async |people| {
/// use lazuli_client::{Entity, Field, Query, Result, query::Native};
///
/// async fn span<T: Entity, C: Native>(
///     query: impl Fn() -> Query<T>,
///     field: impl Fn() -> Field<C>,
/// ) -> Result<Option<(C::Value, C::Value)>> {
///     Ok(query().min(field()).await?.zip(query().max(field()).await?))
/// }
///
/// assert_eq!(span(|| people.query::<Person>(), Person::age).await?, Some((28, 41)));
/// # Ok(()) });
/// ```
pub trait Native: class::Class {
    /// The type.
    type Value: FromValue;
}

/// A class of values that can be added, for [`Query::sum`] and [`Query::avg`].
///
/// ```
/// # use lazuli_embedded::doc::*; people(async |people| {
/// use lazuli_client::{Field, Query, Result, query::Number};
///
/// async fn total<C: Number>(people: Query<Person>, field: Field<C>) -> Result<C::Sum> {
///     people.filter(Person::city().eq("Delft")).sum(field).await
/// }
///
/// assert_eq!(total(people.query(), Person::age()).await?, 41 + 28);
/// # Ok(()) });
/// ```
pub trait Number: Native {
    /// Type of a sum.
    type Sum: Default;

    /// Adds a value; `None` on overflow.
    ///
    /// ```
    /// use lazuli_client::{query::Number, value::class};
    ///
    /// assert_eq!(class::Int32::add(1 << 40, 2), Some((1 << 40) + 2));
    /// assert_eq!(class::Int64::add(i64::MAX, 1), None);
    /// ```
    fn add(sum: Self::Sum, value: Self::Value) -> Option<Self::Sum>;

    /// The value as a term of an average.
    ///
    /// ```
    /// use lazuli_client::{query::Number, value::class};
    ///
    /// assert_eq!(class::Int64::to_f64(5), 5.0);
    /// ```
    fn to_f64(value: Self::Value) -> f64;
}

macro_rules! natives {
    ($($class:ident $type:ty;)*) => {$(
        impl Native for class::$class {
            type Value = $type;
        }
    )*};
}

natives! {
    Text String;
    Int32 i32;
    Int64 i64;
    Double f64;
    Moment lazuli_model::DateTime;
}

impl Number for class::Int32 {
    type Sum = i64;

    fn add(sum: i64, value: i32) -> Option<i64> {
        sum.checked_add(i64::from(value))
    }

    fn to_f64(value: i32) -> f64 {
        f64::from(value)
    }
}

impl Number for class::Int64 {
    type Sum = i64;

    fn add(sum: i64, value: i64) -> Option<i64> {
        sum.checked_add(value)
    }

    fn to_f64(value: i64) -> f64 {
        value as f64
    }
}

impl Number for class::Double {
    type Sum = f64;

    fn add(sum: f64, value: f64) -> Option<f64> {
        Some(sum + value)
    }

    fn to_f64(value: f64) -> f64 {
        value
    }
}

impl<T: Entity> Query<T> {
    /// Number of rows. All are read, but with few properties.
    ///
    /// ```
    /// # use lazuli_embedded::doc::*; people(async |people| {
    /// assert_eq!(people.query::<Person>().filter(Person::city().eq("Delft")).count().await?, 2);
    /// # Ok(()) });
    /// ```
    pub async fn count(self) -> Result<u64> {
        match self.narrowed(PARTITION_KEY) {
            Ok(narrow) => narrow.stream().count().await,
            Err(whole) => whole.stream().count().await,
        }
    }

    /// Sum of a property over all rows that have it with its type.
    ///
    /// ```
    /// # use lazuli_embedded::doc::*; people(async |people| {
    /// assert_eq!(people.query::<Person>().sum(Person::age()).await?, 41 + 28 + 35);
    /// # Ok(()) });
    /// ```
    pub async fn sum<C: Number>(self, property: Field<C>) -> Result<C::Sum> {
        let mut sum = Some(C::Sum::default());
        self.each::<C>(property, |value| sum = sum.take().and_then(|sum| C::add(sum, value))).await?;
        sum.ok_or_else(|| Error::input("the sum is larger than Edm.Int64"))
    }

    /// Average of a property; `None` if no row has it.
    ///
    /// ```
    /// # use lazuli_embedded::doc::*; people(async |people| {
    /// let in_delft = people.query::<Person>().filter(Person::city().eq("Delft"));
    /// assert_eq!(in_delft.avg(Person::age()).await?, Some(34.5));
    /// let named_dee = people.query::<Person>().filter(Person::name().eq("Dee"));
    /// assert_eq!(named_dee.avg(Person::age()).await?, None); // her age is unknown
    /// # Ok(()) });
    /// ```
    pub async fn avg<C: Number>(self, property: Field<C>) -> Result<Option<f64>> {
        let (mut sum, mut count) = (0.0, 0_u32);
        self.each::<C>(property, |value| {
            sum += C::to_f64(value);
            count += 1;
        })
        .await?;
        Ok((count > 0).then(|| sum / f64::from(count)))
    }

    /// Minimum of a property; `None` if no row has it.
    ///
    /// ```
    /// # use lazuli_embedded::doc::*; people(async |people| {
    /// assert_eq!(people.query::<Person>().min(Person::age()).await?, Some(28));
    /// assert_eq!(people.query::<Person>().min(Person::name()).await?.as_deref(), Some("Ann"));
    /// # Ok(()) });
    /// ```
    pub async fn min<C: Native>(self, property: Field<C>) -> Result<Option<C::Value>> {
        self.extreme::<C>(property, std::cmp::Ordering::Less).await
    }

    /// Maximum of a property; `None` if no row has it.
    ///
    /// ```
    /// # use lazuli_embedded::doc::*; people(async |people| {
    /// assert_eq!(people.query::<Person>().max(Person::age()).await?, Some(41));
    /// assert_eq!(people.query::<Person>().filter(Person::age().gt(99)).max(Person::age()).await?, None);
    /// # Ok(()) });
    /// ```
    pub async fn max<C: Native>(self, property: Field<C>) -> Result<Option<C::Value>> {
        self.extreme::<C>(property, std::cmp::Ordering::Greater).await
    }

    /// Groups rows by the result of a function, in the order of each group's first row. Holds all rows, up to the local limit.
    ///
    /// ```
    /// # use lazuli_embedded::doc::*; people(async |people| {
    /// let cities = people.query::<Person>().group_by(|person| person.city.clone()).await?;
    /// let (city, there) = &cities[1];
    /// assert_eq!((city.as_str(), there[0].name.as_str(), there.len()), ("Leiden", "Cid", 2));
    /// # Ok(()) });
    /// ```
    pub async fn group_by<K: Eq + Hash + Clone>(self, key: impl FnMut(&T) -> K) -> Result<Vec<(K, Vec<T>)>> {
        self.stream().group_by(key).await
    }

    async fn extreme<C: Native>(
        self,
        property: Field<C>,
        wanted: std::cmp::Ordering,
    ) -> Result<Option<C::Value>> {
        let mut best: Option<Value> = None;
        self.each_value(property.into_name(), |value| {
            let typed = C::Value::from_value(&WireValue::from(&value)).is_ok();
            if typed && (best.is_none() || order::compare(Some(&value), best.as_ref()) == wanted) {
                best = Some(value);
            }
        })
        .await?;
        Ok(best.and_then(|value| C::Value::from_value(&WireValue::from(&value)).ok()))
    }

    async fn each<C: Native>(self, property: Field<C>, mut see: impl FnMut(C::Value)) -> Result<()> {
        self.each_value(property.into_name(), |value| {
            if let Ok(value) = C::Value::from_value(&WireValue::from(&value)) {
                see(value);
            }
        })
        .await
    }

    async fn each_value(self, name: String, mut see: impl FnMut(Value)) -> Result<()> {
        match self.narrowed(&name) {
            Ok(narrow) => {
                let mut rows = narrow.stream();
                while let Some(row) = rows.try_next().await? {
                    row.value_of(&name).into_iter().for_each(&mut see);
                }
            }
            Err(mut whole) => {
                whole.look_at(&name);
                let mut rows = whole.stream();
                while let Some(row) = rows.try_next().await? {
                    row.value_of(&name).into_iter().for_each(&mut see);
                }
            }
        }
        Ok(())
    }

    /// The rows have all properties, or the selected ones: the property must be one of them.
    fn look_at(&mut self, name: &str) {
        self.check_seen(name);
        let select = &mut self.pushed.select;
        if !select.is_empty() && !select.iter().any(|given| given == name) {
            select.push(name.to_owned());
        }
    }

    /// The same query for one property, if nothing in the client needs the others.
    fn narrowed(self, name: &str) -> std::result::Result<Query<Dynamic>, Box<Self>> {
        // A token belongs to the selection it was created with.
        if !self.stages.is_empty() || self.start.is_some() {
            return Err(Box::new(self));
        }
        let mut narrow = self.project::<Dynamic>();
        narrow.pushed.select = vec![name.to_owned()];
        Ok(narrow)
    }
}
