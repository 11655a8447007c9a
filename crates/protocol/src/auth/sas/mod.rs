//! Shared access signatures: rights in the query of a URL, signed with a key of the account.
//!
//! A [`Token`] is the parameters as they were given; an absent one is empty, as in the signed string, so
//! omitting an empty parameter changes nothing. What it grants is determined in three steps: its signature is
//! that of the account, or of a user whose rights limit it ([`Token::check_signature`]), its terms are
//! complete, with or without a stored policy ([`Token::terms`]), and the request meets them ([`Terms::check`]).
//! The service decides which operations the rights permit.

mod delegation;
mod presented;
mod terms;
mod text;

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lazuli_model::error::Origin;
use lazuli_model::{ErrorCode, Failure, Permissions, Service};

pub use delegation::{DELEGATION_KEY_SECONDS_MAX, DelegationKey, Delegator, issue};
pub use presented::Presented;
pub use terms::{AddressRange, Caller, Terms, parse_time};

use super::{AccountKey, signature_text};
use crate::ApiVersion;
use crate::http::percent;
use crate::http::query::Query;

/// A kind of token: the resources that it grants access to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Services, containers and objects of an account.
    Account,
    /// One table, queue, container or blob.
    Service(Service),
    /// One queue, container or blob, signed with a user delegation key.
    UserDelegation(Service),
}

/// A token with a valid signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signed {
    /// The kind of token.
    pub kind: Kind,
    /// The rights of its signer, which limit those of the token: all rights with a key of the account, those of the
    /// user's roles with a user delegation key.
    pub rights: Permissions,
}

/// The resource that a token for the Blob service covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignedResource {
    /// A container with its blobs.
    Container,
    /// One blob; before 2018-11-09 also its snapshots.
    Blob,
    /// One snapshot.
    Snapshot,
    /// One version.
    Version,
    /// A directory of this depth, with everything in it.
    Directory(usize),
}

macro_rules! parameters {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// The parameters of a shared access signature, decoded; absent ones are empty.
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        pub struct Token {
            $($(#[$doc])* pub $name: String,)*
            /// The signature, in Base64.
            pub sig: String,
        }

        impl Token {
            /// The names of the parameters, in the order in which they are written.
            pub const NAMES: &[&str] = &[$(stringify!($name),)* "sig"];

            /// The value of a parameter.
            pub fn get(&self, name: &str) -> Option<&str> {
                match name {
                    $(stringify!($name) => Some(&self.$name),)*
                    "sig" => Some(&self.sig),
                    _ => None,
                }
            }

            /// A mutable reference to the value of a parameter.
            pub fn get_mut(&mut self, name: &str) -> Option<&mut String> {
                match name {
                    $(stringify!($name) => Some(&mut self.$name),)*
                    "sig" => Some(&mut self.sig),
                    _ => None,
                }
            }

            /// The values of all parameters but the signature.
            fn fields(&self) -> impl Iterator<Item = &str> {
                [$(self.$name.as_str(),)*].into_iter()
            }
        }
    };
}

parameters! {
    /// The version by whose rules it is signed.
    sv,
    /// The services of an account token: letters of `bqtf`.
    ss,
    /// The resource types of an account token: letters of `sco`.
    srt,
    /// The table of a table token.
    tn,
    /// The permissions.
    sp,
    /// Not before.
    st,
    /// Not after.
    se,
    /// The addresses from which it may be used.
    sip,
    /// The protocols with which it may be used.
    spr,
    /// The encryption scope, which tables do not have.
    ses,
    /// The stored access policy that completes a table token.
    si,
    /// The first PartitionKey.
    spk,
    /// The first RowKey in it.
    srk,
    /// The last PartitionKey.
    epk,
    /// The last RowKey in it.
    erk,
    /// The kind of resource of a blob token; `q` in a token for a queue.
    sr,
    /// The depth of the directory of a blob token.
    sdd,
    /// The object id of the user whose key signs it.
    skoid,
    /// The tenant of that user.
    sktid,
    /// The start time of that key.
    skt,
    /// The expiry time of that key.
    ske,
    /// The service of that key.
    sks,
    /// The version by which that key was created.
    skv,
    /// The tenant of the user who may use the token.
    skdutid,
    /// The object id of the user who may use the token.
    sduoid,
    /// The object id that the holder of a directory token acts as.
    saoid,
    /// Like `saoid`, checked against access control lists.
    suoid,
    /// A correlation id for logs.
    scid,
    /// Names of request headers whose values are signed, separated by commas.
    srh,
    /// Names of query parameters whose values are signed, separated by commas.
    srq,
    /// `Cache-Control` of the response.
    rscc,
    /// `Content-Disposition` of the response.
    rscd,
    /// `Content-Encoding` of the response.
    rsce,
    /// `Content-Language` of the response.
    rscl,
    /// `Content-Type` of the response.
    rsct,
}

impl Token {
    /// The token in a query, if there is a signature in it.
    pub fn parse(query: Query<'_>) -> Option<Self> {
        let mut token = Self::default();
        let mut signed = false;
        for (name, value) in query.pairs().flatten() {
            // If there are several, the first one counts, as for every other parameter.
            if let Some(place) = token.get_mut(&name).filter(|place| place.is_empty()) {
                *place = value.into_owned();
            }
            signed |= name == "sig";
        }
        // Line feeds separate the fields of the string to sign: in a field they would make a signature valid for another token.
        if token.fields().any(|value| value.contains(['\n', '\r'])) {
            return Some(Self { sig: String::new(), ..token }).filter(|_| signed);
        }
        // A plus sign that was not escaped has been decoded as a space.
        token.sig = token.sig.replace(' ', "+");
        signed.then_some(token)
    }

    /// The version by whose rules it is signed.
    pub fn version(&self) -> Option<ApiVersion> {
        ApiVersion::parse(&self.sv)
    }

    /// The kind of token, if the parameters determine it and the version supports it.
    pub fn kind(&self) -> Option<Kind> {
        let for_account = !self.ss.is_empty() || !self.srt.is_empty();
        // A queue token does not specify its resource, or specifies a queue.
        let (says_queue, for_blob) = (self.sr == "q", !["", "q"].contains(&self.sr.as_str()));
        // Before 2012-02-12 tokens had no version and existed only for blobs.
        let version = match self.version() {
            None if self.sv.is_empty() && for_blob => ApiVersion::NONE,
            version => version?,
        };
        let (kind, since) = match (for_account, self.tn.is_empty(), self.skoid.is_empty(), for_blob) {
            (true, true, true, false) if !says_queue => (Kind::Account, ApiVersion::V2015_04_05),
            (false, false, true, false) if !says_queue => {
                (Kind::Service(Service::Table), ApiVersion::V2012_02_12)
            }
            (false, true, true, false) => (Kind::Service(Service::Queue), ApiVersion::V2012_02_12),
            (false, true, true, true) => (Kind::Service(Service::Blob), ApiVersion::NONE),
            (false, true, false, false) => (Kind::UserDelegation(Service::Queue), ApiVersion::V2025_07_05),
            (false, true, false, true) => (Kind::UserDelegation(Service::Blob), ApiVersion::V2018_11_09),
            _ => return None,
        };
        (version >= since && (!for_blob || self.resource().is_some())).then_some(kind)
    }

    /// The resource that a token for the Blob service covers.
    pub fn resource(&self) -> Option<SignedResource> {
        match self.sr.as_str() {
            "c" => Some(SignedResource::Container),
            "b" => Some(SignedResource::Blob),
            "bs" => Some(SignedResource::Snapshot),
            "bv" => Some(SignedResource::Version),
            "d" => self.sdd.parse().ok().map(SignedResource::Directory),
            _ => None,
        }
    }

    /// Headers of the response that the token sets for reads of blobs, as far as its signature covers them.
    pub fn response_headers(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let signed =
            matches!(self.kind(), Some(Kind::Service(Service::Blob) | Kind::UserDelegation(Service::Blob)))
                && self.version() >= Some(ApiVersion::V2013_08_15);
        let all = [
            ("Cache-Control", &self.rscc),
            ("Content-Disposition", &self.rscd),
            ("Content-Encoding", &self.rsce),
            ("Content-Language", &self.rscl),
            ("Content-Type", &self.rsct),
        ];
        all.into_iter()
            .filter(move |(_, value)| signed && !value.is_empty())
            .map(|(name, value)| (name, value.as_str()))
    }

    /// Signs it with a key of the account, or with a user delegation key. `false` if its kind is unknown.
    pub fn sign<'a>(&mut self, request: impl Into<Presented<'a>>, key: &AccountKey) -> bool {
        match self.texts_to_sign(request).first() {
            Some(text) => {
                self.sig = signature_text(&key.sign(text));
                true
            }
            None => false,
        }
    }

    /// Checks that it is signed with one of these keys of the account, or with a user delegation key derived from one.
    pub fn check_signature<'a>(
        &self,
        request: impl Into<Presented<'a>>,
        keys: &[AccountKey],
    ) -> Result<Signed, Failure> {
        let failed = || rejection(ErrorCode::AuthenticationFailed);
        let request = request.into();
        let kind = self.kind().ok_or_else(failed)?;
        let service = match kind {
            Kind::Account => None,
            Kind::Service(service) | Kind::UserDelegation(service) => Some(service),
        };
        if request.service.is_some() && service.is_some() && request.service != service {
            return Err(failed());
        }
        let signature = STANDARD.decode(&self.sig).ok().and_then(|bytes| bytes.try_into().ok());
        let signature = signature.ok_or_else(failed)?;
        let account = request.account;
        let texts = self.texts_to_sign(request);
        let signs = |key: &AccountKey| texts.iter().any(|text| key.verifies(text, &signature));
        let rights = match kind {
            Kind::UserDelegation(service) => self.delegation_key().find_rights(service, account, keys, signs),
            Kind::Account | Kind::Service(_) => keys.iter().any(signs).then_some(Permissions::ALL),
        };
        if let Some(rights) = rights {
            return Ok(Signed { kind, rights });
        }
        let text = texts.first().map_or("", String::as_str);
        Err(failed_because(format!("Signature did not match. String to sign used was {text}")))
    }

    /// The token as the query of a URL.
    pub fn to_query(&self) -> String {
        let mut out = Vec::new();
        for name in Self::NAMES {
            let value = self.get(name).unwrap_or_default();
            if !value.is_empty() {
                if !out.is_empty() {
                    out.push(b'&');
                }
                out.extend_from_slice(name.as_bytes());
                out.push(b'=');
                percent::encode_into(&mut out, value);
            }
        }
        String::from_utf8(out).unwrap_or_default()
    }

    /// The version of a request that carries it. `api-version` takes precedence. Without it, the header
    /// determines the version for Blob and Queue, and for tokens from before `api-version`; otherwise it is the
    /// version by whose rules the token is signed.
    pub fn request_version(
        &self,
        service: Service,
        query: Query<'_>,
        header: ApiVersion,
    ) -> Result<ApiVersion, Failure> {
        let own = self.version().unwrap_or(ApiVersion::NONE);
        let header_counts = service != Service::Table || own < ApiVersion::V2014_02_14;
        match query.get("api-version").filter(|text| !text.is_empty()) {
            Some(text) => {
                ApiVersion::parse(&text).ok_or_else(|| rejection(ErrorCode::InvalidQueryParameterValue))
            }
            None if header_counts && header != ApiVersion::NONE => Ok(header),
            None => Ok(own),
        }
    }
}

fn rejection(code: ErrorCode) -> Failure {
    Failure::from(code).found_in(Origin::FrontEnd)
}

/// `AuthenticationFailed` with the reason, which the errors of Blob and Queue contain.
fn failed_because(detail: impl Into<Cow<'static, str>>) -> Failure {
    rejection(ErrorCode::AuthenticationFailed).detail("AuthenticationErrorDetail", detail)
}

fn rejection_with(code: ErrorCode, text: impl Into<Cow<'static, str>>) -> Failure {
    Failure::new(code, text).found_in(Origin::FrontEnd)
}

#[cfg(test)]
mod tests;
