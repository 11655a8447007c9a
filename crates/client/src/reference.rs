//! Entities that refer to other entities: the keys are stored, and the entity is read on demand (FW-02).
//!
//! A reference is never followed automatically, so cycles are harmless. [`Ref::follow`] follows a chain, within a
//! limit, and detects cycles (FW-03).
//!
//! ```
//! use lazuli_client::{Dynamic, reference::Ref};
//!
//! // Two that refer to each other: this reads nothing and loops nowhere.
//! let hen = Ref::<Dynamic>::new("farm", "hen");
//! let egg = Dynamic::new("farm", "egg").with("Mother", hen.row_key.as_str())?;
//! assert_eq!(Ref::to(&egg), Ref::new("farm", "egg"));
//! # Ok::<(), lazuli_client::Error>(())
//! ```

use std::collections::HashSet;
use std::fmt;
use std::marker::PhantomData;

use lazuli_model::Value;

use crate::decode::{DecodeError, Head};
use crate::derived::{fill, settle};
use crate::entity::{Builder, Entity, Shape, Writer};
use crate::error::{Error, Result};
use crate::table::Table;
use crate::value::WireValue;
use crate::versioned::Versioned;

const PARTITION: &str = "Partition";
const ROW: &str = "Row";

/// The keys of another entity, stored as two properties with the prefix of its field: `Manager_Partition` and
/// `Manager_Row`.
///
/// ```
/// # lazuli_embedded::doc_test(|service| async move {
/// use lazuli_client::{Entity, Ref};
///
/// #[derive(Entity)]
/// struct Employee {
///     #[table(partition_key)] department: String,
///     #[table(row_key)] number: String,
///     #[table(flatten, prefix = "Manager_")] manager: Option<Ref<Employee>>,
/// }
///
/// let staff = service.create_table("Staff").await?;
/// for (number, manager) in [("1", None), ("2", Some("1")), ("3", Some("2"))] {
///     let manager = manager.map(|number| Ref::new("Sales", number));
///     staff.insert(&Employee { department: "Sales".into(), number: number.into(), manager }).await?;
/// }
/// let third = staff.get::<Employee>("Sales", "3").await?.value;
/// let boss = third.manager.as_ref().expect("she has a manager").get(&staff).await?.value;
/// assert_eq!(boss.number, "2");
/// let chain = Ref::new("Sales", "3").follow(&staff, 10, |employee: &Employee| employee.manager.clone()).await?;
/// assert_eq!(chain.len(), 3);
/// # Ok(()) })
/// ```
pub struct Ref<T> {
    /// PartitionKey of the other entity.
    pub partition_key: String,
    /// RowKey of the other entity.
    pub row_key: String,
    entity: PhantomData<fn() -> T>,
}

impl<T> Ref<T> {
    /// A reference by keys.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::{Dynamic, Ref};
    /// let staff = service.create_table("Staff").await?;
    /// staff.insert(&Dynamic::new("Sales", "1").with("Name", "Ann")?).await?;
    /// let boss = Ref::<Dynamic>::new("Sales", "1");
    /// assert_eq!(boss.get(&staff).await?.value.get::<String>("Name")?.as_deref(), Some("Ann"));
    /// # Ok(()) })
    /// ```
    pub fn new(partition_key: impl Into<String>, row_key: impl Into<String>) -> Self {
        Self { partition_key: partition_key.into(), row_key: row_key.into(), entity: PhantomData }
    }
}

impl<T: Entity> Ref<T> {
    /// A reference to an entity.
    ///
    /// ```
    /// # use lazuli_client::{Dynamic, Ref};
    /// let ann = Dynamic::new("Sales", "1");
    /// let boss = Ref::to(&ann);
    /// assert_eq!((boss.partition_key.as_str(), boss.row_key.as_str()), ("Sales", "1"));
    /// # Ok::<(), lazuli_client::Error>(())
    /// ```
    pub fn to(entity: &T) -> Self {
        Self::new(entity.partition_key(), entity.row_key())
    }

    /// Reads the entity.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::{Dynamic, Ref};
    /// let staff = service.create_table("Staff").await?;
    /// let gone = Ref::<Dynamic>::new("Sales", "1");
    /// // References are not checked: the entity may not exist.
    /// assert!(gone.get(&staff).await.unwrap_err().is_not_found());
    /// staff.insert(&Dynamic::new("Sales", "1")).await?;
    /// assert_eq!(Ref::to(&gone.get(&staff).await?.value), gone);
    /// # Ok(()) })
    /// ```
    pub async fn get(&self, table: &Table) -> Result<Versioned<T>> {
        table.get(self.partition_key.as_str(), self.row_key.as_str()).await
    }

    /// Reads the entity, if it exists.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::{Dynamic, Ref};
    /// let staff = service.create_table("Staff").await?;
    /// let boss = Ref::<Dynamic>::new("Sales", "1");
    /// assert!(boss.try_get(&staff).await?.is_none());
    /// # Ok(()) })
    /// ```
    pub async fn try_get(&self, table: &Table) -> Result<Option<Versioned<T>>> {
        table.try_get(self.partition_key.as_str(), self.row_key.as_str()).await
    }

    /// Reads the entity, the one that it refers to, and so on. It is an error if there are more than `most`, or if one
    /// occurs again.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::{Dynamic, Ref};
    /// let people = service.create_table("People").await?;
    /// for (name, friend) in [("Ann", "Bob"), ("Bob", "Ann")] {
    ///     people.insert(&Dynamic::new("p", name).with("Friend", friend)?).await?;
    /// }
    /// let friend = |person: &Dynamic| Some(Ref::new("p", person.get::<String>("Friend").ok()??));
    /// // A cycle is detected; so would be a chain that is longer than the limit.
    /// let round = Ref::<Dynamic>::new("p", "Ann").follow(&people, 10, friend).await.unwrap_err();
    /// assert!(round.message().contains("is part of a cycle"));
    /// # Ok(()) })
    /// ```
    pub async fn follow(
        self,
        table: &Table,
        most: usize,
        next: impl Fn(&T) -> Option<Ref<T>>,
    ) -> Result<Vec<Versioned<T>>> {
        let mut seen = HashSet::new();
        let mut found: Vec<Versioned<T>> = Vec::new();
        let mut at = Some(self);
        while let Some(reference) = at {
            if found.len() >= most {
                return Err(Error::input(format!("the chain of references has more than {most} entities")));
            }
            if !seen.insert((reference.partition_key.clone(), reference.row_key.clone())) {
                return Err(Error::input(format!("{reference:?} is part of a cycle of references")));
            }
            let entity = reference.get(table).await?;
            at = next(&entity.value);
            found.push(entity);
        }
        Ok(found)
    }
}

impl<T> Clone for Ref<T> {
    fn clone(&self) -> Self {
        Self::new(self.partition_key.clone(), self.row_key.clone())
    }
}

impl<T> PartialEq for Ref<T> {
    fn eq(&self, other: &Self) -> bool {
        self.partition_key == other.partition_key && self.row_key == other.row_key
    }
}

impl<T> Eq for Ref<T> {}

impl<T> fmt::Debug for Ref<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({:?}, {:?})", self.partition_key, self.row_key)
    }
}

impl<T> Shape for Ref<T> {
    type Builder = RefBuilder<T>;

    fn write_fields(&self, out: &mut Writer) -> Result<()> {
        out.put(PARTITION, Some(Value::String(self.partition_key.clone())))?;
        out.put(ROW, Some(Value::String(self.row_key.clone())))
    }

    fn field_value(&self, name: &str) -> Option<Value> {
        match name {
            PARTITION => Some(Value::String(self.partition_key.clone())),
            ROW => Some(Value::String(self.row_key.clone())),
            _ => None,
        }
    }

    fn field_names(prefix: &str, out: &mut Vec<String>) -> bool {
        out.extend([PARTITION, ROW].map(|name| format!("{prefix}{name}")));
        true
    }
}

/// Decodes a reference.
///
/// ```
/// use lazuli_client::reference::{Ref, RefBuilder};
/// use lazuli_client::{Dynamic, decode::Head, entity::Builder, value::WireValue};
///
/// // Derived code passes the properties with the prefix, in any order.
/// let mut builder = RefBuilder::<Dynamic>::default();
/// assert!(builder.take("Partition", &WireValue::String("Sales".into()))?);
/// assert!(builder.take("Row", &WireValue::String("1".into()))?);
/// assert_eq!(builder.finish(&Head::default())?, Ref::new("Sales", "1"));
/// # Ok::<(), lazuli_client::Error>(())
/// ```
pub struct RefBuilder<T> {
    partition_key: Option<String>,
    row_key: Option<String>,
    entity: PhantomData<fn() -> T>,
}

impl<T> Default for RefBuilder<T> {
    fn default() -> Self {
        Self { partition_key: None, row_key: None, entity: PhantomData }
    }
}

impl<T> fmt::Debug for RefBuilder<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({:?}, {:?})", self.partition_key, self.row_key)
    }
}

impl<T> Builder for RefBuilder<T> {
    type Output = Ref<T>;

    fn take(&mut self, name: &str, value: &WireValue<'_>) -> std::result::Result<bool, DecodeError> {
        match name {
            PARTITION => fill(&mut self.partition_key, name, value),
            ROW => fill(&mut self.row_key, name, value),
            _ => Ok(false),
        }
    }

    fn keep(&mut self, _: &str, _: &WireValue<'_>) -> bool {
        false
    }

    fn finish(self, _: &Head<'_>) -> std::result::Result<Ref<T>, DecodeError> {
        Ok(Ref::new(settle(self.partition_key, PARTITION)?, settle(self.row_key, ROW)?))
    }
}
