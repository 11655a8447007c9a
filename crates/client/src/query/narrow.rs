//! The rows that a query returns, and their properties.
//!
//! A call is pushed to the server if the result is the same as running it in the client at its position.

use std::collections::HashSet;

use lazuli_model::table::entity::{PARTITION_KEY, is_property_name};

use crate::entity::Entity;
use crate::error::Error;
use crate::field::Named;
use crate::filter::Condition;
use crate::query::local::{Stage, Work};
use crate::query::names::Names;
use crate::query::{Query, order};

impl<T: Entity> Query<T> {
    /// Adds a condition. It runs on the server, unless a call before it must run in the client.
    ///
    /// Conditions are combined with `&`, `|` and `!`; [`Filter::parse`](crate::Filter::parse) reads one in the syntax of `$filter`.
    ///
    /// ```
    /// # use lazuli_embedded::doc::*; people(async |people| {
    /// let query = people.query::<Person>().filter(Person::age().ge(30)).filter(Person::city().eq("Leiden"));
    /// assert_eq!(query.explain().filter.as_deref(), Some("Age ge 30 and PartitionKey eq 'Leiden'"));
    /// assert_eq!(query.map(|person| person.name).collect().await?, ["Cid"]);
    ///
    /// // "Of the first two, those over 30": a server cannot do that.
    /// let query = people.query::<Person>().take(2).filter(Person::age().ge(30));
    /// assert_eq!(query.explain().local, ["filter Age ge 30"]);
    /// assert_eq!(query.map(|person| person.name).collect().await?, ["Ann"]);
    ///
    /// # use lazuli_client::Filter;
    /// let typed_in = Filter::parse("Age gt 30 and PartitionKey eq 'Delft'")?;
    /// assert_eq!(people.query::<Person>().filter(typed_in).count().await?, 1);
    /// # Ok(()) });
    /// ```
    #[doc(alias = "where")]
    pub fn filter(mut self, filter: impl Condition) -> Self {
        let filter = filter.into_filter();
        self.check_names(&filter);
        let to_service = self.pushed.take.is_none() && self.stages.iter().all(Stage::lets_conditions_pass);
        for part in filter.conjuncts() {
            let left = if to_service { self.pushed.push(part) } else { Some(part) };
            if let Some(part) = left {
                let mut names = Vec::new();
                part.names(&mut names);
                let text = format!("filter {part}");
                self.add(Work::Keep(Box::new(move |row| part.holds(row))), text, names);
            }
        }
        self
    }

    /// Adds a condition as a function, which runs in the client.
    ///
    /// ```
    /// # use lazuli_embedded::doc::*; people(async |people| {
    /// let odd = people.query::<Person>().filter_local(|person| person.age.is_some_and(|age| age % 2 == 1));
    /// assert_eq!(odd.map(|person| person.name).collect().await?, ["Ann", "Cid"]);
    /// # Ok(()) });
    /// ```
    pub fn filter_local(mut self, test: impl FnMut(&T) -> bool + Send + 'static) -> Self {
        self.add(Work::Keep(Box::new(test)), "filter by a function", Vec::new());
        self
    }

    /// Limits the number of rows. The server returns no more, unless a call before it runs in the client.
    ///
    /// ```
    /// # use lazuli_embedded::doc::*; people(async |people| {
    /// let mut rows = people.query::<Person>().take(3).stream();
    /// while rows.try_next().await?.is_some() {}
    /// assert_eq!(rows.explain().ran.unwrap().rows_received, 3);
    ///
    /// let youngest = people.query::<Person>().filter(Person::age().gt(0)).order_by(Person::age()).take(1);
    /// assert_eq!(youngest.map(|person| person.name).collect().await?, ["Bob"]);
    /// # Ok(()) });
    /// ```
    #[doc(alias = "limit")]
    #[doc(alias = "top")]
    pub fn take(mut self, rows: u64) -> Self {
        if self.stages.is_empty() {
            self.pushed.take = Some(self.pushed.take.map_or(rows, |before| before.min(rows)));
        } else {
            self.add(Work::Take(rows), format!("take {rows}"), Vec::new());
        }
        self
    }

    /// Skips the first rows. They are still read; to continue after a page, use [`Query::pages`].
    ///
    /// ```
    /// # use lazuli_embedded::doc::*; people(async |people| {
    /// let third = people.query::<Person>().skip(2).take(1);
    /// assert_eq!(third.map(|person| person.name).collect().await?, ["Cid"]);
    /// # Ok(()) });
    /// ```
    #[doc(alias = "offset")]
    pub fn skip(mut self, rows: u64) -> Self {
        self.add(Work::Skip(rows), format!("skip {rows}"), Vec::new());
        self
    }

    /// Selects properties. The keys, and properties that stages in the client use, are always included.
    ///
    /// Fields of `T` that are not selected must be optional (`Option`, or `#[table(default)]`). To decode into another
    /// type instead, use [`Query::project`].
    ///
    /// ```
    /// # use lazuli_embedded::doc::*; people(async |people| {
    /// let query = people.query::<Person>().select([Person::name()]);
    /// assert_eq!(query.explain().select, ["PartitionKey", "RowKey"]);
    /// assert_eq!(query.first().await?.unwrap().age, None); // Ann is 41, but it was not selected
    /// # Ok(()) });
    /// ```
    pub fn select(mut self, names: impl Names) -> Self {
        let names = names.into_names();
        names.iter().filter(|name| !is_property_name(name)).for_each(|name| self.reject_name(name));
        self.pushed.select = names;
        self
    }

    /// Decodes the same entities as another type, and selects only its properties.
    ///
    /// ```
    /// # use lazuli_embedded::doc::*; people(async |people| {
    /// use lazuli_client::Entity;
    ///
    /// #[derive(Entity)]
    /// struct Name { #[table(partition_key)] city: String, #[table(row_key)] name: String }
    ///
    /// let query = people.query::<Person>().filter(Person::age().gt(40)).project::<Name>();
    /// assert_eq!(query.explain().select, ["PartitionKey", "RowKey"]);
    /// assert_eq!(query.first().await?.unwrap().name, "Ann");
    /// # Ok(()) });
    /// ```
    pub fn project<P: Entity>(self) -> Query<P> {
        let rejected = match self.stages.is_empty() {
            true => self.rejected,
            false => Some(Error::input(
                "project must come before calls that run in the client; use map after them",
            )),
        };
        let mut pushed = self.pushed;
        pushed.select = match P::names() {
            // An empty list would select all properties.
            Some(names) if names.is_empty() => vec![PARTITION_KEY.to_owned()],
            Some(names) => names,
            None => Vec::new(),
        };
        Query {
            source: self.source,
            pushed,
            stages: Vec::new(),
            local_limit: self.local_limit,
            explained: self.explained,
            secondary: self.secondary,
            start: self.start,
            rejected,
        }
    }

    /// Entities of every kind, all decoded as `T`.
    ///
    /// ```
    /// # use lazuli_embedded::doc::*; people(async |people| {
    /// use lazuli_client::Entity;
    ///
    /// #[derive(Entity)]
    /// #[table(kind = "Person.Employee")]
    /// struct Employee { #[table(partition_key)] city: String, #[table(row_key)] name: String }
    ///
    /// people.insert(&Employee { city: "Delft".into(), name: "Eve".into() }).await?;
    /// assert_eq!(people.query::<Employee>().count().await?, 1);
    /// assert_eq!(people.query::<Employee>().any_kind().count().await?, 5);
    /// # Ok(()) });
    /// ```
    pub fn any_kind(mut self) -> Self {
        self.pushed.lineage = None;
        self
    }

    /// The first entity for each value of a property. Runs in the client.
    ///
    /// ```
    /// # use lazuli_embedded::doc::*; people(async |people| {
    /// let cities = people.query::<Person>().distinct_by(Person::city());
    /// assert_eq!(cities.map(|person| person.city).collect().await?, ["Delft", "Leiden"]);
    /// # Ok(()) });
    /// ```
    pub fn distinct_by(mut self, property: impl Named) -> Self {
        let name = property.into_name();
        let mut seen = HashSet::new();
        let (text, names) = (format!("distinct by {name}"), vec![name.clone()]);
        let is_new = Box::new(move |row: &T| seen.insert(order::identity(row.value_of(&name).as_ref())));
        self.add(Work::Distinct { is_new, seen: 0 }, text, names);
        self
    }
}
