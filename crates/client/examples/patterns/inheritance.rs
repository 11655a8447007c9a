//! GD-08: an abstract person, and two kinds of persons in one table. A kind is a filter, not a key: all rows are
//! read, whichever kind is requested.

use lazuli_client::{Dynamic, Entity, Result, TableService};

use super::shared::{assert_rows_read, fresh, read};

/// The properties of all persons; no entity is only a person.
#[derive(Clone, Debug, Entity)]
#[table(kind = "Person", rename_all = "PascalCase")]
struct Person {
    #[table(partition_key)]
    company: String,
    #[table(row_key)]
    number: String,
    last_name: String,
}

#[derive(Clone, Debug, Entity)]
#[table(kind = "Person.Employee", rename_all = "PascalCase")]
struct Employee {
    #[table(flatten)]
    person: Person,
    salary: i32,
}

#[derive(Clone, Debug, Entity)]
#[table(kind = "Person.Customer", rename_all = "PascalCase")]
struct Customer {
    #[table(flatten)]
    person: Person,
    credit: i32,
}

#[derive(Clone, Debug, Entity)]
#[table(kind = "Person")]
enum AnyPerson {
    Employee(Employee),
    Customer(Customer),
    #[table(other)]
    Other(Dynamic),
}

pub async fn run(service: &TableService) -> Result<()> {
    let table = fresh(service, "Persons").await?;
    let person =
        |number: &str| Person { company: "contoso".into(), number: number.into(), last_name: "Jones".into() };
    table.insert(&Employee { person: person("1"), salary: 100 }).await?;
    table.insert(&Customer { person: person("2"), credit: 5 }).await?;
    table.insert(&Dynamic::new("contoso", "3").with("Note", "not a person")?).await?;
    let (persons, ran) = read(table.query::<Person>()).await?;
    assert_eq!(persons.len(), 2);
    assert_rows_read(&ran, 3);
    let (employees, ran) = read(table.query::<Employee>()).await?;
    assert_eq!(employees.len(), 1);
    assert_rows_read(&ran, 3);
    let (any, ran) = read(table.query::<AnyPerson>()).await?;
    assert_rows_read(&ran, 3);
    let credit: i32 = any
        .iter()
        .map(|person| match person {
            AnyPerson::Customer(customer) => customer.credit,
            AnyPerson::Employee(_) | AnyPerson::Other(_) => 0,
        })
        .sum();
    assert_eq!(credit, 5);
    table.delete().await
}
