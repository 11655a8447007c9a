//! Accounts from connection strings: `Name=value;…`, as the portal and the emulators print them.

use lazuli_model::Service;
use lazuli_protocol::ConnectionString;
use lazuli_protocol::connection_string::{ConnectionStringError, Secret};

use super::{Account, Credential};
use crate::error::{Error, Result};

/// Parses a connection string.
pub(super) fn parse(text: &str) -> Result<Account> {
    let parsed = ConnectionString::parse(text).map_err(invalid)?;
    let credential = match parsed.secret().map_err(invalid)? {
        Secret::Key(key) => Credential::shared_key(key)?,
        Secret::Signature(token) => Credential::sas(token)?,
        Secret::None => Credential::Anonymous,
    };
    let endpoints = parsed.endpoints(Service::Table).map_err(invalid)?;
    let primary = endpoints.primary.parse()?;
    let secondary = endpoints.secondary.map(|url| url.parse()).transpose()?;
    Ok(Account { name: parsed.account().map(str::to_owned), primary, secondary, credential })
}

fn invalid(error: ConnectionStringError) -> Error {
    Error::input(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Endpoint;

    #[track_caller]
    fn check(text: &str, name: Option<&str>, primary: &str, secondary: Option<&str>, credential: &str) {
        let account: Account = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(account.name(), name, "{text}");
        assert_eq!(account.endpoint().as_str(), primary, "{text}");
        assert_eq!(account.secondary().map(Endpoint::as_str), secondary, "{text}");
        assert_eq!(format!("{:?}", account.credential()), credential, "{text}");
    }

    #[test]
    fn connection_strings_of_the_portal_and_the_emulators() {
        let dev = "http://127.0.0.1:10002/devstoreaccount1";
        let dev_secondary = "http://127.0.0.1:10002/devstoreaccount1-secondary";
        let lite = "Key(SharedKeyLite)";
        let name = Some("devstoreaccount1");
        check("UseDevelopmentStorage=true", name, dev, Some(dev_secondary), lite);
        check(" usedevelopmentstorage = TRUE ; ", name, dev, Some(dev_secondary), lite);
        check(
            "UseDevelopmentStorage=true;DevelopmentStorageProxyUri=http://emulator/",
            name,
            "http://emulator:10002/devstoreaccount1",
            Some("http://emulator:10002/devstoreaccount1-secondary"),
            lite,
        );
        check(
            "UseDevelopmentStorage=true;DevelopmentStorageProxyUri=http://[::1]:8080",
            name,
            "http://[::1]:10002/devstoreaccount1",
            Some("http://[::1]:10002/devstoreaccount1-secondary"),
            lite,
        );
        check(
            "DefaultEndpointsProtocol=https;AccountName=abc;AccountKey=YWJj;EndpointSuffix=core.windows.net",
            Some("abc"),
            "https://abc.table.core.windows.net",
            Some("https://abc-secondary.table.core.windows.net"),
            lite,
        );
        check(
            "AccountName=abc;AccountKey=YWI=;TableEndpoint=http://h:1/abc;BlobEndpoint=http://h:2/abc",
            Some("abc"),
            "http://h:1/abc",
            None,
            lite,
        );
        check(
            "TableEndpoint=https://h/;TableSecondaryEndpoint=https://s/;SharedAccessSignature=sv=2019-02-02&sig=x%3D",
            None,
            "https://h",
            Some("https://s"),
            "Sas(…)",
        );
    }

    #[test]
    fn errors_name_the_problem_and_no_secret() {
        for (text, says) in [
            ("", "neither"),
            ("x", "Name=value"),
            ("DefaultEndpointsProtocol=https", "neither an endpoint nor an AccountName"),
            ("BlobEndpoint=http://h/a", "neither TableEndpoint nor AccountName"),
            ("AccountName=abc", "neither an AccountKey nor a SharedAccessSignature"),
            ("AccountName=abc;AcountKey=secret==", "AcountKey"),
            ("AccountName=abc;AccountKey=!secret!", "not valid Base64"),
            ("AccountKey=YWJj;TableEndpoint=http://h/a", "no AccountName"),
            ("AccountName=a;AccountName=b", "duplicate"),
            ("AccountName=a;AccountKey=YWJj;SharedAccessSignature=sig=x", "both"),
            ("AccountName=a;SharedAccessSignature=secret", "'sig' is missing"),
            ("TableEndpoint=nonsense", "must start with http"),
            (
                "UseDevelopmentStorage=true;TableEndpoint=http://h/a",
                "both UseDevelopmentStorage and 'TableEndpoint'",
            ),
            ("UseDevelopmentStorage=true;AccountKey=secret", "both UseDevelopmentStorage and 'AccountKey'"),
            ("AccountName=a;SharedAccessSignature=sig=a secret", "characters that are not valid in a URL"),
        ] {
            let error = text.parse::<Account>().expect_err(text).to_string();
            assert!(error.contains(says), "{text}: {error}");
            assert!(!error.contains("secret"), "{text}: {error}");
        }
    }
}
