//! Connection strings: `Name=value;…`, as the portal and the emulators hand them out.

use lazuli_protocol::auth::DEVELOPMENT_ACCOUNT;

use super::{Account, Credential, Endpoint};
use crate::error::{Error, Result};

const SUFFIX: &str = "core.windows.net";

/// What a connection string may say; that of other services is read over.
const NAMES: [&str; 15] = [
    "UseDevelopmentStorage",
    "DevelopmentStorageProxyUri",
    "DefaultEndpointsProtocol",
    "AccountName",
    "AccountKey",
    "EndpointSuffix",
    "TableEndpoint",
    "TableSecondaryEndpoint",
    "SharedAccessSignature",
    "BlobEndpoint",
    "BlobSecondaryEndpoint",
    "QueueEndpoint",
    "QueueSecondaryEndpoint",
    "FileEndpoint",
    "FileSecondaryEndpoint",
];

/// What would be passed over beside `UseDevelopmentStorage`, which says all of it.
const OF_OTHER_ACCOUNTS: [&str; 5] =
    ["AccountName", "AccountKey", "TableEndpoint", "TableSecondaryEndpoint", "SharedAccessSignature"];

/// Reads a connection string.
pub(super) fn parse(text: &str) -> Result<Account> {
    let settings = Settings::parse(text)?;
    if settings.get("UseDevelopmentStorage").is_some_and(|value| value.eq_ignore_ascii_case("true")) {
        if let Some(name) = OF_OTHER_ACCOUNTS.iter().find(|name| settings.get(name).is_some()) {
            let text = format!("the connection string says both UseDevelopmentStorage and '{name}'");
            return Err(Error::input(text));
        }
        return match settings.get("DevelopmentStorageProxyUri") {
            Some(proxy) => {
                // Of the proxy's URL only scheme and host count, as in the original's libraries: the port is the emulator's.
                let proxy: Endpoint = proxy.parse()?;
                let (scheme, host) =
                    (if proxy.is_https() { "https" } else { "http" }, proxy.bracketed_host());
                Account::development_at(&format!("{scheme}://{host}:10002/{DEVELOPMENT_ACCOUNT}"))
            }
            None => Ok(Account::development()),
        };
    }
    let credential = settings.credential()?;
    let (primary, secondary) = settings.endpoints()?;
    let name = settings.get("AccountName").map(str::to_owned);
    if matches!(credential, Credential::Key { .. }) && name.is_none() {
        return Err(Error::input("the connection string has an AccountKey and no AccountName"));
    }
    Ok(Account { name, primary, secondary, credential })
}

struct Settings<'a>(Vec<(&'static str, &'a str)>);

impl<'a> Settings<'a> {
    fn parse(text: &'a str) -> Result<Self> {
        let mut settings = Vec::new();
        for entry in text.split(';').map(str::trim).filter(|entry| !entry.is_empty()) {
            // The entry is not shown: it may be the key.
            let (name, value) = entry.split_once('=').ok_or_else(|| {
                Error::input("the connection string has an entry that is not of the form Name=value")
            })?;
            let known = NAMES.iter().find(|known| known.eq_ignore_ascii_case(name.trim()));
            let name = known.ok_or_else(|| {
                Error::input(format!("the connection string says '{}', which means nothing", name.trim()))
            })?;
            if settings.iter().any(|(given, _)| given == name) {
                return Err(Error::input(format!("the connection string says '{name}' twice")));
            }
            settings.push((*name, value.trim()));
        }
        Ok(Self(settings))
    }

    fn get(&self, name: &str) -> Option<&'a str> {
        self.0.iter().find(|(given, value)| *given == name && !value.is_empty()).map(|(_, value)| *value)
    }

    fn credential(&self) -> Result<Credential> {
        match (self.get("AccountKey"), self.get("SharedAccessSignature")) {
            (Some(key), None) => Credential::shared_key(key),
            (None, Some(token)) => Credential::sas(token),
            // Whoever names an endpoint may have a proxy there that signs; nobody wants to be nobody in the cloud.
            (None, None) if self.get("TableEndpoint").is_some() => Ok(Credential::Anonymous),
            (None, None) if self.get("AccountName").is_some() => Err(Error::input(
                "the connection string has neither an AccountKey nor a SharedAccessSignature",
            )),
            (None, None) => {
                Err(Error::input("the connection string has neither TableEndpoint nor AccountName"))
            }
            (Some(_), Some(_)) => {
                Err(Error::input("the connection string has both an AccountKey and a SharedAccessSignature"))
            }
        }
    }

    /// Endpoints that are spelt out come first; else they follow from name, protocol and suffix.
    fn endpoints(&self) -> Result<(Endpoint, Option<Endpoint>)> {
        let secondary = self.get("TableSecondaryEndpoint").map(str::parse).transpose()?;
        if let Some(endpoint) = self.get("TableEndpoint") {
            return Ok((endpoint.parse()?, secondary));
        }
        let Some(name) = self.get("AccountName") else {
            return Err(Error::input("the connection string has neither TableEndpoint nor AccountName"));
        };
        let protocol = self.get("DefaultEndpointsProtocol").unwrap_or("https");
        let suffix = self.get("EndpointSuffix").unwrap_or(SUFFIX);
        let primary = format!("{protocol}://{name}.table.{suffix}").parse()?;
        let derived = format!("{protocol}://{name}-secondary.table.{suffix}").parse()?;
        Ok((primary, Some(secondary.unwrap_or(derived))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, name: Option<&str>, primary: &str, secondary: Option<&str>, credential: &str) {
        let account: Account = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(account.name(), name, "{text}");
        assert_eq!(account.endpoint().as_str(), primary, "{text}");
        assert_eq!(account.secondary().map(Endpoint::as_str), secondary, "{text}");
        assert_eq!(format!("{:?}", account.credential()), credential, "{text}");
    }

    #[test]
    fn strings_of_the_portal_and_the_emulators() {
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
    fn wrong_strings_say_what_is_wrong_and_no_secret() {
        for (text, says) in [
            ("", "neither"),
            ("x", "Name=value"),
            ("DefaultEndpointsProtocol=https", "neither TableEndpoint nor AccountName"),
            ("AccountName=abc", "neither an AccountKey nor a SharedAccessSignature"),
            ("AccountName=abc;AcountKey=secret==", "AcountKey"),
            ("AccountName=abc;AccountKey=!secret!", "not Base64"),
            ("AccountKey=YWJj;TableEndpoint=http://h/a", "no AccountName"),
            ("AccountName=a;AccountName=b", "twice"),
            ("AccountName=a;AccountKey=YWJj;SharedAccessSignature=sig=x", "both"),
            ("AccountName=a;SharedAccessSignature=secret", "no 'sig'"),
            ("TableEndpoint=nonsense", "must start with http"),
            (
                "UseDevelopmentStorage=true;TableEndpoint=http://h/a",
                "both UseDevelopmentStorage and 'TableEndpoint'",
            ),
            ("UseDevelopmentStorage=true;AccountKey=secret", "both UseDevelopmentStorage and 'AccountKey'"),
            ("AccountName=a;SharedAccessSignature=sig=a secret", "characters that no URL has"),
        ] {
            let error = text.parse::<Account>().expect_err(text).to_string();
            assert!(error.contains(says), "{text}: {error}");
            assert!(!error.contains("secret"), "{text}: {error}");
        }
    }
}
