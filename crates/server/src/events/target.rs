//! Where events go.

use std::fmt;
use std::str::FromStr;

use lazuli_model::queue::QueueName;

use crate::outbound::Url;

/// Where events go: `queue:NAME` or the URL of a webhook.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// To a queue in the account of the blob.
    Queue(QueueName),
    /// To a web server, as a POST.
    Webhook(Webhook),
}

/// The address of a webhook. Its query may contain a secret, so it is not shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Webhook(pub(crate) Url);

impl fmt::Debug for Webhook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(name) = text.strip_prefix("queue:") {
            let name = QueueName::new(name).map_err(|error| format!("{name:?} is not a queue: {error}"))?;
            return Ok(Target::Queue(name));
        }
        let url =
            text.parse().map_err(|_| "expected queue:NAME or a URL such as https://example.org/hook")?;
        Ok(Target::Webhook(Webhook(url)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets() {
        assert!(matches!("queue:events".parse(), Ok(Target::Queue(_))));
        let webhook: Target = "https://example.org/hook?code=secret".parse().unwrap();
        assert_eq!(format!("{webhook:?}"), "Webhook(https://example.org:443/hook)");
        for bad in ["", "queue:", "queue:A", "events", "ftp://example.org/", "https://u@example.org/"] {
            assert!(bad.parse::<Target>().is_err(), "{bad}");
        }
    }
}
