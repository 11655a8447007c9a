//! PT-19 to PT-22: entities of several types in one table, distinguished by their keys or by a property, read as property
//! bags or as their own types, and changed by programs that do not know the type.

use lazuli_client::decode::{DecodeError, RawEntity};
use lazuli_client::entity::Writer;
use lazuli_client::value::FromValue;
use lazuli_client::{
    Dynamic, Entity, Error, Result, Table, TableService, Value, Versioned, partition_key, prop, row_key,
};

use super::shared::{assert_rows_read, fresh, read};

#[derive(Clone, Debug, PartialEq, Entity)]
#[table(rename_all = "PascalCase")]
struct Employee {
    #[table(partition_key)]
    department: String,
    #[table(row_key)]
    key: String,
    last_name: String,
    entity_type: String,
}

#[derive(Clone, Debug, PartialEq, Entity)]
#[table(rename_all = "PascalCase")]
struct Department {
    #[table(partition_key)]
    department: String,
    #[table(row_key)]
    key: String,
    employee_count: i32,
    entity_type: String,
}

pub async fn run(service: &TableService) -> Result<()> {
    let table = fresh(service, "Heterogeneous").await?;
    for (number, name) in [("000123", "Jones"), ("000124", "Smith")] {
        let key = format!("EMPLOYEE_{number}");
        let (department, last_name) = ("Sales".into(), name.into());
        table.insert(&Employee { department, key, last_name, entity_type: "Employee_2".into() }).await?;
    }
    let (department, key) = ("Sales".into(), "DEPARTMENT_SALES".into());
    table
        .insert(&Department { department, key, employee_count: 2, entity_type: "Department_1".into() })
        .await?;

    // PT-19: a type in the key is a range; a type in a property, with a version, is a filter.
    let by_key = partition_key().eq("Sales") & row_key().starts_with("EMPLOYEE_");
    let (employees, ran) = read(table.query::<Employee>().filter(by_key)).await?;
    assert_eq!(employees.len(), 2);
    assert_rows_read(&ran, 2);
    let by_property = partition_key().eq("Sales") & prop("EntityType").eq("Employee_2");
    let (same, ran) = read(table.query::<Employee>().filter(by_property)).await?;
    assert_eq!(same, employees);
    assert_rows_read(&ran, 3);

    // PT-20: a property bag, and a switch on the type.
    let mut told = Vec::new();
    for row in table.query::<Dynamic>().collect().await? {
        told.push(match row.get::<String>("EntityType")?.as_deref() {
            Some("Employee_2") => row.get::<String>("LastName")?.unwrap_or_default(),
            Some("Department_1") => format!("{:?}", row.get::<i32>("EmployeeCount")?),
            _ => "unknown".to_owned(),
        });
    }
    assert_eq!(told, ["Some(2)", "Jones", "Smith"]);

    resolvers(&table).await?;

    // PT-22: if the entity has a count of employees, whatever its type, increment it.
    let mut bag = table.get::<Dynamic>("Sales", "DEPARTMENT_SALES").await?;
    if let Some(count) = bag.value.get::<i32>("EmployeeCount")? {
        bag.value.set("EmployeeCount", count + 1)?;
        table.merge_if(&bag.value, &bag.etag).await?;
    }
    assert_eq!(table.get::<Department>("Sales", "DEPARTMENT_SALES").await?.value.employee_count, 3);
    table.delete().await
}

/// PT-21: a resolver determines the type of each row by its `EntityType`; an unknown type is an error. It is a
/// closure over the row with its keys, ETag and time, or the `decode` of a type.
async fn resolvers(table: &Table) -> Result<()> {
    let resolve = |row: Versioned<Dynamic>| -> Result<Resolved> {
        let Dynamic { partition_key: department, row_key: key, props, .. } = row.value;
        let entity_type = props.get::<String>("EntityType")?.unwrap_or_default();
        Ok(match entity_type.as_str() {
            "Employee_2" => {
                let last_name = props.get("LastName")?.unwrap_or_default();
                Resolved::Employee(Employee { department, key, last_name, entity_type })
            }
            "Department_1" => {
                let employee_count = props.get("EmployeeCount")?.unwrap_or_default();
                Resolved::Department(Department { department, key, employee_count, entity_type })
            }
            _ => return Err(Error::input(format!("'{key}' of {} is a '{entity_type}'", row.timestamp))),
        })
    };
    let by_closure = || table.query::<Versioned<Dynamic>>().map(resolve);
    let resolved: Vec<Resolved> = by_closure().collect().await?.into_iter().collect::<Result<_>>()?;
    assert!(matches!(&resolved[..], [Resolved::Department(_), Resolved::Employee(_), Resolved::Employee(_)]));
    let (decoded, ran) = read(table.query::<Resolved>()).await?;
    assert_rows_read(&ran, 3);
    assert_eq!(decoded, resolved);
    table.insert(&Dynamic::new("Sales", "ODD").with("EntityType", "Odd")?).await?;
    assert_eq!(by_closure().collect().await?.iter().filter(|row| row.is_err()).count(), 1);
    assert!(table.query::<Resolved>().collect().await.is_err());
    Ok(())
}

/// PT-21: the result of a resolver. If the types have a kind, a derived enum does all of this.
#[derive(Debug, PartialEq)]
enum Resolved {
    Employee(Employee),
    Department(Department),
}

impl Entity for Resolved {
    fn partition_key(&self) -> std::borrow::Cow<'_, str> {
        match self {
            Resolved::Employee(employee) => Entity::partition_key(employee),
            Resolved::Department(department) => Entity::partition_key(department),
        }
    }

    fn row_key(&self) -> std::borrow::Cow<'_, str> {
        match self {
            Resolved::Employee(employee) => Entity::row_key(employee),
            Resolved::Department(department) => Entity::row_key(department),
        }
    }

    fn write(&self, out: &mut Writer) -> Result<()> {
        match self {
            Resolved::Employee(employee) => employee.write(out),
            Resolved::Department(department) => department.write(out),
        }
    }

    fn decode(raw: &RawEntity<'_>) -> std::result::Result<Self, DecodeError> {
        let entity_type = raw.member("EntityType").and_then(|value| String::from_value(value).ok());
        match entity_type.as_deref() {
            Some("Employee_2") => Employee::decode(raw).map(Resolved::Employee),
            Some("Department_1") => Department::decode(raw).map(Resolved::Department),
            _ => Err(DecodeError::unknown("EntityType")),
        }
    }

    fn value_of(&self, name: &str) -> Option<Value> {
        match self {
            Resolved::Employee(employee) => employee.value_of(name),
            Resolved::Department(department) => department.value_of(name),
        }
    }
}
