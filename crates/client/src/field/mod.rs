//! Properties by name in queries: typed ones that a derive generates, and any others with [`prop`].
//!
//! ```
//! # use lazuli_client::{Entity, prop};
//! #[derive(Entity)]
//! struct Guitar { #[table(partition_key)] brand: String, #[table(row_key)] number: String, price: i32 }
//!
//! let filter = Guitar::brand().eq("Gibson") & Guitar::price().lt(10_000) & prop("Strings").eq(6);
//! assert_eq!(filter.to_string(), "PartitionKey eq 'Gibson' and price lt 10000 and Strings eq 6");
//! ```
//!
//! Meaningless comparisons do not compile: a constant of the wrong type, or an order comparison of a type
//! without an order.
//!
//! ```compile_fail
//! lazuli_client::prop("Used").lt(true); // booleans have no order
//! ```
//! ```compile_fail
//! lazuli_client::prop("Id").ge(lazuli_client::Guid([0; 16])); // neither do GUIDs
//! ```
//! ```compile_fail
//! lazuli_client::prop("Photo").gt(vec![1_u8]); // neither do bytes
//! ```
//! ```compile_fail
//! lazuli_client::row_key().eq(5); // keys are strings
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
//! Guitar::price().starts_with("1"); // and numbers have no prefix
//! ```

mod constant;
mod prop;

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use lazuli_model::table::entity::{PARTITION_KEY, ROW_KEY, TIMESTAMP};
use lazuli_model::table::filter::Operator;

use crate::filter::{Filter, prefix_end};
use crate::keys::KeyText;
use crate::value::{Operand, Scalar, class};

pub use constant::{Comparable, Constant, Sortable, constant};
pub use prop::{Prop, prop};

/// A property of known type.
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
    ///
    /// ```
    /// use lazuli_client::{Field, value::class};
    ///
    /// const PRICE: Field<class::Int32> = Field::new("Price");
    /// assert_eq!(PRICE.between(10, 20).to_string(), "Price ge 10 and Price lt 20");
    /// ```
    pub const fn new(name: &'static str) -> Self {
        Self { name: Cow::Borrowed(name), class: PhantomData }
    }

    /// Its name in the table.
    ///
    /// ```
    /// # use lazuli_embedded::doc::Person;
    ///
    /// assert_eq!(Person::age().name(), "Age");
    /// assert_eq!(Person::city().name(), "PartitionKey");
    /// ```
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The property, in a part that is stored with a prefix: `Address::city().within("Address_")`.
    ///
    /// ```
    /// use lazuli_client::Shape;
    ///
    /// #[derive(Shape)]
    /// #[table(rename_all = "PascalCase")]
    /// struct Address { street: String, city: String }
    ///
    /// assert_eq!(Address::city().within("Home_").eq("Delft").to_string(), "Home_City eq 'Delft'");
    /// ```
    pub fn within(self, prefix: &str) -> Self {
        Self { name: Cow::Owned(format!("{prefix}{}", self.name)), class: PhantomData }
    }

    /// Equal to this value.
    ///
    /// ```
    /// # use lazuli_embedded::doc::Person;
    ///
    /// let called_ann = Person::name().eq("Ann");
    /// assert_eq!(called_ann.to_string(), "RowKey eq 'Ann'");
    /// assert!(called_ann.holds(&Person::new("Delft", "Ann", 41)));
    /// ```
    pub fn eq(self, value: impl Operand<C>) -> Filter {
        self.compare(Operator::Eq, value)
    }

    /// Not equal to this value. Entities without the property do not match.
    ///
    /// ```
    /// # use lazuli_embedded::doc::Person;
    ///
    /// let ann = Person::new("Delft", "Ann", 41);
    /// assert!(Person::age().ne(28).holds(&ann));
    /// assert!(!Person::age().ne(28).holds(&Person { age: None, ..ann }));
    /// ```
    pub fn ne(self, value: impl Operand<C>) -> Filter {
        self.compare(Operator::Ne, value)
    }

    /// Equal to one of these values; an empty list never matches. A filter can contain at most 512 values: a
    /// longer list is evaluated in the client, on all rows that match the rest of the query.
    ///
    /// ```
    /// # use lazuli_embedded::doc::*; people(async |people| {
    /// let either = Person::name().is_one_of(["Ann", "Dee"]);
    /// assert_eq!(either.to_string(), "RowKey eq 'Ann' or RowKey eq 'Dee'");
    /// assert_eq!(people.query::<Person>().filter(either).count().await?, 2);
    ///
    /// let ages: Vec<i32> = Vec::new();
    /// assert_eq!(people.query::<Person>().filter(Person::age().is_one_of(ages)).count().await?, 0);
    /// # Ok(()) });
    /// ```
    #[doc(alias = "is_in")]
    #[doc(alias = "in")]
    #[doc(alias = "contains")]
    pub fn is_one_of<V: Operand<C>>(self, values: impl IntoIterator<Item = V>) -> Filter {
        Filter::any_of(values.into_iter().map(|value| self.clone().eq(value)))
    }

    fn compare(self, operator: Operator, value: impl Operand<C>) -> Filter {
        Filter::compare(self.name.into_owned(), operator, value.operand())
    }
}

impl<T: KeyText<Class = class::Coded<T>>> Field<class::Coded<T>> {
    /// The stored string of a key that is not a string, for operations that take keys as strings, such as
    /// [`crate::Table::get`].
    ///
    /// ```
    /// # lazuli_embedded::doc_test(async |service| {
    /// # use lazuli_client::Entity;
    /// #[derive(Entity)]
    /// struct Order { #[table(partition_key)] customer: String, #[table(row_key)] number: u32, total: i32 }
    ///
    /// let orders = service.create_table("Orders").await?;
    /// orders.insert(&Order { customer: "Ann".into(), number: 7, total: 10 }).await?;
    /// // A number as a key is padded with zeros, so that keys sort like numbers; "7" does not exist.
    /// let order = orders.get::<Order>("Ann", Order::number().key(7)).await?;
    /// assert_eq!((order.value.total, Order::number().key(7).as_str()), (10, "0000000007"));
    /// # Ok(()) });
    /// ```
    pub fn key(self, value: T) -> String {
        value.to_key().into_owned()
    }
}

/// The bound is on each method, so that the compiler explains what is wrong instead of not finding the method.
impl<C> Field<C> {
    /// Less than this value.
    ///
    /// ```
    /// # use lazuli_embedded::doc::Person;
    ///
    /// let young = Person::age().lt(28);
    /// assert!(young.holds(&Person::new("Delft", "Eve", 27)));
    /// assert!(!young.holds(&Person::new("Delft", "Bob", 28)));
    /// ```
    pub fn lt(self, value: impl Operand<C>) -> Filter
    where
        C: class::Ordered,
    {
        self.compare(Operator::Lt, value)
    }

    /// Less than or equal to this value.
    ///
    /// ```
    /// # use lazuli_embedded::doc::Person;
    ///
    /// let at_most = Person::age().le(28);
    /// assert!(at_most.holds(&Person::new("Delft", "Bob", 28)));
    /// assert!(!at_most.holds(&Person::new("Delft", "Ivo", 29)));
    /// ```
    pub fn le(self, value: impl Operand<C>) -> Filter
    where
        C: class::Ordered,
    {
        self.compare(Operator::Le, value)
    }

    /// Greater than this value.
    ///
    /// ```
    /// use lazuli_client::{DateTime, timestamp};
    ///
    /// let midnight = DateTime::parse("2024-02-29").unwrap();
    /// let changed_today = timestamp().gt(midnight);
    /// assert_eq!(changed_today.to_string(), "Timestamp gt datetime'2024-02-29T00:00:00Z'");
    /// ```
    pub fn gt(self, value: impl Operand<C>) -> Filter
    where
        C: class::Ordered,
    {
        self.compare(Operator::Gt, value)
    }

    /// Greater than or equal to this value.
    ///
    /// ```
    /// # use lazuli_embedded::doc::Person;
    ///
    /// let adult = Person::age().ge(18);
    /// assert!(adult.holds(&Person::new("Delft", "Kim", 18)));
    /// assert!(!adult.holds(&Person::new("Delft", "Lot", 17)));
    /// ```
    pub fn ge(self, value: impl Operand<C>) -> Filter
    where
        C: class::Ordered,
    {
        self.compare(Operator::Ge, value)
    }

    /// At least `from` and less than `to`.
    ///
    /// ```
    /// # use lazuli_embedded::doc::Person;
    ///
    /// let in_their_thirties = Person::age().between(30, 40);
    /// assert!(in_their_thirties.holds(&Person::new("Leiden", "Cid", 30)));
    /// assert!(!in_their_thirties.holds(&Person::new("Leiden", "Cid", 40)));
    /// ```
    pub fn between(self, from: impl Operand<C>, to: impl Operand<C>) -> Filter
    where
        C: class::Ordered,
    {
        let other = Self { name: self.name.clone(), class: PhantomData };
        self.ge(from) & other.lt(to)
    }
}

impl Field<class::Text> {
    /// Starts with this prefix: a range, which the service can look up if the property is a key.
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
///
/// ```
/// use lazuli_client::{partition_key, row_key};
///
/// let one = partition_key().eq("Delft") & row_key().eq("Ann");
/// assert_eq!(one.to_string(), "PartitionKey eq 'Delft' and RowKey eq 'Ann'");
/// ```
pub const fn partition_key() -> Field<class::Text> {
    Field::new(PARTITION_KEY)
}

/// The RowKey.
///
/// ```
/// use lazuli_client::row_key;
///
/// assert_eq!(row_key().between("A", "C").to_string(), "RowKey ge 'A' and RowKey lt 'C'");
/// ```
pub const fn row_key() -> Field<class::Text> {
    Field::new(ROW_KEY)
}

/// Time of the entity's last change, set by the service.
///
/// ```
/// # use lazuli_embedded::doc::*; people(async |people| {
/// use std::time::SystemTime;
/// use lazuli_client::timestamp;
///
/// let soon = SystemTime::now() + std::time::Duration::from_secs(3600);
/// assert_eq!(people.query::<Person>().filter(timestamp().lt(soon)).count().await?, 4);
/// assert_eq!(people.query::<Person>().filter(timestamp().ge(soon)).count().await?, 0);
/// # Ok(()) });
/// ```
pub const fn timestamp() -> Field<class::Moment> {
    Field::new(TIMESTAMP)
}

fn starts_with(name: String, prefix: &str) -> Filter {
    let from = Filter::compare(name.clone(), Operator::Ge, prefix.to_owned().scalar());
    match prefix_end(prefix) {
        Some(end) => from & Filter::compare(name, Operator::Lt, end.scalar()),
        None => from,
    }
}

/// Something that identifies a property: a [`Field`], a [`Prop`], or a string.
///
/// ```
/// # use lazuli_embedded::doc::Person;
///
/// use lazuli_client::{field::Named, prop};
///
/// fn column(name: impl Named) -> String {
///     format!("[{}]", name.into_name())
/// }
///
/// assert_eq!(column(Person::age()), "[Age]");
/// assert_eq!(column(prop("Price")), column("Price"));
/// ```
pub trait Named {
    /// The name in the table.
    ///
    /// ```
    /// use lazuli_client::{field::Named, row_key};
    ///
    /// assert_eq!(row_key().into_name(), "RowKey");
    /// ```
    fn into_name(self) -> String;
}

impl<C> Named for Field<C> {
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
