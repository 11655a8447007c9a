//! Signs requests: AWS Signature Version 4, with all parameters of a request and the headers that it must have.

use std::sync::Arc;

use hmac::{Hmac, Mac};
use lazuli_engine::Clock;
use sha2::{Digest, Sha256};

use super::http::Request;
use crate::credentials::Credentials;

/// 100 ns ticks in a second, and those from the year 1 to 1970.
const TICKS_PER_SECOND: u64 = 10_000_000;
const UNIX_EPOCH_SECONDS: u64 = 62_135_596_800;
const ALGORITHM: &str = "AWS4-HMAC-SHA256";

/// Signs requests to one region.
pub struct Signer {
    credentials: Arc<Credentials>,
    region: String,
    clock: Clock,
}

impl Signer {
    /// Signs with these credentials.
    pub fn new(credentials: Arc<Credentials>, region: String, clock: Clock) -> Self {
        Self { credentials, region, clock }
    }

    /// The headers that a request to a host needs, with its signature.
    pub fn sign(&self, request: &Request, host: &str, hash: &str) -> Vec<(&'static str, String)> {
        let keys = self.credentials.current();
        let time = stamp(self.clock.ticks() / TICKS_PER_SECOND - UNIX_EPOCH_SECONDS);
        let day = &time[..8];
        let mut headers = vec![
            ("host", host.to_owned()),
            ("x-amz-content-sha256", hash.to_owned()),
            ("x-amz-date", time.clone()),
        ];
        headers.extend(keys.token.clone().map(|token| ("x-amz-security-token", token)));
        let names: Vec<&str> = headers.iter().map(|(name, _)| *name).collect();
        let names = names.join(";");
        let lines: String = headers.iter().map(|(name, value)| format!("{name}:{value}\n")).collect();
        let (path, query) = (&request.path, &request.query);
        let canonical = format!("{}\n{path}\n{query}\n{lines}\n{names}\n{hash}", request.method);
        let scope = format!("{day}/{}/s3/aws4_request", self.region);
        let text = format!("{ALGORITHM}\n{time}\n{scope}\n{}", hex(&Sha256::digest(&canonical)));
        let mut key = hmac(format!("AWS4{}", keys.secret).as_bytes(), day);
        for part in [&self.region, "s3", "aws4_request"] {
            key = hmac(&key, part);
        }
        let signature = hex(&hmac(&key, &text));
        let credential = format!("{}/{scope}", keys.id);
        let authorization =
            format!("{ALGORITHM} Credential={credential}, SignedHeaders={names}, Signature={signature}");
        headers.push(("authorization", authorization));
        headers
    }
}

fn hmac(key: &[u8], text: &str) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of any length");
    mac.update(text.as_bytes());
    mac.finalize().into_bytes().to_vec()
}

/// Lower-case hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A time since 1970 as `20130524T000000Z`.
fn stamp(seconds: u64) -> String {
    let (days, time) = (seconds / 86_400, seconds % 86_400);
    // Eras of 400 years that start in March, so that a leap day ends a year.
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let (hour, minute, second) = (time / 3600, time / 60 % 60, time % 60);
    format!("{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}Z")
}

#[cfg(test)]
mod tests {
    use http::Method;

    use super::*;

    #[test]
    fn times() {
        for (seconds, expected) in [
            (0, "19700101T000000Z"),
            (951_782_400, "20000229T000000Z"),
            (1_369_353_600, "20130524T000000Z"),
            (1_767_225_599, "20251231T235959Z"),
            (4_107_542_400, "21000301T000000Z"),
        ] {
            assert_eq!(stamp(seconds), expected);
        }
    }

    /// Those vectors of Amazon's documentation that sign only headers that this module signs.
    #[test]
    fn signatures_match_the_documentation() {
        let credentials =
            Credentials::fixed("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", None);
        let clock = Clock::new(|| (1_369_353_600 + UNIX_EPOCH_SECONDS) * TICKS_PER_SECOND);
        let signer = Signer::new(Arc::new(credentials), "us-east-1".into(), clock);
        let empty = hex(&Sha256::digest(b""));
        let request = Request::new(Method::GET, "/".into()).query("max-keys", "2").query("prefix", "J");
        let headers = signer.sign(&request, "examplebucket.s3.amazonaws.com", &empty);
        let (_, authorization) = headers.last().unwrap();
        let expected = "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7";
        assert!(authorization.ends_with(&format!("Signature={expected}")), "{authorization}");
        assert!(authorization.contains("SignedHeaders=host;x-amz-content-sha256;x-amz-date,"));
    }
}
