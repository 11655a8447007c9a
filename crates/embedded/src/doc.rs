//! Fixtures for examples in the client's documentation: `Person`, and the table of people that `lazuli_client::Query` uses.
//!
//! Not for use elsewhere: it changes without notice.

use lazuli_client::{Entity, Table};

/// A person.
#[derive(Clone, Debug, PartialEq, Eq, Entity)]
#[table(rename_all = "PascalCase")]
pub struct Person {
    /// City of residence.
    #[table(partition_key)]
    pub city: String,
    /// Name.
    #[table(row_key)]
    pub name: String,
    /// Age, if known.
    pub age: Option<i32>,
}

impl Person {
    /// A person of known age.
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
