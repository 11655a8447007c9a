//! Creates shared access signatures for a table or for the account.

use lazuli_model::{DateTime, Permissions, Service, TableName};
use lazuli_protocol::auth::sas::Token;

use super::{Account, Credential};
use crate::error::{Error, Result};

/// Version with which signatures are created.
const VERSION: &str = "2019-02-02";

/// Terms of a shared access signature: either `expiry` and `permissions`, or a stored `policy` that has them.
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
    /// Start of validity.
    pub start: Option<DateTime>,
    /// End of validity.
    pub expiry: Option<DateTime>,
    /// Permissions: letters from `raud` for a table, from `rwdlacu` for an account.
    pub permissions: String,
    /// The stored access policy that supplies missing terms, for a table only.
    pub policy: Option<String>,
    /// The first keys, for a table only: PartitionKey, and optionally RowKey.
    pub from: Option<(String, Option<String>)>,
    /// The last keys, for a table only.
    pub to: Option<(String, Option<String>)>,
    /// Client address or range of addresses, such as `10.0.0.1-10.0.0.9`.
    pub addresses: Option<String>,
    /// Allowed protocols.
    pub protocol: SasProtocol,
}

/// Protocols that a signature allows.
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
    /// Not specified, which means both.
    #[default]
    Unsaid,
    /// `https` only.
    Https,
    /// Both.
    HttpsAndHttp,
}

impl SasOptions {
    fn token(&self, known: &str) -> Result<Token> {
        if Permissions::parse(&self.permissions, known).is_none() {
            return Err(Error::input(format!("invalid permissions; expected letters from '{known}'")));
        }
        if self.policy.is_none() && (self.expiry.is_none() || self.permissions.is_empty()) {
            return Err(Error::input("a signature without a policy needs an expiry and permissions"));
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
    /// A signature for one table, to be appended to its URLs as a query string.
    ///
    /// ```
    /// # lazuli_embedded::doc_test(|service| async move {
    /// # use lazuli_client::{Credential, DateTime, Dynamic, SasOptions};
    /// let people = service.create_table("People").await?;
    /// people.insert(&Dynamic::new("Delft", "Jan")).await?;
    /// people.insert(&Dynamic::new("Leiden", "Eva")).await?;
    /// // Read access to one partition until the expiry.
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
        let table = TableName::new(table).map_err(|_| Error::input("invalid table name"))?;
        let mut token = options.token(Service::Table.permission_letters())?;
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

    /// A signature for the account's tables: for service, table and entity operations.
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
            return Err(Error::input("an account signature cannot have a policy or a range of keys"));
        }
        let mut token = options.token("rwdlacu")?;
        (token.ss, token.srt) = ("t".into(), "sco".into());
        self.sign_token(token)
    }

    fn sign_token(&self, mut token: Token) -> Result<String> {
        let (Credential::Key { key, .. }, Some(name)) = (self.credential(), self.name()) else {
            return Err(Error::input("creating a signature requires the name and a key of the account"));
        };
        if token.sign(name, key) {
            Ok(token.to_query())
        } else {
            Err(Error::input("these permissions, times or keys are not valid for tables"))
        }
    }
}

#[cfg(test)]
mod tests {
    use lazuli_protocol::auth::sas::Kind;
    use lazuli_protocol::auth::{AccountKey, DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY};
    use lazuli_protocol::http::query::Query;

    use super::*;

    fn options() -> SasOptions {
        SasOptions {
            expiry: DateTime::parse("2030-01-01T00:00:00Z"),
            permissions: "r".into(),
            ..SasOptions::default()
        }
    }

    #[test]
    fn signatures_verify() {
        let account = Account::development();
        let keys = [AccountKey::from_base64(DEVELOPMENT_KEY).unwrap()];
        let narrow =
            SasOptions { from: Some(("a".into(), Some("1".into()))), policy: Some("p".into()), ..options() };
        for (text, kind) in [
            (account.table_sas("People", &options()), Kind::Service(lazuli_model::Service::Table)),
            (account.table_sas("People", &narrow), Kind::Service(lazuli_model::Service::Table)),
            (account.account_sas(&options()), Kind::Account),
        ] {
            let text = text.unwrap();
            let token = Token::parse(Query(&text)).unwrap();
            let signed = token.check_signature(DEVELOPMENT_ACCOUNT, &keys).unwrap();
            assert_eq!(signed.kind, kind, "{text}");
        }
    }

    #[test]
    fn invalid_terms() {
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
