//! SA-05: every user has a partition, and a token for that partition only. The application issues it and is not
//! involved again: the user reads and writes without it, and cannot reach the data of others.

use lazuli_client::{Credential, DateTime, Dynamic, Result, SasOptions, Table, TableService};

use super::shared::{fresh, read};

pub async fn run(service: &TableService) -> Result<()> {
    let table = fresh(service, "OwnPartition").await?;
    for user in ["ann", "bob"] {
        table.insert(&Dynamic::new(user, "profile").with("Mail", format!("{user}@contoso.com"))?).await?;
    }
    let bob = opened_with(service, &table, &token_of(service, &table, "bob")?)?;
    bob.insert(&Dynamic::new("bob", "note").with("Text", "mine")?).await?;
    assert_eq!(
        bob.get::<Dynamic>("bob", "note").await?.value.get::<String>("Text")?.as_deref(),
        Some("mine")
    );

    // A query returns all of the user's rows; rows of others are not even read. (Azurite ignores the key range.)
    let (rows, ran) = read(bob.query::<Dynamic>()).await?;
    if let Some(rows_read) = ran.rows_read {
        assert_eq!((rows.len(), rows_read), (2, 2), "{ran}");
        let strange = bob.get::<Dynamic>("ann", "profile").await;
        assert!(strange.is_err_and(|error| matches!(error.status(), Some(403 | 404))));
        let planted = bob.insert(&Dynamic::new("ann", "note")).await;
        assert!(planted.is_err_and(|error| error.status() == Some(403)));
    }
    table.delete().await
}

/// The token that the application issues to a user who has signed in. A real one expires within the hour and is renewed.
fn token_of(service: &TableService, table: &Table, user: &str) -> Result<String> {
    let own = Some((user.to_owned(), None));
    let terms = SasOptions {
        expiry: DateTime::parse("2100-01-01T00:00:00Z"),
        permissions: "raud".into(),
        from: own.clone(),
        to: own,
        ..SasOptions::default()
    };
    service.account().table_sas(table.name(), &terms)
}

/// The user's program, which has no account key.
fn opened_with(service: &TableService, table: &Table, token: &str) -> Result<Table> {
    let account = service.account().clone().with_credential(Credential::sas(token)?);
    service.with_account(account).table(table.name())
}
