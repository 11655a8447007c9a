//! The terms of a token: for how long, from where, by which protocol, with which rights.

use std::net::IpAddr;

use lazuli_model::policy::SignedIdentifier;
use lazuli_model::{DateTime, ErrorCode, Failure, Permissions};

use super::{Kind, Token, refuse, refuse_with};

/// The letters that an account token may have; those that mean nothing to tables are overlooked.
const ACCOUNT_PERMISSIONS: &str = "rwdxylacuptif";

/// Who sends a request, and when.
#[derive(Clone, Copy, Debug)]
pub struct Caller {
    /// The server's time.
    pub now: DateTime,
    /// Where it comes from.
    pub address: IpAddr,
    /// Whether it came by TLS.
    pub is_https: bool,
}

/// Addresses from one to another, both included.
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
    /// What is allowed.
    pub permissions: Permissions,
    /// From where; `None` from anywhere.
    pub addresses: Option<AddressRange>,
    /// Only by TLS.
    pub https_only: bool,
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
    /// The terms, if they are complete. `policies` are those of its table; none for an account.
    pub fn terms(&self, policies: &[SignedIdentifier]) -> Result<Terms, Failure> {
        let failed = || refuse(ErrorCode::AuthenticationFailed);
        let kind = self.kind().ok_or_else(failed)?;
        let stored = match (self.si.is_empty(), kind) {
            (true, _) => None,
            (false, Kind::Table) => Some(policies.iter().find(|p| p.id == self.si).ok_or_else(failed)?),
            (false, Kind::Account) => return Err(failed()),
        };
        let policy = stored.and_then(|stored| stored.policy.as_ref());
        let time = |text: &str| match text {
            "" => Ok(None),
            text => parse_time(text).map(Some).ok_or_else(failed),
        };
        let start = one_of(time(&self.st)?, policy.and_then(|policy| policy.start))?;
        let expiry = one_of(time(&self.se)?, policy.and_then(|policy| policy.expiry))?;
        let own = Some(self.sp.as_str()).filter(|text| !text.is_empty());
        let permissions = one_of(own, policy.and_then(|policy| policy.permissions.as_deref()))?;
        let known = if kind == Kind::Table { Permissions::OF_TABLES } else { ACCOUNT_PERMISSIONS };
        let permissions = permissions.and_then(|text| Permissions::parse(text, known));
        self.check_range()?;
        Ok(Terms {
            start,
            expiry: expiry.ok_or_else(failed)?,
            permissions: permissions.ok_or_else(failed)?,
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

    /// A RowKey only means something in a partition.
    fn check_range(&self) -> Result<(), Failure> {
        let complete = |partition: &str, row: &str| row.is_empty() || !partition.is_empty();
        if complete(&self.spk, &self.srk) && complete(&self.epk, &self.erk) {
            return Ok(());
        }
        Err(refuse(ErrorCode::AuthenticationFailed))
    }
}

/// Each term is said by the token or by the policy, not by both.
fn one_of<T>(own: Option<T>, stored: Option<T>) -> Result<Option<T>, Failure> {
    match (own, stored) {
        (Some(_), Some(_)) => Err(refuse(ErrorCode::AuthenticationFailed)),
        (own, stored) => Ok(own.or(stored)),
    }
}

impl Terms {
    /// Does the request keep to the terms?
    pub fn check(&self, caller: &Caller) -> Result<(), Failure> {
        if caller.now > self.expiry || self.start.is_some_and(|start| caller.now < start) {
            return Err(refuse(ErrorCode::AuthenticationFailed));
        }
        if self.addresses.is_some_and(|range| !range.contains(caller.address)) {
            let address = caller.address.to_canonical();
            return Err(refuse_with(
                ErrorCode::AuthorizationSourceIPMismatch,
                format!(
                    "This request is not authorized to perform this operation using this source IP {address}."
                ),
            ));
        }
        if self.https_only && !caller.is_https {
            return Err(refuse(ErrorCode::AuthorizationProtocolMismatch));
        }
        Ok(())
    }
}
