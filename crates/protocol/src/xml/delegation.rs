//! User delegation keys as documents: the requested period, and the issued key.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lazuli_model::{DateTime, Failure, KeyPeriod, Service, UserDelegationKey};

use super::tree::Element;
use super::{document, invalid, leaf, nest};
use crate::http::response::{Context, Response};

/// Reads the period for which a key is requested.
pub fn decode(body: &[u8]) -> Result<KeyPeriod, Failure> {
    let root = Element::parse(body, "KeyInfo")?;
    root.only(&["Start", "Expiry"])?;
    let time = |name| -> Result<Option<DateTime>, Failure> {
        root.filled(name)?.map(|text| DateTime::parse(text).ok_or_else(invalid)).transpose()
    };
    Ok(KeyPeriod { start: time("Start")?, expiry: time("Expiry")?.ok_or_else(invalid)? })
}

/// The response with a key.
pub fn response(service: Service, context: &Context, key: &UserDelegationKey) -> Response {
    document(|out| {
        nest(out, "UserDelegationKey", |out| {
            leaf(out, "SignedOid", &key.object_id);
            leaf(out, "SignedTid", &key.tenant_id);
            leaf(out, "SignedStart", key.start.iso_seconds().as_str());
            leaf(out, "SignedExpiry", key.expiry.iso_seconds().as_str());
            leaf(out, "SignedService", service.sas_letter().encode_utf8(&mut [0; 4]));
            leaf(out, "SignedVersion", &context.version.text());
            leaf(out, "Value", &STANDARD.encode(key.value));
        });
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ApiVersion;
    use crate::http::url::Base;

    #[test]
    fn periods() {
        let time = |text| DateTime::parse(text).unwrap();
        let read = |text: &str| decode(text.as_bytes());
        assert_eq!(
            read(
                "<KeyInfo><Start>2026-01-01T00:00:00Z</Start><Expiry>2026-01-02T00:00:00Z</Expiry></KeyInfo>"
            ),
            Ok(KeyPeriod { start: Some(time("2026-01-01")), expiry: time("2026-01-02") })
        );
        assert_eq!(
            read("<KeyInfo><Expiry>2026-01-02</Expiry><Start/></KeyInfo>"),
            Ok(KeyPeriod { start: None, expiry: time("2026-01-02") })
        );
        for bad in ["", "<KeyInfo/>", "<KeyInfo><Expiry>soon</Expiry></KeyInfo>", "<Key/>"] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn keys() {
        let context = Context {
            account: "dev".into(),
            base: Base::default(),
            now: DateTime::MIN,
            request_id: String::new(),
            version: ApiVersion::V2020_12_06,
        };
        let key = UserDelegationKey {
            object_id: "oid".into(),
            tenant_id: "tid".into(),
            start: DateTime::parse("2026-01-01T00:00:00Z").unwrap(),
            expiry: DateTime::parse("2026-01-02T00:00:00Z").unwrap(),
            value: [0; 32],
        };
        let response = response(Service::Queue, &context, &key);
        let text = String::from_utf8(response.body).unwrap();
        assert!(text.ends_with(
            "<UserDelegationKey><SignedOid>oid</SignedOid><SignedTid>tid</SignedTid><SignedStart>2026-01-01T00:00:00Z</SignedStart><SignedExpiry>2026-01-02T00:00:00Z</SignedExpiry><SignedService>q</SignedService><SignedVersion>2020-12-06</SignedVersion><Value>AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=</Value></UserDelegationKey>"
        ));
    }
}
