//! Service properties as documents, in the formats of both eras and of each service.

use lazuli_model::properties::{
    CORS_BYTES_MAX, CORS_HEADERS_MAX, CORS_METHODS, CORS_ORIGINS_MAX, CORS_PREFIXES_MAX, CORS_RULES_MAX,
    CORS_TEXT_CHARS_MAX, CorsRule, DeleteRetention, LogVersion, Logging, Metrics, PropertiesUpdate,
    RETENTION_DAYS_MAX, STATIC_PATH_CHARS_MAX, ServiceProperties, StaticWebsite,
};
use lazuli_model::{Failure, Service};

use super::tree::Element;
use super::{invalid, invalid_at, leaf, nest};
use crate::ApiVersion;

pub(super) const ROOT: &str = "StorageServiceProperties";
/// The version of the metrics that the services have.
const METRICS_VERSION: &str = "1.0";
/// The elements that only the Blob service has.
const BLOB_PARTS: [&str; 2] = ["DeleteRetentionPolicy", "StaticWebsite"];

/// Reads properties. From 2013-08-15 on, an omitted part stays unchanged; in earlier versions, every part is
/// required.
pub fn decode(service: Service, body: &[u8], version: ApiVersion) -> Result<PropertiesUpdate, Failure> {
    let root = Element::parse(body, ROOT)?;
    let default_version = root.filled("DefaultServiceVersion")?;
    if default_version.is_some_and(|text| ApiVersion::parse(text).is_none()) {
        return Err(invalid());
    }
    let update = PropertiesUpdate {
        default_version: default_version.map(str::to_owned),
        ..PropertiesUpdate::default()
    };
    if version < ApiVersion::V2013_08_15 {
        root.only(&["Logging", "Metrics", "DefaultServiceVersion"])?;
        return Ok(PropertiesUpdate {
            logging: Some(logging(service, root.need("Logging")?)?),
            hour_metrics: Some(metrics(root.need("Metrics")?)?),
            ..update
        });
    }
    let blob_only: &[&str] = if service == Service::Blob { &BLOB_PARTS } else { &[] };
    root.only(
        &[&["Logging", "HourMetrics", "MinuteMetrics", "Cors", "DefaultServiceVersion"], blob_only].concat(),
    )?;
    Ok(PropertiesUpdate {
        logging: root.child("Logging")?.map(|element| logging(service, element)).transpose()?,
        hour_metrics: root.child("HourMetrics")?.map(metrics).transpose()?,
        minute_metrics: root.child("MinuteMetrics")?.map(metrics).transpose()?,
        cors: root.child("Cors")?.map(cors).transpose()?,
        delete_retention: root.child(BLOB_PARTS[0])?.map(delete_retention).transpose()?,
        static_website: root.child(BLOB_PARTS[1])?.map(static_website).transpose()?,
        ..update
    })
}

/// Permanent deletion is disabled unless the client enables it.
fn delete_retention(element: &Element) -> Result<DeleteRetention, Failure> {
    element.only(&["Enabled", "Days", "AllowPermanentDelete"])?;
    let days = retention_days(element)?;
    let allow_permanent_delete = match element.child("AllowPermanentDelete")? {
        Some(_) => flag(element, "AllowPermanentDelete")?,
        None => false,
    };
    Ok(DeleteRetention { days, allow_permanent_delete: days.is_some() && allow_permanent_delete })
}

fn static_website(element: &Element) -> Result<StaticWebsite, Failure> {
    element.only(&["Enabled", "IndexDocument", "ErrorDocument404Path", "DefaultIndexDocumentPath"])?;
    let path = |name| -> Result<Option<String>, Failure> {
        match element.filled(name)? {
            Some(text) if text.chars().count() > STATIC_PATH_CHARS_MAX => Err(invalid()),
            path => Ok(path.map(str::to_owned)),
        }
    };
    let website = StaticWebsite {
        enabled: flag(element, "Enabled")?,
        index_document: path("IndexDocument")?,
        error_document: path("ErrorDocument404Path")?,
        default_index_document: path("DefaultIndexDocumentPath")?,
    };
    let two_indexes = website.index_document.is_some() && website.default_index_document.is_some();
    if two_indexes { Err(invalid()) } else { Ok(website) }
}

fn logging(service: Service, element: &Element) -> Result<Logging, Failure> {
    element.only(&["Version", "Read", "Write", "Delete", "RetentionPolicy"])?;
    Ok(Logging {
        version: log_version(service, element)?,
        read: flag(element, "Read")?,
        write: flag(element, "Write")?,
        delete: flag(element, "Delete")?,
        retention_days: retention(element.need("RetentionPolicy")?)?,
    })
}

/// Format 2.0 is for blobs and queues.
fn log_version(service: Service, element: &Element) -> Result<LogVersion, Failure> {
    let known: &[LogVersion] =
        if service == Service::Table { &[LogVersion::V1] } else { &[LogVersion::V1, LogVersion::V2] };
    let text = element.need("Version")?.value()?.trim();
    known.iter().copied().find(|version| version.name() == text).ok_or_else(invalid)
}

fn metrics(element: &Element) -> Result<Metrics, Failure> {
    element.only(&["Version", "Enabled", "IncludeAPIs", "RetentionPolicy"])?;
    if element.need("Version")?.value()?.trim() != METRICS_VERSION {
        return Err(invalid());
    }
    let include_apis = match element.child("IncludeAPIs")? {
        Some(_) => Some(flag(element, "IncludeAPIs")?),
        None => None,
    };
    let include_apis = if flag(element, "Enabled")? { Some(include_apis.ok_or_else(invalid)?) } else { None };
    Ok(Metrics { include_apis, retention_days: retention(element.need("RetentionPolicy")?)? })
}

fn retention(element: &Element) -> Result<Option<u16>, Failure> {
    element.only(&["Enabled", "Days"])?;
    retention_days(element)
}

/// The number of days is present if and only if retention is enabled: both cases are recorded.
fn retention_days(element: &Element) -> Result<Option<u16>, Failure> {
    match (flag(element, "Enabled")?, element.filled("Days")?) {
        (true, Some(text)) => match text.parse::<u16>() {
            Ok(days @ 1..=RETENTION_DAYS_MAX) => Ok(Some(days)),
            _ => Err(invalid_at(
                element.end,
                "Retention days must be greater than 0 and less than or equal to 365 days.",
            )),
        },
        (false, None) => Ok(None),
        _ => Err(invalid()),
    }
}

fn flag(element: &Element, name: &str) -> Result<bool, Failure> {
    let text = element.need(name)?.value()?.trim();
    match text {
        _ if text.eq_ignore_ascii_case("true") => Ok(true),
        _ if text.eq_ignore_ascii_case("false") => Ok(false),
        _ => Err(invalid()),
    }
}

fn cors(element: &Element) -> Result<Vec<CorsRule>, Failure> {
    element.only(&["CorsRule"])?;
    let bytes: usize =
        element.children.iter().flat_map(|rule| &rule.children).map(|child| child.text.len()).sum();
    if element.children.len() > CORS_RULES_MAX || bytes > CORS_BYTES_MAX {
        return Err(invalid());
    }
    element.children.iter().map(rule).collect()
}

fn rule(element: &Element) -> Result<CorsRule, Failure> {
    const LISTS: [&str; 4] = ["AllowedOrigins", "AllowedMethods", "AllowedHeaders", "ExposedHeaders"];
    element.only(&[LISTS[0], LISTS[1], LISTS[2], LISTS[3], "MaxAgeInSeconds"])?;
    let [origins, methods, allowed_headers, exposed_headers] = LISTS.map(|name| list(element, name));
    let (origins, methods) = (origins?, methods?);
    let legal = !origins.is_empty()
        && origins.len() <= CORS_ORIGINS_MAX
        && !methods.is_empty()
        && methods.iter().all(|method| CORS_METHODS.contains(&method.as_str()));
    if !legal {
        return Err(invalid());
    }
    let age = element.need("MaxAgeInSeconds")?.value()?.trim();
    Ok(CorsRule {
        origins,
        methods,
        allowed_headers: headers(allowed_headers?)?,
        exposed_headers: headers(exposed_headers?)?,
        max_age_seconds: age.parse::<u32>().ok().filter(|&age| age <= i32::MAX as u32).ok_or_else(invalid)?,
    })
}

fn list(element: &Element, name: &str) -> Result<Vec<String>, Failure> {
    let text = element.need(name)?.value()?;
    let items: Vec<String> =
        text.split(',').map(str::trim).filter(|item| !item.is_empty()).map(str::to_owned).collect();
    let short = items.iter().all(|item| item.chars().count() <= CORS_TEXT_CHARS_MAX);
    // They become parts of response headers.
    let plain = items.iter().all(|item| item.bytes().all(|b| b.is_ascii_graphic()));
    if short && plain { Ok(items) } else { Err(invalid()) }
}

/// Names without a wildcard come first, as in Azure's responses.
fn headers(names: Vec<String>) -> Result<Vec<String>, Failure> {
    let (prefixes, mut names): (Vec<_>, Vec<_>) = names.into_iter().partition(|name| name.ends_with('*'));
    if prefixes.len() > CORS_PREFIXES_MAX || names.len() > CORS_HEADERS_MAX {
        return Err(invalid());
    }
    names.extend(prefixes);
    Ok(names)
}

/// Writes properties in the format of the service and the version. The default version comes last.
pub fn encode(out: &mut Vec<u8>, service: Service, properties: &ServiceProperties, version: ApiVersion) {
    nest(out, ROOT, |out| {
        nest(out, "Logging", |out| encode_logging(out, properties.logging));
        if version < ApiVersion::V2013_08_15 {
            nest(out, "Metrics", |out| encode_metrics(out, properties.hour_metrics));
        } else {
            nest(out, "HourMetrics", |out| encode_metrics(out, properties.hour_metrics));
            nest(out, "MinuteMetrics", |out| encode_metrics(out, properties.minute_metrics));
            encode_cors(out, &properties.cors);
        }
        if service == Service::Blob && version >= ApiVersion::V2017_07_29 {
            let allow = version >= ApiVersion::V2020_02_10;
            nest(out, BLOB_PARTS[0], |out| encode_delete_retention(out, properties.delete_retention, allow));
        }
        if service == Service::Blob && version >= ApiVersion::V2018_03_28 {
            nest(out, BLOB_PARTS[1], |out| encode_static_website(out, &properties.static_website));
        }
        if let Some(text) = &properties.default_version {
            leaf(out, "DefaultServiceVersion", text);
        }
    });
}

/// Writes the parts that an update contains, in the current format.
pub(super) fn encode_update(out: &mut Vec<u8>, update: &PropertiesUpdate) {
    if let Some(logging) = update.logging {
        nest(out, "Logging", |out| encode_logging(out, logging));
    }
    for (name, metrics) in [("HourMetrics", update.hour_metrics), ("MinuteMetrics", update.minute_metrics)] {
        if let Some(metrics) = metrics {
            nest(out, name, |out| encode_metrics(out, metrics));
        }
    }
    if let Some(rules) = &update.cors {
        encode_cors(out, rules);
    }
    if let Some(retention) = update.delete_retention {
        nest(out, BLOB_PARTS[0], |out| encode_delete_retention(out, retention, true));
    }
    if let Some(website) = &update.static_website {
        nest(out, BLOB_PARTS[1], |out| encode_static_website(out, website));
    }
    if let Some(text) = &update.default_version {
        leaf(out, "DefaultServiceVersion", text);
    }
}

fn encode_logging(out: &mut Vec<u8>, logging: Logging) {
    leaf(out, "Version", logging.version.name());
    leaf(out, "Read", flag_text(logging.read));
    leaf(out, "Write", flag_text(logging.write));
    leaf(out, "Delete", flag_text(logging.delete));
    encode_retention(out, logging.retention_days);
}

fn encode_metrics(out: &mut Vec<u8>, metrics: Metrics) {
    leaf(out, "Version", METRICS_VERSION);
    leaf(out, "Enabled", flag_text(metrics.include_apis.is_some()));
    if let Some(include) = metrics.include_apis {
        leaf(out, "IncludeAPIs", flag_text(include));
    }
    encode_retention(out, metrics.retention_days);
}

fn encode_retention(out: &mut Vec<u8>, days: Option<u16>) {
    nest(out, "RetentionPolicy", |out| encode_days(out, days));
}

fn encode_days(out: &mut Vec<u8>, days: Option<u16>) {
    leaf(out, "Enabled", flag_text(days.is_some()));
    if let Some(days) = days {
        leaf(out, "Days", itoa::Buffer::new().format(days));
    }
}

fn encode_delete_retention(out: &mut Vec<u8>, retention: DeleteRetention, allow: bool) {
    encode_days(out, retention.days);
    if allow {
        leaf(out, "AllowPermanentDelete", flag_text(retention.allow_permanent_delete));
    }
}

fn encode_static_website(out: &mut Vec<u8>, website: &StaticWebsite) {
    leaf(out, "Enabled", flag_text(website.enabled));
    for (name, path) in [
        ("IndexDocument", &website.index_document),
        ("ErrorDocument404Path", &website.error_document),
        ("DefaultIndexDocumentPath", &website.default_index_document),
    ] {
        if let Some(path) = path {
            leaf(out, name, path);
        }
    }
}

fn encode_cors(out: &mut Vec<u8>, rules: &[CorsRule]) {
    if rules.is_empty() {
        return leaf(out, "Cors", "");
    }
    nest(out, "Cors", |out| {
        for rule in rules {
            nest(out, "CorsRule", |out| {
                leaf(out, "AllowedMethods", &rule.methods.join(","));
                leaf(out, "AllowedOrigins", &rule.origins.join(","));
                leaf(out, "AllowedHeaders", &rule.allowed_headers.join(","));
                leaf(out, "ExposedHeaders", &rule.exposed_headers.join(","));
                leaf(out, "MaxAgeInSeconds", itoa::Buffer::new().format(rule.max_age_seconds));
            });
        }
    });
}

fn flag_text(flag: bool) -> &'static str {
    if flag { "true" } else { "false" }
}
