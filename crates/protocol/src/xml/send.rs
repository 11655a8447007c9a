//! The XML documents that a client writes and reads: access policies, service properties, stats, failures.

use lazuli_model::properties::PropertiesUpdate;
use lazuli_model::{DateTime, Failure, Service, ServiceProperties, SignedIdentifier};

use super::tree::Element;
use super::{acl, invalid, nest, properties};
use crate::ApiVersion;
use crate::reply::ErrorBody;

const DECLARATION: &[u8] = b"<?xml version=\"1.0\" encoding=\"utf-8\"?>";

/// The body of Set Table ACL.
pub fn write_acl(policies: &[SignedIdentifier]) -> Vec<u8> {
    let mut out = DECLARATION.to_vec();
    acl::encode(&mut out, policies);
    out
}

/// The policies in a response to Get Table ACL.
pub fn read_acl(body: &[u8]) -> Result<Vec<SignedIdentifier>, Failure> {
    acl::decode(body, Service::Table)
}

/// The body of Set Table Service Properties; omitted settings stay unchanged.
pub fn write_properties(update: &PropertiesUpdate) -> Vec<u8> {
    let mut out = DECLARATION.to_vec();
    nest(&mut out, properties::ROOT, |out| properties::encode_update(out, update));
    out
}

/// The properties in a response to Get Table Service Properties.
pub fn read_properties(body: &[u8]) -> Result<ServiceProperties, Failure> {
    let update = properties::decode(Service::Table, body, ApiVersion::V2013_08_15)?;
    Ok(ServiceProperties::default().updated(update))
}

/// The replication state of the secondary.
///
/// ```
/// # mod lazuli_client { pub use lazuli_protocol::xml::send::Stats; }
/// use lazuli_client::Stats;
///
/// let stats = Stats { status: "bootstrap".into(), last_sync: None };
/// assert!(stats.last_sync.is_none(), "not known before the first copy is complete");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stats {
    /// `live`, `bootstrap` or `unavailable`.
    pub status: String,
    /// All writes before this moment can be read at the secondary; `None` if it is not known.
    pub last_sync: Option<DateTime>,
}

/// The stats in a response to Get Table Service Stats.
pub fn read_stats(body: &[u8]) -> Result<Stats, Failure> {
    let root = Element::parse(body, "StorageServiceStats")?;
    let replication = root.need("GeoReplication")?;
    let last_sync = replication.filled("LastSyncTime")?;
    Ok(Stats {
        status: replication.filled("Status")?.ok_or_else(invalid)?.to_owned(),
        last_sync: last_sync.and_then(|text| DateTime::parse_http(text).or_else(|| DateTime::parse(text))),
    })
}

/// A failure, with elements in any letter case: OData uses `error`, the storage services `Error`.
pub(crate) fn error_body(body: &[u8]) -> Option<ErrorBody> {
    let root = Element::parse(body, "error").or_else(|_| Element::parse(body, "Error")).ok()?;
    let text = |name: &str| {
        let found = root.children.iter().find(|child| child.name.eq_ignore_ascii_case(name));
        found.map(|child| child.text.clone())
    };
    Some(ErrorBody { code: text("code")?, message: text("message").unwrap_or_default() })
}

#[cfg(test)]
mod tests {
    use lazuli_model::AccessPolicy;
    use lazuli_model::properties::{CorsRule, DeleteRetention, Logging, Metrics, StaticWebsite};

    use super::*;

    #[test]
    fn policies_read_back() {
        let expiry = DateTime::parse("2030-01-01T00:00:00Z");
        let policy = AccessPolicy { start: None, expiry, permissions: Some("ra".into()) };
        for policies in [
            vec![],
            vec![
                SignedIdentifier { id: "<a>".into(), policy: Some(policy) },
                SignedIdentifier { id: "b".into(), policy: None },
            ],
        ] {
            assert_eq!(read_acl(&write_acl(&policies)), Ok(policies));
        }
    }

    #[test]
    fn properties_read_back() {
        let rule = CorsRule { origins: vec!["*".into()], methods: vec!["GET".into()], ..CorsRule::default() };
        let all = PropertiesUpdate {
            logging: Some(Logging { read: true, retention_days: Some(7), ..Logging::default() }),
            hour_metrics: Some(Metrics { include_apis: Some(true), retention_days: Some(1) }),
            minute_metrics: Some(Metrics::default()),
            cors: Some(vec![rule]),
            default_version: Some("2019-02-02".into()),
            delete_retention: Some(DeleteRetention { days: Some(7), allow_permanent_delete: true }),
            static_website: Some(StaticWebsite { enabled: true, ..StaticWebsite::default() }),
        };
        for update in [all, PropertiesUpdate { cors: Some(vec![]), ..PropertiesUpdate::default() }] {
            let written = write_properties(&update);
            assert_eq!(properties::decode(Service::Blob, &written, ApiVersion::V2013_08_15), Ok(update));
        }
    }

    #[test]
    fn stats_read() {
        let text = "<?xml version=\"1.0\" encoding=\"utf-8\"?><StorageServiceStats><GeoReplication><Status>live</Status><LastSyncTime>Mon, 27 Jun 2022 20:11:08 GMT</LastSyncTime></GeoReplication></StorageServiceStats>";
        let stats = read_stats(text.as_bytes()).unwrap();
        assert_eq!(stats.status, "live");
        assert_eq!(stats.last_sync, DateTime::parse("2022-06-27T20:11:08Z"));
        assert!(read_stats(b"<StorageServiceStats/>").is_err());
    }
}
