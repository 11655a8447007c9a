//! What examples of the client's documentation run on: `Person` and the table of people that `lazuli_client::Query` shows.
//!
//! Not for use elsewhere: it changes without notice.

use lazuli_client::{Entity, Table};

/// One of the people.
#[derive(Clone, Debug, PartialEq, Eq, Entity)]
#[table(rename_all = "PascalCase")]
pub struct Person {
    /// Where they live.
    #[table(partition_key)]
    pub city: String,
    /// What they are called.
    #[table(row_key)]
    pub name: String,
    /// How old they are, if they tell.
    pub age: Option<i32>,
}

impl Person {
    /// Someone who tells.
    pub fn new(city: &str, name: &str, age: i32) -> Self {
        Self { city: city.to_owned(), name: name.to_owned(), age: Some(age) }
    }
}

/// Runs an example on a table `People` in memory: Ann (41) and Bob (28) in Delft, Cid (35) and Dee in Leiden.
pub fn people<F: Future<Output = lazuli_client::Result<()>>>(example: impl FnOnce(Table) -> F) {
    crate::doc_test(async |service| {
        let table = service.create_table("People").await?;
        for person in [Person::new("Delft", "Ann", 41), Person::new("Delft", "Bob", 28)] {
            table.insert(&person).await?;
        }
        table.insert(&Person::new("Leiden", "Cid", 35)).await?;
        table.insert(&Person { age: None, ..Person::new("Leiden", "Dee", 0) }).await?;
        example(table).await
    });
}
