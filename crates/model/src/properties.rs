//! The properties of a service of an account: request logs, metrics, CORS rules; for Blob also soft delete and website.

/// Maximum CORS rules. More is `InvalidXmlDocument`.
pub const CORS_RULES_MAX: usize = 5;
/// Maximum length of all CORS rules together.
pub const CORS_BYTES_MAX: usize = 2048;
/// Maximum origins of a rule.
pub const CORS_ORIGINS_MAX: usize = 64;
/// Maximum length of an origin or header name of a rule.
pub const CORS_TEXT_CHARS_MAX: usize = 256;
/// Maximum number of header names without `*` in each of the two lists of a rule.
pub const CORS_HEADERS_MAX: usize = 64;
/// Maximum number of header names that end in `*` in each of the two lists of a rule.
pub const CORS_PREFIXES_MAX: usize = 2;
/// The verbs that a rule may contain.
pub const CORS_METHODS: [&str; 8] = ["DELETE", "GET", "HEAD", "MERGE", "POST", "PATCH", "OPTIONS", "PUT"];
/// Maximum length of a document path of a static website.
pub const STATIC_PATH_CHARS_MAX: usize = 1024;
/// Maximum retention of logs, metrics and deleted blobs.
pub const RETENTION_DAYS_MAX: u16 = 365;

/// All properties. In a new account, everything is disabled.
///
/// ```
/// # use lazuli_model as lazuli_client;
/// use lazuli_client::{Logging, ServiceProperties};
///
/// let properties = ServiceProperties::default();
/// assert_eq!(properties.logging, Logging::default());
/// assert!(properties.cors.is_empty());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServiceProperties {
    /// The logging settings.
    pub logging: Logging,
    /// The settings of hourly metrics.
    pub hour_metrics: Metrics,
    /// The settings of metrics per minute.
    pub minute_metrics: Metrics,
    /// The rules for web pages of other origins, in the order in which they are tried.
    pub cors: Vec<CorsRule>,
    /// The default version of requests: `YYYY-MM-DD`.
    pub default_version: Option<String>,
    /// The retention of deleted blobs. Only for Blob.
    pub delete_retention: DeleteRetention,
    /// The website in the container `$web`. Only for Blob.
    pub static_website: StaticWebsite,
}

/// Some of the properties; omitted ones stay unchanged.
///
/// ```
/// # use lazuli_model as lazuli_client;
/// use lazuli_client::{Logging, PropertiesUpdate};
///
/// let logging = Logging { delete: true, ..Logging::default() };
/// let update = PropertiesUpdate { logging: Some(logging), ..PropertiesUpdate::default() };
/// assert_eq!(update.cors, None);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PropertiesUpdate {
    /// The logging settings.
    pub logging: Option<Logging>,
    /// The settings of hourly metrics.
    pub hour_metrics: Option<Metrics>,
    /// The settings of metrics per minute.
    pub minute_metrics: Option<Metrics>,
    /// All CORS rules.
    pub cors: Option<Vec<CorsRule>>,
    /// The default version of requests.
    pub default_version: Option<String>,
    /// The retention of deleted blobs.
    pub delete_retention: Option<DeleteRetention>,
    /// The website.
    pub static_website: Option<StaticWebsite>,
}

impl ServiceProperties {
    /// The properties after an update.
    ///
    /// ```
    /// # use lazuli_model as lazuli_client;
    /// use lazuli_client::{CorsRule, PropertiesUpdate, ServiceProperties};
    ///
    /// let before = ServiceProperties { default_version: Some("2019-02-02".into()), ..ServiceProperties::default() };
    /// let rules = vec![CorsRule { origins: vec!["*".into()], ..CorsRule::default() }];
    /// let after = before.updated(PropertiesUpdate { cors: Some(rules), ..PropertiesUpdate::default() });
    /// assert_eq!(after.cors.len(), 1);
    /// assert_eq!(after.default_version, before.default_version);
    /// ```
    pub fn updated(&self, update: PropertiesUpdate) -> Self {
        Self {
            logging: update.logging.unwrap_or(self.logging),
            hour_metrics: update.hour_metrics.unwrap_or(self.hour_metrics),
            minute_metrics: update.minute_metrics.unwrap_or(self.minute_metrics),
            cors: update.cors.unwrap_or_else(|| self.cors.clone()),
            default_version: update.default_version.or_else(|| self.default_version.clone()),
            delete_retention: update.delete_retention.unwrap_or(self.delete_retention),
            static_website: update.static_website.unwrap_or_else(|| self.static_website.clone()),
        }
    }
}

/// The settings of the request log.
///
/// ```
/// # use lazuli_model as lazuli_client;
/// use lazuli_client::Logging;
///
/// let changes = Logging { write: true, delete: true, retention_days: Some(7), ..Logging::default() };
/// assert!(!changes.read);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Logging {
    /// The format of the log.
    pub version: LogVersion,
    /// Those that read.
    pub read: bool,
    /// Those that write.
    pub write: bool,
    /// Those that delete.
    pub delete: bool,
    /// Number of days for which the log is kept; `None` for no limit.
    pub retention_days: Option<u16>,
}

/// The format of a request log.
///
/// ```
/// # use lazuli_model as lazuli_client;
/// use lazuli_client::{LogVersion, Logging};
///
/// assert_eq!(Logging::default().version, LogVersion::V1);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogVersion {
    /// Format 1.0, which all services support.
    #[default]
    V1,
    /// Format 2.0, with the user of a bearer token. Only blobs and queues support it.
    V2,
}

impl LogVersion {
    /// The number in service properties, in lines and in the metadata of logs.
    ///
    /// ```
    /// # use lazuli_model as lazuli_client;
    /// assert_eq!(lazuli_client::LogVersion::V2.name(), "2.0");
    /// ```
    pub const fn name(self) -> &'static str {
        match self {
            LogVersion::V1 => "1.0",
            LogVersion::V2 => "2.0",
        }
    }
}

/// The settings of a kind of metrics.
///
/// ```
/// # use lazuli_model as lazuli_client;
/// use lazuli_client::Metrics;
///
/// let by_operation = Metrics { include_apis: Some(true), retention_days: Some(30) };
/// assert_ne!(by_operation, Metrics::default());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Metrics {
    /// `None` if metrics are disabled; otherwise, whether each operation is measured separately, too.
    pub include_apis: Option<bool>,
    /// Number of days for which metrics are kept; `None` for no limit.
    pub retention_days: Option<u16>,
}

/// The retention of deleted blobs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeleteRetention {
    /// The number of days; `None` deletes immediately.
    pub days: Option<u16>,
    /// May a client permanently delete a deleted blob before its retention ends?
    pub allow_permanent_delete: bool,
}

/// The website that is served from the container `$web`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StaticWebsite {
    /// Whether it is served.
    pub enabled: bool,
    /// The name of the index document of each directory.
    pub index_document: Option<String>,
    /// The path of the error document.
    pub error_document: Option<String>,
    /// The path of the document for the root.
    pub default_index_document: Option<String>,
}

/// A rule of cross-origin resource sharing.
///
/// ```
/// # use lazuli_model as lazuli_client;
/// use lazuli_client::CorsRule;
///
/// let shop = CorsRule {
///     origins: vec!["https://*.example.com".into()],
///     methods: vec!["GET".into(), "POST".into()],
///     allowed_headers: vec!["x-ms-*".into(), "content-type".into()],
///     max_age_seconds: 600,
///     ..CorsRule::default()
/// };
/// assert!(shop.exposed_headers.is_empty());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CorsRule {
    /// The origins that it applies to: exact ones, `*`, or with a wildcard for sub-domains.
    pub origins: Vec<String>,
    /// The verbs that it applies to.
    pub methods: Vec<String>,
    /// The request headers that a page may send; `x*` stands for all that start with `x`.
    pub allowed_headers: Vec<String>,
    /// The response headers that a page may see.
    pub exposed_headers: Vec<String>,
    /// Time for which a browser may cache the response to a preflight.
    pub max_age_seconds: u32,
}
