//! Signs requests with an account's key, for any service.

use lazuli_model::{DateTime, Service};
use lazuli_protocol::Head;
use lazuli_protocol::auth::{self, AccountKey, DEVELOPMENT_ACCOUNT, DEVELOPMENT_KEY, Scheme};
use lazuli_protocol::http::head::Field;

use crate::Request;

/// An account, its key, and the service of the requests.
#[derive(Clone, Debug)]
pub struct Signer {
    service: Service,
    account: String,
    key: AccountKey,
}

impl Signer {
    /// Signs for an account.
    pub fn new(service: Service, account: impl Into<String>, key: AccountKey) -> Self {
        Self { service, account: account.into(), key }
    }

    /// Signs for the well-known account of development servers.
    pub fn development(service: Service) -> Self {
        let key = AccountKey::from_base64(DEVELOPMENT_KEY).expect("the well-known key is Base64");
        Self::new(service, DEVELOPMENT_ACCOUNT, key)
    }

    /// The account.
    pub fn account(&self) -> &str {
        &self.account
    }

    /// Announces the length of the body, adds the date unless there is one, and signs. A request that cannot be signed
    /// (because its target is not a URL) stays unsigned.
    ///
    /// Tables use Shared Key Lite, which signs few fields and is cheap; Blob and Queue use Shared Key.
    pub fn sign(&self, request: &mut Request, now: DateTime) {
        let scheme = if self.service == Service::Table { Scheme::SharedKeyLite } else { Scheme::SharedKey };
        self.sign_as(scheme, request, now);
    }

    /// Like `sign`, with a chosen scheme.
    pub fn sign_as(&self, scheme: Scheme, request: &mut Request, now: DateTime) {
        request.announce_length();
        if request.header("x-ms-date").is_none() && request.header("Date").is_none() {
            request.headers.push(("x-ms-date".into(), now.http().as_str().to_owned().into()));
        }
        let fields: Vec<Field<'_>> =
            request.headers.iter().map(|(name, value)| Field { name, value }).collect();
        let head = Head { method: &request.method, target: &request.target, fields: &fields };
        if let Ok(value) = auth::authorize(self.service, scheme, &self.account, &self.key, &head) {
            request.headers.push(("Authorization".into(), value.into()));
        }
    }
}

#[cfg(test)]
mod tests {
    use lazuli_protocol::Address;

    use super::*;

    /// Signatures of all services and schemes are accepted by the server's verification code.
    #[test]
    fn signatures_verify() {
        let now = DateTime::parse("2026-06-15T12:00:00Z").unwrap();
        for service in Service::ALL {
            for scheme in [Scheme::SharedKey, Scheme::SharedKeyLite] {
                let signer = Signer::development(service);
                let target = format!("/{}/things/a%20b?comp=metadata&x=1", signer.account());
                let request = Request::new("PUT", target).with("Host", "127.0.0.1");
                let mut request =
                    request.with("x-ms-version", "2021-08-06").with("x-ms-meta-a", "b").body("abc");
                signer.sign_as(scheme, &mut request, now);
                let fields: Vec<_> =
                    request.headers.iter().map(|(name, value)| Field { name, value }).collect();
                let head = Head { method: &request.method, target: &request.target, fields: &fields };
                let address = Address::parse(&head, service, |_| true).unwrap();
                let credential = auth::credential(&head).unwrap().unwrap();
                let keys = [AccountKey::from_base64(DEVELOPMENT_KEY).unwrap()];
                auth::verify(service, &head, &address, &credential, &keys, now).unwrap();
                assert_eq!(credential.scheme, scheme);
            }
        }
    }
}
