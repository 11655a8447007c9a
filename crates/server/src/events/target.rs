//! Where events go.

use std::fmt;
use std::str::FromStr;

use lazuli_model::queue::QueueName;
use lazuli_service::accounts::is_account_name;
use lazuli_service::blob::EnabledFor;

use crate::outbound::OutboundUrl;

/// The target of events: `queue:NAME` or the URL of a webhook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EventTarget {
    /// To a queue in the account of the blob.
    Queue(QueueName),
    /// To a web server, as a POST.
    Webhook(Webhook),
}

/// A target for the events of some accounts: `TARGET` for all, `ACCOUNT=TARGET` for one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// The account; `None` for all accounts without their own route.
    pub account: Option<String>,
    /// The target.
    pub target: EventTarget,
}

impl Route {
    /// The accounts whose events this route delivers.
    pub fn accounts(&self) -> EnabledFor {
        self.account.clone().map_or(EnabledFor::All, |account| EnabledFor::Accounts(vec![account]))
    }
}

/// The routes in the order in which they are tried: those of single accounts first.
pub fn ordered(routes: &[Route]) -> Vec<Route> {
    let mut ordered = routes.to_vec();
    ordered.sort_by_key(|route| route.account.is_none());
    ordered
}

/// The first route whose accounts are already covered by an earlier route.
pub fn repeated(routes: &[Route]) -> Option<&Route> {
    let is_known = |(index, route): &(usize, &Route)| {
        routes[..*index].iter().any(|before| before.account == route.account)
    };
    routes.iter().enumerate().find(is_known).map(|(_, route)| route)
}

impl FromStr for Route {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // A URL may contain `=`, but not before its first colon.
        match text.split_once('=') {
            Some((account, target)) if !account.contains(':') => {
                if !is_account_name(account) {
                    return Err(format!(
                        "{account:?} is not an account name: 3 to 24 lower-case letters and digits"
                    ));
                }
                Ok(Self { account: Some(account.to_owned()), target: target.parse()? })
            }
            _ => Ok(Self { account: None, target: text.parse()? }),
        }
    }
}

/// The address of a webhook. Its query may contain a secret, so it is not shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Webhook(pub(crate) OutboundUrl);

impl fmt::Debug for Webhook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for EventTarget {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(name) = text.strip_prefix("queue:") {
            let name = QueueName::new(name).map_err(|error| format!("{name:?} is not a queue: {error}"))?;
            return Ok(EventTarget::Queue(name));
        }
        let url =
            text.parse().map_err(|_| "expected queue:NAME or a URL such as https://example.org/hook")?;
        Ok(EventTarget::Webhook(Webhook(url)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets() {
        assert!(matches!("queue:events".parse(), Ok(EventTarget::Queue(_))));
        let webhook: EventTarget = "https://example.org/hook?code=secret".parse().unwrap();
        assert_eq!(format!("{webhook:?}"), "Webhook(https://example.org:443/hook)");
        for bad in ["", "queue:", "queue:A", "events", "ftp://example.org/", "https://u@example.org/"] {
            assert!(bad.parse::<EventTarget>().is_err(), "{bad}");
        }
    }

    #[test]
    fn routes() {
        let route = |text: &str| text.parse::<Route>().unwrap();
        assert_eq!(route("shop=queue:events").account.as_deref(), Some("shop"));
        assert_eq!(route("shop=https://h/hook?code=x").target, "https://h/hook?code=x".parse().unwrap());
        assert_eq!(route("https://h/hook?code=x").account, None);
        assert_eq!(route("queue:events").account, None);
        for bad in ["", "=queue:events", "Shop=queue:events", "a-b=queue:events", "shop=", "shop=events"] {
            assert!(bad.parse::<Route>().is_err(), "{bad}");
        }
        let given = ["queue:one", "shop=queue:two", "blog=queue:three"].map(route);
        let accounts: Vec<_> = ordered(&given).into_iter().map(|route| route.account).collect();
        assert_eq!(accounts, [Some("shop".into()), Some("blog".into()), None]);
        assert_eq!(repeated(&given), None);
        let twice = ["shop=queue:one", "queue:two", "shop=queue:three"].map(route);
        assert_eq!(repeated(&twice), Some(&twice[2]));
        let twice = ["queue:one", "queue:two"].map(route);
        assert_eq!(repeated(&twice), Some(&twice[1]));
    }
}
