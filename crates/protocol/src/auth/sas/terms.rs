//! The terms of a token: its lifetime, client addresses, protocols and permissions.

use std::net::IpAddr;

use lazuli_model::policy::SignedIdentifier;
use lazuli_model::time::TICKS_PER_SECOND;
use lazuli_model::{DateTime, ErrorCode, Failure, Permissions, Service};

use super::delegation::DELEGATION_KEY_SECONDS_MAX;
use super::{Kind, Token, failed_because, rejection, rejection_with};

/// The letters that an account token may have, for any services.
const ACCOUNT_PERMISSIONS: &str = "rwdxylacuptif";

/// The sender of a request, and the time.
#[derive(Clone, Copy, Debug)]
pub struct Caller {
    /// The server's time.
    pub now: DateTime,
    /// Where it comes from.
    pub address: IpAddr,
    /// Did it come over TLS?
    pub is_https: bool,
}

/// A range of addresses, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressRange {
    first: IpAddr,
    last: IpAddr,
}

impl AddressRange {
    /// Reads one address or `first-last`.
    pub fn parse(text: &str) -> Option<Self> {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        let (first, last): (IpAddr, IpAddr) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        (first.is_ipv4() == last.is_ipv4()).then_some(Self { first, last })
    }

    /// Is the address in the range?
    pub fn contains(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        address.is_ipv4() == self.first.is_ipv4() && (self.first..=self.last).contains(&address)
    }
}

/// The terms of a token, completed by a stored policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Terms {
    /// Not before.
    pub start: Option<DateTime>,
    /// Not after.
    pub expiry: DateTime,
    /// The operations that are permitted.
    pub permissions: Permissions,
    /// The permitted client addresses; `None` for all.
    pub addresses: Option<AddressRange>,
    /// Only by TLS.
    pub https_only: bool,
    /// The start and the end of the lifetime of the user delegation key that signed the token.
    pub delegation: Option<(DateTime, DateTime)>,
}

/// Reads a time in one of the documented forms: a date, or a date and time with `Z` or an offset.
pub fn parse_time(text: &str) -> Option<DateTime> {
    let zoned = match text.split_once('T') {
        None => text.len() == "YYYY-MM-DD".len(),
        Some((_, time)) => time.ends_with('Z') || time.contains(['+', '-']),
    };
    DateTime::parse(text).filter(|_| zoned && !text.contains(' '))
}

impl Token {
    /// The terms, if they are complete. `policies` are those of its table, queue or container.
    pub fn terms(&self, policies: &[SignedIdentifier]) -> Result<Terms, Failure> {
        let failed = || rejection(ErrorCode::AuthenticationFailed);
        let kind = self.kind().ok_or_else(failed)?;
        let stored = match (self.si.is_empty(), kind) {
            (true, _) => None,
            (false, Kind::Service(_)) => Some(policies.iter().find(|p| p.id == self.si).ok_or_else(failed)?),
            (false, Kind::Account | Kind::UserDelegation(_)) => return Err(failed()),
        };
        let policy = stored.and_then(|stored| stored.policy.as_ref());
        let start = one_of(time(&self.st)?, policy.and_then(|policy| policy.start))?;
        let expiry = one_of(time(&self.se)?, policy.and_then(|policy| policy.expiry))?;
        let own = Some(self.sp.as_str()).filter(|text| !text.is_empty());
        let permissions = one_of(own, policy.and_then(|policy| policy.permissions.as_deref()))?;
        let permissions = permissions.ok_or_else(|| failed_because("sp is mandatory. Cannot be empty"))?;
        self.check_range()?;
        Ok(Terms {
            start,
            expiry: expiry.ok_or_else(|| failed_because("se is mandatory. Cannot be empty"))?,
            delegation: match kind {
                Kind::UserDelegation(service) => Some(self.delegation_terms(service)?),
                Kind::Account | Kind::Service(_) => None,
            },
            permissions: Permissions::parse(permissions, letters(kind)).ok_or_else(failed)?,
            addresses: match self.sip.as_str() {
                "" => None,
                text => Some(AddressRange::parse(text).ok_or_else(failed)?),
            },
            https_only: match self.spr.as_str() {
                "" | "https,http" => false,
                "https" => true,
                _ => return Err(failed()),
            },
        })
    }

    /// The lifetime of the user delegation key, which must be one that the service could have issued.
    fn delegation_terms(&self, service: Service) -> Result<(DateTime, DateTime), Failure> {
        let failed = || failed_because("The user delegation key is not valid.");
        let (start, expiry) = (time(&self.skt)?.ok_or_else(failed)?, time(&self.ske)?.ok_or_else(failed)?);
        let lasts = expiry.ticks().saturating_sub(start.ticks());
        let legal = self.sks.chars().eq([service.sas_letter()])
            && lasts <= DELEGATION_KEY_SECONDS_MAX * TICKS_PER_SECOND;
        // A token for one user must come with that user's bearer token, which is not checked here.
        if !legal || !self.sduoid.is_empty() {
            return Err(failed());
        }
        Ok((start, expiry))
    }

    /// A RowKey is only meaningful within a partition.
    fn check_range(&self) -> Result<(), Failure> {
        let complete = |partition: &str, row: &str| row.is_empty() || !partition.is_empty();
        if complete(&self.spk, &self.srk) && complete(&self.epk, &self.erk) {
            return Ok(());
        }
        Err(rejection(ErrorCode::AuthenticationFailed))
    }
}

fn time(text: &str) -> Result<Option<DateTime>, Failure> {
    match text {
        "" => Ok(None),
        text => parse_time(text).map(Some).ok_or_else(|| rejection(ErrorCode::AuthenticationFailed)),
    }
}

fn letters(kind: Kind) -> &'static str {
    match kind {
        Kind::Account => ACCOUNT_PERMISSIONS,
        Kind::Service(service) | Kind::UserDelegation(service) => service.permission_letters(),
    }
}

/// Each term is specified by the token or by the policy, but not by both.
fn one_of<T>(own: Option<T>, stored: Option<T>) -> Result<Option<T>, Failure> {
    match (own, stored) {
        (Some(_), Some(_)) => Err(failed_because(
            "Access policy fields can be associated with signature or SAS identifier but not both",
        )),
        (own, stored) => Ok(own.or(stored)),
    }
}

impl Terms {
    /// Does the request meet the terms?
    pub fn check(&self, caller: &Caller) -> Result<(), Failure> {
        check_time(self.start, self.expiry, caller.now)?;
        if let Some((start, expiry)) = self.delegation {
            check_time(Some(start), expiry, caller.now)?;
        }
        if self.addresses.is_some_and(|range| !range.contains(caller.address)) {
            let address = caller.address.to_canonical();
            return Err(rejection_with(
                ErrorCode::AuthorizationSourceIPMismatch,
                format!(
                    "This request is not authorized to perform this operation using this source IP {address}."
                ),
            ));
        }
        if self.https_only && !caller.is_https {
            return Err(rejection(ErrorCode::AuthorizationProtocolMismatch));
        }
        Ok(())
    }
}

fn check_time(start: Option<DateTime>, expiry: DateTime, now: DateTime) -> Result<(), Failure> {
    if now <= expiry && start.is_none_or(|start| now >= start) {
        return Ok(());
    }
    let (expires, current) = (expiry.http(), now.http());
    let (expires, current) = (expires.as_str(), current.as_str());
    // The start defaults to the time of the request.
    let begins = start.unwrap_or(now);
    let starts = begins.http();
    let starts = starts.as_str();
    Err(failed_because(if begins >= expiry {
        format!("Signed expiry time [{expires}] must be after signed start time [{starts}]")
    } else {
        format!(
            "Signature not valid in the specified time frame: Start [{starts}] - Expiry [{expires}] - Current [{current}]"
        )
    }))
}
