//! Reads and writes documents, as recorded and as documented.

use lazuli_model::DateTime;
use lazuli_model::policy::AccessPolicy;
use lazuli_model::properties::{CorsRule, Logging, Metrics};

use super::*;
use crate::ApiVersion;

fn inner(response: &Response) -> String {
    let text = String::from_utf8(response.body.clone()).unwrap();
    text.strip_prefix("\u{feff}<?xml version=\"1.0\" encoding=\"utf-8\"?>").unwrap().to_owned()
}

#[track_caller]
fn acl_comes_back(given: &str, returned: &str) {
    let found = acl::decode(given.as_bytes(), Service::Table).unwrap();
    assert_eq!(inner(&super::acl(&found)), returned);
    assert_eq!(acl::decode(returned.as_bytes(), Service::Table).unwrap(), found);
}

fn identifiers(inner: &str) -> String {
    format!("<SignedIdentifiers>{inner}</SignedIdentifiers>")
}

/// OP-22.
#[test]
fn policies() {
    acl_comes_back("", "<SignedIdentifiers />");
    acl_comes_back("<SignedIdentifiers></SignedIdentifiers>", "<SignedIdentifiers />");
    acl_comes_back(
        "<?xml version='1.0' encoding='utf-8'?>\n<SignedIdentifiers><SignedIdentifier><Id>a &amp; b</Id><AccessPolicy /></SignedIdentifier></SignedIdentifiers>",
        &identifiers("<SignedIdentifier><Id>a &amp; b</Id></SignedIdentifier>"),
    );
    acl_comes_back(
        &identifiers(
            "<SignedIdentifier><Id>x</Id><AccessPolicy><Permission>ra</Permission><Expiry>2011-10-12T01:00+01:00</Expiry><Start>2011-10-11</Start></AccessPolicy></SignedIdentifier>",
        ),
        &identifiers(
            "<SignedIdentifier><Id>x</Id><AccessPolicy><Start>2011-10-11T00:00:00.0000000Z</Start><Expiry>2011-10-12T00:00:00.0000000Z</Expiry><Permission>ra</Permission></AccessPolicy></SignedIdentifier>",
        ),
    );
    let only = |policy| vec![SignedIdentifier { id: "x".into(), policy: Some(policy) }];
    let start = DateTime::parse("2030-01-02T03:04:05.6Z");
    assert_eq!(
        inner(&super::acl(&only(AccessPolicy { start, ..AccessPolicy::default() }))),
        identifiers(
            "<SignedIdentifier><Id>x</Id><AccessPolicy><Start>2030-01-02T03:04:05.6000000Z</Start></AccessPolicy></SignedIdentifier>"
        )
    );
}

#[test]
fn invalid_policies_are_rejected() {
    let id = |id: &str| format!("<SignedIdentifier><Id>{id}</Id></SignedIdentifier>");
    let with = |policy: &str| {
        format!("<SignedIdentifier><Id>x</Id><AccessPolicy>{policy}</AccessPolicy></SignedIdentifier>")
    };
    let six: String = (0..6).map(|n| id(&n.to_string())).collect();
    let five: String = (0..5).map(|n| id(&n.to_string())).collect();
    assert_eq!(acl::decode(identifiers(&five).as_bytes(), Service::Table).unwrap().len(), 5);
    assert!(acl::decode(identifiers(&id(&"i".repeat(64))).as_bytes(), Service::Table).is_ok());
    for bad in [
        six,
        id(&"i".repeat(65)),
        id(""),
        format!("{}{}", id("a"), id("a")),
        "<SignedIdentifier/>".into(),
        "<Other/>".into(),
        "text".into(),
        with("<Start>soon</Start>"),
        with("<Permission>rx</Permission>"),
        with("<Permission><b/></Permission>"),
        with("<Start>2020-01-01</Start><Start>2020-01-01</Start>"),
        with("<Other/>"),
    ] {
        let rejected = acl::decode(identifiers(&bad).as_bytes(), Service::Table).map_err(|f| f.code);
        assert_eq!(rejected, Err(ErrorCode::InvalidXmlDocument), "{bad}");
    }
}

const OFF: &str = "<RetentionPolicy><Enabled>false</Enabled></RetentionPolicy>";
const FIVE: &str = "<RetentionPolicy><Enabled>true</Enabled><Days>5</Days></RetentionPolicy>";

fn root(inner: &str) -> String {
    format!("<StorageServiceProperties>{inner}</StorageServiceProperties>")
}

fn context(version: &str) -> Context {
    Context {
        account: "a".into(),
        base: crate::http::url::Base::new("http", "h", None),
        now: DateTime::MIN,
        request_id: String::new(),
        version: ApiVersion::parse(version).unwrap(),
    }
}

/// The format of each era, including that of a new account.
#[test]
fn properties_of_a_new_account() {
    let fresh = ServiceProperties::default();
    let logging = format!(
        "<Logging><Version>1.0</Version><Read>false</Read><Write>false</Write><Delete>false</Delete>{OFF}</Logging>"
    );
    let off = format!("<Version>1.0</Version><Enabled>false</Enabled>{OFF}");
    assert_eq!(
        inner(&super::properties(Service::Table, &context("2019-02-02"), &fresh)),
        root(&format!(
            "{logging}<HourMetrics>{off}</HourMetrics><MinuteMetrics>{off}</MinuteMetrics><Cors />"
        ))
    );
    assert_eq!(
        inner(&super::properties(Service::Table, &context("2012-02-12"), &fresh)),
        root(&format!("{logging}<Metrics>{off}</Metrics>"))
    );
}

/// LG-01: blobs and queues can be logged in format 2.0, tables only in 1.0.
#[test]
fn versions_of_logs() {
    let given = |version: &str| {
        root(&format!(
            "<Logging><Version>{version}</Version><Read>true</Read><Write>false</Write><Delete>false</Delete>{OFF}</Logging>"
        ))
    };
    for version in [ApiVersion::V2012_02_12, ApiVersion::V2019_02_02] {
        let rest = format!("<Metrics><Version>1.0</Version><Enabled>false</Enabled>{OFF}</Metrics>");
        let rest = if version < ApiVersion::V2013_08_15 { rest.as_str() } else { "" };
        let decode = |service, text: &str| {
            let whole = given(text).replace("</Logging>", &format!("</Logging>{rest}"));
            properties::decode(service, whole.as_bytes(), version)
        };
        for (service, is_known) in [(Service::Blob, true), (Service::Queue, true), (Service::Table, false)] {
            let update = decode(service, "2.0");
            assert_eq!(update.is_ok(), is_known, "{service:?}");
            if let Ok(update) = update {
                let properties = ServiceProperties::default().updated(update);
                let shown = inner(&super::properties(service, &context("2019-02-02"), &properties));
                assert!(shown.contains("<Logging><Version>2.0</Version><Read>true</Read>"), "{shown}");
                assert!(shown.contains("<HourMetrics><Version>1.0</Version>"), "{shown}");
            }
            assert!(decode(service, "1.0").is_ok());
            for bad in ["3.0", "2", "", "2.00"] {
                assert!(decode(service, bad).is_err(), "{bad}");
            }
        }
    }
}

#[test]
fn properties_come_back() {
    let given = root(&format!(
        "<Cors><CorsRule><AllowedOrigins>www.xyz.com, http://*.b.example</AllowedOrigins><AllowedMethods>GET,PUT</AllowedMethods><AllowedHeaders>x-a*,x-b*,x-c,x-d</AllowedHeaders><ExposedHeaders /><MaxAgeInSeconds>500</MaxAgeInSeconds></CorsRule></Cors>\
         <Logging><Version>1.0</Version><Delete>False</Delete><Read>True</Read><Write>false</Write>{FIVE}</Logging>\
         <HourMetrics>{FIVE}<Version>1.0</Version><IncludeAPIs>true</IncludeAPIs><Enabled>True</Enabled></HourMetrics>\
         <DefaultServiceVersion>2019-02-02</DefaultServiceVersion>"
    ));
    let version = ApiVersion::V2019_02_02;
    let update = properties::decode(Service::Table, given.as_bytes(), version).unwrap();
    let before = ServiceProperties {
        minute_metrics: Metrics { include_apis: Some(false), retention_days: None },
        ..ServiceProperties::default()
    };
    let after = before.updated(update);
    assert_eq!(after.minute_metrics, before.minute_metrics);
    assert_eq!(after.logging, Logging { read: true, retention_days: Some(5), ..Logging::default() });
    assert_eq!(after.hour_metrics, Metrics { include_apis: Some(true), retention_days: Some(5) });
    let texts = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    assert_eq!(
        after.cors,
        [CorsRule {
            origins: texts(&["www.xyz.com", "http://*.b.example"]),
            methods: texts(&["GET", "PUT"]),
            allowed_headers: texts(&["x-c", "x-d", "x-a*", "x-b*"]),
            exposed_headers: Vec::new(),
            max_age_seconds: 500,
        }]
    );
    let written = inner(&super::properties(Service::Table, &context("2019-02-02"), &after));
    let again = properties::decode(Service::Table, written.as_bytes(), version).unwrap();
    assert_eq!(ServiceProperties::default().updated(again), after);
    let none = properties::decode(Service::Table, root("<Cors/>").as_bytes(), version).unwrap();
    assert_eq!(after.updated(none), ServiceProperties { cors: Vec::new(), ..after });
}

/// Up to 2012-02-12, all elements are required, and have other names.
#[test]
fn properties_of_the_old_form() {
    let logging = format!(
        "<Logging><Version>1.0</Version><Read>true</Read><Write>true</Write><Delete>true</Delete>{OFF}</Logging>"
    );
    let metrics =
        format!("<Version>1.0</Version><Enabled>true</Enabled><IncludeAPIs>false</IncludeAPIs>{FIVE}");
    let old = ApiVersion::parse("2011-08-18").unwrap();
    let decode = |inner: &str| properties::decode(Service::Table, root(inner).as_bytes(), old);
    let update = decode(&format!("{logging}<Metrics>{metrics}</Metrics>")).unwrap();
    assert_eq!(update.hour_metrics, Some(Metrics { include_apis: Some(false), retention_days: Some(5) }));
    assert_eq!((update.minute_metrics, update.cors), (None, None));
    assert!(decode(&logging).is_err());
    assert!(decode(&format!("<Metrics>{metrics}</Metrics>")).is_err());
    assert!(decode(&format!("{logging}<HourMetrics>{metrics}</HourMetrics>")).is_err());
}

#[test]
fn invalid_properties_are_rejected() {
    let metrics = |inner: &str| format!("<MinuteMetrics>{inner}</MinuteMetrics>");
    let rule = |origins: &str, methods: &str, headers: &str, age: &str| {
        format!(
            "<CorsRule><AllowedOrigins>{origins}</AllowedOrigins><AllowedMethods>{methods}</AllowedMethods><AllowedHeaders>{headers}</AllowedHeaders><ExposedHeaders/><MaxAgeInSeconds>{age}</MaxAgeInSeconds></CorsRule>"
        )
    };
    let cors = |rules: &str| format!("<Cors>{rules}</Cors>");
    let good = rule("a", "GET", "", "0");
    assert!(
        properties::decode(Service::Table, root(&cors(&good.repeat(5))).as_bytes(), ApiVersion::V2019_02_02)
            .is_ok()
    );
    let many =
        |count: usize, end: &str| (0..count).map(|n| format!("h{n}{end}")).collect::<Vec<_>>().join(",");
    let days = |days: &str| {
        metrics(&format!(
            "<Version>1.0</Version><Enabled>false</Enabled><RetentionPolicy><Enabled>true</Enabled><Days>{days}</Days></RetentionPolicy>"
        ))
    };
    for bad in [
        String::from("<Other/>"),
        "<Metrics/>".into(),
        "<DefaultServiceVersion>soon</DefaultServiceVersion>".into(),
        metrics(""),
        metrics(&format!("<Version>2.0</Version><Enabled>false</Enabled>{OFF}")),
        metrics(&format!("<Version>1.0</Version><Enabled>yes</Enabled>{OFF}")),
        metrics(&format!("<Version>1.0</Version><Enabled>true</Enabled>{OFF}")),
        metrics("<Version>1.0</Version><Enabled>false</Enabled>"),
        metrics(
            "<Version>1.0</Version><Enabled>false</Enabled><RetentionPolicy><Enabled>false</Enabled><Days>5</Days></RetentionPolicy>",
        ),
        metrics(
            "<Version>1.0</Version><Enabled>false</Enabled><RetentionPolicy><Enabled>true</Enabled></RetentionPolicy>",
        ),
        days("0"),
        days("366"),
        days("-1"),
        days("x"),
        format!("<Logging><Version>1.0</Version><Read>true</Read><Write>true</Write>{OFF}</Logging>"),
        cors(&good.repeat(6)),
        cors(&rule("", "GET", "", "0")),
        cors(&rule("a", "", "", "0")),
        cors(&rule("a", "GET,BREW", "", "0")),
        cors(&rule("a", "GET", "a*,b*,c*", "0")),
        cors(&rule("a", "GET", &many(65, ""), "0")),
        cors(&rule(&many(65, ""), "GET", "", "0")),
        cors(&rule(&"a".repeat(257), "GET", "", "0")),
        cors(&rule(&many(60, &"x".repeat(40)), "GET", "", "0")),
        cors(&rule("a b", "GET", "", "0")),
        cors(&rule("a", "GET", "", "-1")),
        cors(&rule("a", "GET", "", "")),
        cors("<CorsRule><AllowedOrigins>a</AllowedOrigins></CorsRule>"),
    ] {
        let rejected = properties::decode(Service::Table, root(&bad).as_bytes(), ApiVersion::V2019_02_02)
            .map_err(|f| f.code);
        assert_eq!(rejected, Err(ErrorCode::InvalidXmlDocument), "{bad}");
    }
}

/// The parts of the Blob service, in the recorded order and versions.
#[test]
fn properties_of_blobs() {
    let parts = |version: &str, properties: &ServiceProperties| {
        let text = inner(&super::properties(Service::Blob, &context(version), properties));
        let text = text.strip_suffix("</StorageServiceProperties>").unwrap();
        text.split_once("<Cors />").unwrap().1.to_owned()
    };
    let fresh =
        ServiceProperties { default_version: Some("2014-02-14".into()), ..ServiceProperties::default() };
    let last = "<DefaultServiceVersion>2014-02-14</DefaultServiceVersion>";
    let off = "<DeleteRetentionPolicy><Enabled>false</Enabled></DeleteRetentionPolicy>";
    let none = "<StaticWebsite><Enabled>false</Enabled></StaticWebsite>";
    assert_eq!(parts("2017-04-17", &fresh), last);
    assert_eq!(parts("2017-07-29", &fresh), format!("{off}{last}"));
    assert_eq!(parts("2018-03-28", &fresh), format!("{off}{none}{last}"));
    let off = "<DeleteRetentionPolicy><Enabled>false</Enabled><AllowPermanentDelete>false</AllowPermanentDelete></DeleteRetentionPolicy>";
    assert_eq!(parts("2020-02-10", &fresh), format!("{off}{none}{last}"));
    let given = root(
        "<StaticWebsite><Enabled>True</Enabled><ErrorDocument404Path>e.html</ErrorDocument404Path><IndexDocument>i.html</IndexDocument></StaticWebsite><DeleteRetentionPolicy><Enabled>true</Enabled><Days>365</Days></DeleteRetentionPolicy>",
    );
    let update = properties::decode(Service::Blob, given.as_bytes(), ApiVersion::V2018_11_09).unwrap();
    let after = fresh.updated(update);
    let site = "<StaticWebsite><Enabled>true</Enabled><IndexDocument>i.html</IndexDocument><ErrorDocument404Path>e.html</ErrorDocument404Path></StaticWebsite>";
    let days = "<DeleteRetentionPolicy><Enabled>true</Enabled><Days>365</Days>";
    assert_eq!(parts("2019-12-12", &after), format!("{days}</DeleteRetentionPolicy>{site}{last}"));
    assert_eq!(
        parts("2020-02-10", &after),
        format!(
            "{days}<AllowPermanentDelete>false</AllowPermanentDelete></DeleteRetentionPolicy>{site}{last}"
        )
    );
    for service in [Service::Queue, Service::Table] {
        assert!(properties::decode(service, given.as_bytes(), ApiVersion::V2018_11_09).is_err());
        assert!(
            !inner(&super::properties(service, &context("2020-02-10"), &after)).contains("DeleteRetention")
        );
    }
}

/// Errors of Blob and Queue name the cause and its position, if they are known.
#[test]
fn errors_of_properties() {
    let details = |body: &str| {
        let failure =
            properties::decode(Service::Blob, body.as_bytes(), ApiVersion::V2018_11_09).unwrap_err();
        assert_eq!(failure.code, ErrorCode::InvalidXmlDocument);
        failure.details.into_iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>()
    };
    let days = |days: &str| {
        format!(
            "<?xml version='1.0' encoding='utf-8'?>\n{}",
            root(&format!(
                "<DeleteRetentionPolicy><Enabled>True</Enabled><Days>{days}</Days></DeleteRetentionPolicy>"
            ))
        )
    };
    let reason = "Reason=Retention days must be greater than 0 and less than or equal to 365 days.";
    assert_eq!(details(&days("0")), ["LineNumber=2", "LinePosition=89", reason]);
    assert_eq!(details(&days("366")), ["LineNumber=2", "LinePosition=91", reason]);
    assert_eq!(details(&root("<Other/>")), ["LineNumber=0", "LinePosition=0", "Reason="]);
    for bad in [
        "<StaticWebsite/>",
        "<StaticWebsite><Enabled>true</Enabled><IndexDocument>a</IndexDocument><DefaultIndexDocumentPath>b</DefaultIndexDocumentPath></StaticWebsite>",
        "<DeleteRetentionPolicy><Enabled>true</Enabled></DeleteRetentionPolicy>",
        "<DeleteRetentionPolicy><Enabled>true</Enabled><Days>1</Days><AllowPermanentDelete>maybe</AllowPermanentDelete></DeleteRetentionPolicy>",
    ] {
        assert_eq!(details(&root(bad)), ["LineNumber=0", "LinePosition=0", "Reason="], "{bad}");
    }
}
