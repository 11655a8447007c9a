//! The properties of an account's service as bytes.
//!
//! The first format has no blob settings, the second no log format. Both stay readable, and are still written
//! if the later settings have their defaults.

use bytes::Bytes;
use lazuli_engine::Result;
use lazuli_model::ServiceProperties;
use lazuli_model::properties::{CorsRule, DeleteRetention, LogVersion, Logging, Metrics, StaticWebsite};

use super::codec::{FORMAT, RecordReader, RecordWriter, corrupt};

/// The format with the settings that only the Blob service has.
const FORMAT_BLOB: u8 = 2;
/// The same format, with logs in format 2.0.
const FORMAT_LOG_2: u8 = 3;

/// The properties as bytes.
pub fn encode_properties(properties: &ServiceProperties) -> Bytes {
    let days = |days: Option<u16>| days.map(u64::from);
    let ServiceProperties { delete_retention, static_website, .. } = properties;
    let has_blob =
        *delete_retention != DeleteRetention::default() || *static_website != StaticWebsite::default();
    let Logging { version, read, write, delete, retention_days } = properties.logging;
    let format = match version {
        LogVersion::V2 => FORMAT_LOG_2,
        LogVersion::V1 if has_blob => FORMAT_BLOB,
        LogVersion::V1 => FORMAT,
    };
    let mut writer = RecordWriter::with_format(format);
    writer = writer.flag(read).flag(write).flag(delete).maybe_number(days(retention_days));
    for metrics in [properties.hour_metrics, properties.minute_metrics] {
        writer = writer
            .maybe_number(metrics.include_apis.map(u64::from))
            .maybe_number(days(metrics.retention_days));
    }
    writer = writer
        .list(&properties.cors, |writer, rule| {
            let lists = [&rule.origins, &rule.methods, &rule.allowed_headers, &rule.exposed_headers];
            lists
                .iter()
                .fold(writer, |writer, list| writer.list(list, |writer, text| writer.bytes(text.as_bytes())))
                .number(rule.max_age_seconds.into())
        })
        .maybe_text(properties.default_version.as_deref());
    if format != FORMAT {
        writer = writer
            .maybe_number(days(delete_retention.days))
            .flag(delete_retention.allow_permanent_delete)
            .flag(static_website.enabled)
            .maybe_text(static_website.index_document.as_deref())
            .maybe_text(static_website.error_document.as_deref())
            .maybe_text(static_website.default_index_document.as_deref());
    }
    writer.finish()
}

/// The properties from bytes.
pub fn decode_properties(bytes: &[u8]) -> Result<ServiceProperties> {
    let (format, mut reader) = RecordReader::with_format(bytes)?;
    if ![FORMAT, FORMAT_BLOB, FORMAT_LOG_2].contains(&format) {
        return Err(corrupt());
    }
    let logging = Logging {
        version: if format == FORMAT_LOG_2 { LogVersion::V2 } else { LogVersion::V1 },
        read: reader.flag()?,
        write: reader.flag()?,
        delete: reader.flag()?,
        retention_days: days(&mut reader)?,
    };
    let mut properties = ServiceProperties {
        logging,
        hour_metrics: metrics(&mut reader)?,
        minute_metrics: metrics(&mut reader)?,
        cors: reader.list(|reader| {
            Ok(CorsRule {
                origins: reader.list(|reader| reader.text())?,
                methods: reader.list(|reader| reader.text())?,
                allowed_headers: reader.list(|reader| reader.text())?,
                exposed_headers: reader.list(|reader| reader.text())?,
                max_age_seconds: u32::try_from(reader.number()?).map_err(|_| corrupt())?,
            })
        })?,
        default_version: reader.maybe(|reader| reader.text())?,
        ..ServiceProperties::default()
    };
    if format != FORMAT {
        properties.delete_retention =
            DeleteRetention { days: days(&mut reader)?, allow_permanent_delete: reader.flag()? };
        properties.static_website = StaticWebsite {
            enabled: reader.flag()?,
            index_document: reader.maybe(|reader| reader.text())?,
            error_document: reader.maybe(|reader| reader.text())?,
            default_index_document: reader.maybe(|reader| reader.text())?,
        };
    }
    reader.finish(properties)
}

fn days(reader: &mut RecordReader<'_>) -> Result<Option<u16>> {
    reader.maybe(|reader| u16::try_from(reader.number()?).map_err(|_| corrupt()))
}

fn metrics(reader: &mut RecordReader<'_>) -> Result<Metrics> {
    let include_apis = reader.maybe(|reader| match reader.number()? {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(corrupt()),
    })?;
    Ok(Metrics { include_apis, retention_days: days(reader)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn properties() -> ServiceProperties {
        let texts = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        ServiceProperties {
            logging: Logging { read: true, delete: true, retention_days: Some(7), ..Logging::default() },
            hour_metrics: Metrics { include_apis: Some(true), retention_days: None },
            minute_metrics: Metrics::default(),
            cors: vec![CorsRule {
                origins: texts(&["*"]),
                methods: texts(&["GET", "PUT"]),
                allowed_headers: texts(&[]),
                exposed_headers: texts(&["x-ms-*"]),
                max_age_seconds: 60,
            }],
            default_version: Some("2019-02-02".into()),
            ..ServiceProperties::default()
        }
    }

    fn blob_properties() -> ServiceProperties {
        ServiceProperties {
            delete_retention: DeleteRetention { days: Some(7), allow_permanent_delete: true },
            static_website: StaticWebsite {
                enabled: true,
                index_document: Some("index.html".into()),
                error_document: Some("errors/404.html".into()),
                default_index_document: None,
            },
            ..properties()
        }
    }

    fn with_log_2() -> ServiceProperties {
        let logging = Logging { version: LogVersion::V2, ..properties().logging };
        ServiceProperties { logging, ..blob_properties() }
    }

    #[test]
    fn properties_read_back() {
        for properties in [ServiceProperties::default(), properties(), blob_properties(), with_log_2()] {
            assert_eq!(decode_properties(&encode_properties(&properties)), Ok(properties));
        }
    }

    /// A record without the later settings has the same bytes as before they existed.
    #[test]
    fn earlier_formats_remain() {
        assert_eq!(encode_properties(&properties())[0], FORMAT);
        assert_eq!(encode_properties(&blob_properties())[0], FORMAT_BLOB);
        assert_eq!(encode_properties(&with_log_2())[0], FORMAT_LOG_2);
    }

    #[test]
    fn damaged_properties_are_errors() {
        [properties(), blob_properties(), with_log_2()].iter().for_each(damaged);
    }

    fn damaged(properties: &ServiceProperties) {
        let good = encode_properties(properties);
        for end in 0..good.len() {
            assert_eq!(decode_properties(&good[..end]), Err(corrupt()));
        }
        for at in 0..good.len() {
            let mut bad = good.to_vec();
            bad[at] ^= 0xff;
            let _ = decode_properties(&bad);
        }
    }
}
