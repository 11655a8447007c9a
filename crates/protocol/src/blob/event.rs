//! Events in the schema of Event Grid.

use lazuli_model::blob::event::{Event, EventKind};
use serde_json::{Map, Value, json};

use crate::http::percent;

/// An event as JSON. `endpoint` is the URL of the account without a slash at its end.
pub fn encode(event: &Event, account: &str, endpoint: &str) -> Value {
    let Event { id, kind, api, container, blob, time, etag, size, content_type, blob_kind, tier, .. } = event;
    let mut data = Map::new();
    data.insert("api".into(), json!(api));
    data.insert("requestId".into(), json!(id.to_string()));
    if *kind != EventKind::TierChanged {
        data.insert("eTag".into(), json!(etag.to_string()));
    }
    data.insert("contentType".into(), json!(content_type.as_deref().unwrap_or_default()));
    if *kind != EventKind::Deleted {
        data.insert("contentLength".into(), json!(size));
    }
    data.insert("blobType".into(), json!(blob_kind.name()));
    if *kind != EventKind::Deleted {
        data.insert("accessTier".into(), json!(tier.name()));
    }
    data.insert("url".into(), json!(format!("{endpoint}/{container}/{}", escaped(blob))));
    data.insert("sequencer".into(), json!(format!("{:032X}", time.ticks())));
    data.insert("storageDiagnostics".into(), json!({ "batchId": id.to_string() }));
    json!({
        "topic": format!("/subscriptions/lazuli/resourceGroups/lazuli/providers/Microsoft.Storage/storageAccounts/{account}"),
        "subject": format!("/blobServices/default/containers/{container}/blobs/{blob}"),
        "eventType": kind.name(),
        "id": id.to_string(),
        "data": data,
        "dataVersion": "",
        "metadataVersion": "1",
        "eventTime": time.to_string(),
    })
}

/// The name of a blob in a URL, in which slashes are not escaped.
fn escaped(name: &str) -> String {
    let mut out = Vec::new();
    for (index, segment) in name.split('/').enumerate() {
        if index > 0 {
            out.push(b'/');
        }
        percent::encode_into(&mut out, segment);
    }
    String::from_utf8(out).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use lazuli_model::blob::{AccessTier, BlobKind, ETag};
    use lazuli_model::{DateTime, Guid};

    use super::*;

    fn event(kind: EventKind) -> Event {
        Event {
            id: Guid([1; 16]),
            kind,
            api: "PutBlob".into(),
            home: "home".into(),
            container: "c".into(),
            blob: "a/ü b".into(),
            time: DateTime::parse("2026-06-15T12:00:00.1234567Z").unwrap(),
            etag: ETag::new(0x8D1),
            size: 5,
            content_type: Some("text/plain".into()),
            blob_kind: BlobKind::Block,
            tier: AccessTier::Cool,
        }
    }

    #[test]
    fn events_follow_the_schema() {
        let created = encode(&event(EventKind::Created), "dev", "http://h:1/dev");
        assert_eq!(created["eventType"], "Microsoft.Storage.BlobCreated");
        assert_eq!(created["subject"], "/blobServices/default/containers/c/blobs/a/ü b");
        assert_eq!(created["eventTime"], "2026-06-15T12:00:00.1234567Z");
        let data = &created["data"];
        assert_eq!(data["url"], "http://h:1/dev/c/a/%C3%BC%20b");
        assert_eq!((&data["eTag"], &data["contentLength"]), (&json!("0x8D1"), &json!(5)));
        assert_eq!(data["sequencer"].as_str().map(str::len), Some(32));
        let deleted = encode(&event(EventKind::Deleted), "dev", "http://h:1/dev");
        assert!(deleted["data"].get("contentLength").is_none());
        let moved = encode(&event(EventKind::TierChanged), "dev", "http://h:1/dev");
        assert_eq!(moved["data"]["accessTier"], "Cool");
    }
}
