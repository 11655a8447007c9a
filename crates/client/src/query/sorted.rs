//! The order of rows. No service sorts, so this runs in the client, on all rows together.

use crate::entity::Entity;
use crate::field::Named;
use crate::query::local::{Compare, Stage, Work};
use crate::query::{Query, by_key, order};

impl<T: Entity> Query<T> {
    /// Sorts by a property, in the client. Entities without it come first; values of different types are sorted separately.
    ///
    /// Servers do not sort: **all rows that match the filters are read** before the first one is returned, even
    /// if [`Query::take`] follows, and held in memory, up to [`Query::local_limit`]. Filter by partition first,
    /// or choose keys that sort (see [`keys`](crate::keys)): entities are returned in the order of their keys.
    ///
    /// ```
    /// # use lazuli_embedded::doc::*; people(async |people| {
    /// let by_age = people.query::<Person>().order_by(Person::age());
    /// assert_eq!(by_age.map(|person| person.name).collect().await?, ["Dee", "Bob", "Cid", "Ann"]);
    /// # Ok(()) });
    /// ```
    #[doc(alias = "sort")]
    #[doc(alias = "sort_by")]
    pub fn order_by(self, property: impl Named) -> Self {
        self.sort(property.into_name(), false, true)
    }

    /// Sorts by a property in descending order, in the client; like [`Query::order_by`], it reads all matching
    /// rows.
    ///
    /// ```
    /// # use lazuli_embedded::doc::*; people(async |people| {
    /// let eldest = people.query::<Person>().order_by_desc(Person::age()).first().await?;
    /// assert_eq!(eldest.unwrap().name, "Ann");
    /// # Ok(()) });
    /// ```
    pub fn order_by_desc(self, property: impl Named) -> Self {
        self.sort(property.into_name(), true, true)
    }

    /// Sorts equal rows by another property.
    ///
    /// ```
    /// # use lazuli_embedded::doc::*; people(async |people| {
    /// let query = people.query::<Person>().order_by_desc(Person::city()).then_by(Person::age());
    /// assert_eq!(query.map(|person| person.name).collect().await?, ["Dee", "Cid", "Bob", "Ann"]);
    /// # Ok(()) });
    /// ```
    pub fn then_by(self, property: impl Named) -> Self {
        self.sort(property.into_name(), false, false)
    }

    /// Sorts equal rows by another property in descending order.
    ///
    /// ```
    /// # use lazuli_embedded::doc::*; people(async |people| {
    /// let query = people.query::<Person>().order_by(Person::city()).then_by_desc(Person::name());
    /// assert_eq!(query.map(|person| person.name).collect().await?, ["Bob", "Ann", "Dee", "Cid"]);
    /// # Ok(()) });
    /// ```
    pub fn then_by_desc(self, property: impl Named) -> Self {
        self.sort(property.into_name(), true, false)
    }

    /// Sorts by the result of a function, in the client; like [`Query::order_by`], it reads all matching rows.
    ///
    /// ```
    /// # use lazuli_embedded::doc::*; people(async |people| {
    /// let by_last_letter = people.query::<Person>().order_by_key(|person| person.name.chars().last());
    /// assert_eq!(by_last_letter.map(|person| person.name).collect().await?, ["Bob", "Cid", "Dee", "Ann"]);
    /// # Ok(()) });
    /// ```
    pub fn order_by_key<K: Ord>(mut self, key: impl Fn(&T) -> K + Send + 'static) -> Self {
        self.add(Work::Sort { by: vec![by_key(key)], rows: Vec::new() }, "order by a function", Vec::new());
        self
    }

    fn sort(mut self, name: String, descending: bool, afresh: bool) -> Self {
        self.check_name(&name);
        self.check_seen(&name);
        let text = format!("{name}{}", if descending { " descending" } else { "" });
        let names = vec![name.clone()];
        let by: Compare<T> = Box::new(move |a, b| {
            let order = order::compare(a.value_of(&name).as_ref(), b.value_of(&name).as_ref());
            if descending { order.reverse() } else { order }
        });
        // Conditions after a sort do not affect it, so it can still be refined.
        let mut behind = self.stages.iter_mut().rev().skip_while(|stage| stage.is_condition());
        match behind.next() {
            Some(Stage { work: Work::Sort { by: before, .. }, text: told, names: known }) if !afresh => {
                before.push(by);
                told.push_str(&format!(", then by {text}"));
                known.extend(names);
            }
            _ => self.add(Work::Sort { by: vec![by], rows: Vec::new() }, format!("order by {text}"), names),
        }
        self
    }
}
