//! Makes shared access signatures, for a table or for the account.

use lazuli_model::{DateTime, Permissions, TableName};
use lazuli_protocol::auth::sas::Token;

use super::{Account, Credential};
use crate::error::{Error, Result};

/// The version by which tokens are signed.
const VERSION: &str = "2019-02-02";

/// The terms of a shared access signature. Either `expiry` and `permissions`, or a stored `policy` that has them.
///
/// ```
/// use lazuli_client::{Account, DateTime, SasOptions};
///
/// let account = Account::development();
/// let token = account.table_sas("People", &SasOptions {
///     expiry: DateTime::parse("2030-01-01T00:00:00Z"),
///     permissions: "r".into(),
///     ..SasOptions::default()
/// })?;
/// assert!(token.contains("tn=People") && token.contains("sig="));
/// # Ok::<(), lazuli_client::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SasOptions {
    /// Not before.
    pub start: Option<DateTime>,
    /// Not after.
    pub expiry: Option<DateTime>,
    /// What is allowed: letters of `raud` for a table; of `rwdlacu` for an account.
    pub permissions: String,
    /// The stored access policy that completes the token of a table.
    pub policy: Option<String>,
    /// The first keys of a table's token: PartitionKey, perhaps RowKey.
    pub from: Option<(String, Option<String>)>,
    /// The last keys of a table's token.
    pub to: Option<(String, Option<String>)>,
    /// The address or range of addresses that it may come from, such as `10.0.0.1-10.0.0.9`.
    pub addresses: Option<String>,
    /// The protocols that it may come by.
    pub protocol: SasProtocol,
}

/// The protocols that a token may come by.
///
/// ```
/// use lazuli_client::{Account, DateTime, SasOptions, SasProtocol};
///
/// let expiry = DateTime::parse("2030-01-01T00:00:00Z");
/// let protocol = SasProtocol::Https;
/// let options = SasOptions { expiry, permissions: "r".into(), protocol, ..SasOptions::default() };
/// assert!(Account::development().table_sas("People", &options)?.contains("spr=https&"));
/// # Ok::<(), lazuli_client::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SasProtocol {
    /// Nothing is said, so both.
    #[default]
    Unsaid,
    /// Only `https`.
    Https,
    /// Both.
    HttpsAndHttp,
}

impl SasOptions {
    fn token(&self, known: &str) -> Result<Token> {
        if Permissions::parse(&self.permissions, known).is_none() {
            return Err(Error::input(format!("permissions are letters of '{known}'")));
        }
        if self.policy.is_none() && (self.expiry.is_none() || self.permissions.is_empty()) {
            return Err(Error::input("a token without policy needs an expiry and permissions"));
        }
        let time =
            |time: Option<DateTime>| time.map(|t| t.iso_seconds().as_str().to_owned()).unwrap_or_default();
        Ok(Token {
            sv: VERSION.into(),
            sp: self.permissions.clone(),
            st: time(self.start),
            se: time(self.expiry),
            sip: self.addresses.clone().unwrap_or_default(),
            spr: match self.protocol {
                SasProtocol::Unsaid => String::new(),
                SasProtocol::Https => "https".into(),
                SasProtocol::HttpsAndHttp => "https,http".into(),
            },
            ..Token::default()
        })
    }
}

impl Account {
    /// A token for one table, to be added to its URLs as their query.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::{Credential, DateTime, Dynamic, SasOptions};
    /// let people = service.create_table("People").await?;
    /// people.insert(&Dynamic::new("Delft", "Jan")).await?;
    /// people.insert(&Dynamic::new("Leiden", "Eva")).await?;
    /// // One partition to read, until then.
    /// let token = service.account().table_sas("People", &SasOptions {
    ///     expiry: DateTime::parse("2100-01-01T00:00:00Z"),
    ///     permissions: "r".into(),
    ///     from: Some(("Delft".into(), None)),
    ///     to: Some(("Delft".into(), None)),
    ///     ..SasOptions::default()
    /// })?;
    /// let account = service.account().clone().with_credential(Credential::sas(&token)?);
    /// let guest = service.with_account(account).table("People")?;
    /// assert!(guest.get::<Dynamic>("Delft", "Jan").await.is_ok());
    /// assert!(guest.get::<Dynamic>("Leiden", "Eva").await.is_err());
    /// # Ok(()) })
    /// ```
    pub fn table_sas(&self, table: &str, options: &SasOptions) -> Result<String> {
        let table = TableName::new(table).map_err(|_| Error::input("this is not the name of a table"))?;
        let mut token = options.token(Permissions::OF_TABLES)?;
        token.tn = table.as_str().to_owned();
        token.si = options.policy.clone().unwrap_or_default();
        let keys = |place: &Option<(String, Option<String>)>| match place {
            Some((partition, row)) => (partition.clone(), row.clone().unwrap_or_default()),
            None => Default::default(),
        };
        (token.spk, token.srk) = keys(&options.from);
        (token.epk, token.erk) = keys(&options.to);
        self.sign_token(token)
    }

    /// A token for the account's tables: for the service, for tables, and for entities.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::{Credential, DateTime, SasOptions};
    /// let expiry = DateTime::parse("2100-01-01T00:00:00Z");
    /// let lister = SasOptions { expiry, permissions: "rl".into(), ..SasOptions::default() };
    /// let token = service.account().account_sas(&lister)?;
    /// let guest = service.with_account(service.account().clone().with_credential(Credential::sas(&token)?));
    /// assert!(guest.table_names().await?.is_empty());
    /// assert_eq!(guest.create_table("People").await.err().and_then(|error| error.status()), Some(403));
    /// # Ok(()) })
    /// ```
    pub fn account_sas(&self, options: &SasOptions) -> Result<String> {
        if options.policy.is_some() || options.from.is_some() || options.to.is_some() {
            return Err(Error::input("a token of an account has no policy and no range of keys"));
        }
        let mut token = options.token("rwdlacu")?;
        (token.ss, token.srt) = ("t".into(), "sco".into());
        self.sign_token(token)
    }

    fn sign_token(&self, mut token: Token) -> Result<String> {
        let (Credential::Key { key, .. }, Some(name)) = (self.credential(), self.name()) else {
            return Err(Error::input("signing a token needs the name and the key of the account"));
        };
        if token.sign(name, key) {
            Ok(token.to_query())
        } else {
            Err(Error::input("this is no token for tables"))
        }
    }
}

#[cfg(test)]
mod tests {
    use lazuli_protocol::address::Query;
    use lazuli_protocol::auth::sas::Kind;
    use lazuli_protocol::auth::{AccountKey, DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY};

    use super::*;

    fn options() -> SasOptions {
        SasOptions {
            expiry: DateTime::parse("2030-01-01T00:00:00Z"),
            permissions: "r".into(),
            ..SasOptions::default()
        }
    }

    #[test]
    fn tokens_verify() {
        let account = Account::development();
        let keys = [AccountKey::from_base64(DEVELOPMENT_KEY).unwrap()];
        let narrow =
            SasOptions { from: Some(("a".into(), Some("1".into()))), policy: Some("p".into()), ..options() };
        for (text, kind) in [
            (account.table_sas("People", &options()), Kind::Table),
            (account.table_sas("People", &narrow), Kind::Table),
            (account.account_sas(&options()), Kind::Account),
        ] {
            let text = text.unwrap();
            let token = Token::parse(Query(&text)).unwrap();
            assert_eq!(token.check_signature(DEVELOPMENT_ACCOUNT, &keys), Ok(kind), "{text}");
        }
    }

    #[test]
    fn terms_that_cannot_be() {
        let account = Account::development();
        assert!(account.table_sas("x", &options()).is_err());
        assert!(account.table_sas("People", &SasOptions { permissions: "w".into(), ..options() }).is_err());
        assert!(account.table_sas("People", &SasOptions { expiry: None, ..options() }).is_err());
        assert!(account.account_sas(&narrowed()).is_err());
        let stranger = account.with_credential(Credential::Anonymous);
        assert!(stranger.account_sas(&options()).is_err());
    }

    fn narrowed() -> SasOptions {
        SasOptions { to: Some(("a".into(), None)), ..options() }
    }
}
