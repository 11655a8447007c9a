//! The location of the objects: `s3://BUCKET[/PREFIX]?endpoint=…`.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// An object store, without its credentials.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectsUrl {
    pub(crate) bucket: String,
    pub(crate) prefix: String,
    pub(crate) endpoint: Option<String>,
    pub(crate) region: Option<String>,
    pub(crate) is_virtual_hosted: bool,
    pub(crate) credentials: Option<PathBuf>,
    pub(crate) roots: Option<PathBuf>,
}

impl FromStr for ObjectsUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let rest = text.strip_prefix("s3://").ok_or("expected s3://BUCKET[/PREFIX]?endpoint=URL")?;
        let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (bucket, prefix) = place.split_once('/').unwrap_or((place, ""));
        if bucket.contains('@') {
            // It is not repeated, since it may contain a key.
            return Err("credentials do not belong in the URL; pass them as AWS_ACCESS_KEY_ID and \
                        AWS_SECRET_ACCESS_KEY, or in a file specified with credentials="
                .into());
        }
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
        if bucket.len() < 3 || !bucket.bytes().all(is_allowed) {
            return Err(format!(
                "invalid bucket '{bucket}'; expected at least three letters, digits, . or -"
            ));
        }
        let prefix = prefix.trim_matches('/');
        if !prefix.bytes().all(|byte| is_allowed(byte) || byte == b'/') || prefix.contains("//") {
            return Err(format!("invalid prefix '{prefix}'; expected letters, digits, ., -, _ and /"));
        }
        let mut url = Self {
            bucket: bucket.into(),
            prefix: prefix.into(),
            endpoint: None,
            region: None,
            is_virtual_hosted: false,
            credentials: None,
            roots: None,
        };
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            url.set(name, &decoded(value)?)?;
        }
        Ok(url)
    }
}

impl ObjectsUrl {
    fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        match name {
            "endpoint" => {
                let rest = value.strip_prefix("http://").or_else(|| value.strip_prefix("https://"));
                if !rest.is_some_and(|rest| !rest.is_empty() && !rest.contains('@')) {
                    return Err("invalid endpoint; expected http://HOST:PORT or https://HOST".into());
                }
                self.endpoint = Some(value.trim_end_matches('/').into());
            }
            "region" => self.region = Some(value.into()),
            "virtual-host" => {
                self.is_virtual_hosted =
                    value.parse().map_err(|_| "invalid virtual-host; expected true or false")?;
            }
            "credentials" => self.credentials = Some(value.into()),
            "cacert" => self.roots = Some(value.into()),
            _ => {
                return Err(format!(
                    "unknown parameter '{name}'; expected endpoint, region, virtual-host, credentials or cacert"
                ));
            }
        }
        Ok(())
    }
}

impl fmt::Display for ObjectsUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "s3://{}", self.bucket)?;
        if !self.prefix.is_empty() {
            write!(f, "/{}", self.prefix)?;
        }
        match &self.endpoint {
            Some(endpoint) => write!(f, " at {endpoint}"),
            None => Ok(()),
        }
    }
}

/// Replaces `%XX`.
fn decoded(text: &str) -> Result<String, String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || rest.next().and_then(|byte| char::from(byte).to_digit(16));
        match (digit(), digit()) {
            // Two digits are at most 255.
            (Some(high), Some(low)) => bytes.push((high * 16 + low) as u8),
            _ => return Err(format!("invalid '{text}'; % must be followed by two digits")),
        }
    }
    String::from_utf8(bytes).map_err(|_| format!("invalid '{text}'; not UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls() {
        let url: ObjectsUrl =
            "s3://content/a/b/?endpoint=http%3A%2F%2F127.0.0.1:9000/&region=eu-1".parse().unwrap();
        assert_eq!((&*url.bucket, &*url.prefix), ("content", "a/b"));
        assert_eq!(url.endpoint.as_deref(), Some("http://127.0.0.1:9000"));
        assert_eq!(url.region.as_deref(), Some("eu-1"));
        assert_eq!(url.to_string(), "s3://content/a/b at http://127.0.0.1:9000");
        let url: ObjectsUrl = "s3://content?virtual-host=true&credentials=/etc/keys".parse().unwrap();
        assert!(url.is_virtual_hosted && url.prefix.is_empty() && url.endpoint.is_none());
        for bad in [
            "",
            "http://content",
            "s3://",
            "s3://ab",
            "s3://a b c",
            "s3://content//a//b",
            "s3://content/a%20b",
            "s3://content?endpoint=host",
            "s3://content?endpoint=http://key:secret@host",
            "s3://content?nonsense=1",
            "s3://content?virtual-host=maybe",
            "s3://content?region=%4",
        ] {
            assert!(bad.parse::<ObjectsUrl>().is_err(), "{bad}");
        }
    }

    #[test]
    fn keys_in_a_url_are_rejected_and_not_repeated() {
        let error = "s3://AKIA:topsecret@content".parse::<ObjectsUrl>().unwrap_err();
        assert!(!error.contains("topsecret") && !error.contains("AKIA"), "{error}");
    }
}
