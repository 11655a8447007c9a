//! Shared access signatures: rights in the query of a URL, signed with a key of the account.
//!
//! A [`Token`] is the parameters as they were given; an absent one is empty, as it is in the text that is signed, so that
//! leaving an empty parameter out changes nothing. What it grants is known in three steps: its signature is that of the
//! account ([`Token::check_signature`]), its terms are complete, with or without a stored policy ([`Token::terms`]), and
//! the request keeps to them ([`Terms::check`]). Which operations the rights are good for is the service's to say.

mod terms;

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use lazuli_model::error::Origin;
use lazuli_model::{ErrorCode, Failure};

pub use terms::{AddressRange, Caller, Terms, parse_time};

use super::{AccountKey, signature_text};
use crate::address::Query;
use crate::{ApiVersion, percent};

/// What a token is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Services, tables and entities of an account.
    Account,
    /// Entities of one table.
    Table,
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

            /// A place for the value of a parameter.
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
    /// The version by which it is signed.
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
    /// The addresses that it may come from.
    sip,
    /// The protocols that it may come by.
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
}

impl Token {
    /// The token in a query, if there is a signature in it.
    pub fn parse(query: Query<'_>) -> Option<Self> {
        let mut token = Self::default();
        let mut signed = false;
        for (name, value) in query.pairs().flatten() {
            // The first of several is the one that counts, as for every other parameter.
            if let Some(place) = token.get_mut(&name).filter(|place| place.is_empty()) {
                *place = value.into_owned();
            }
            signed |= name == "sig";
        }
        // Line ends part the fields of the signed text: in a field they would let one signature stand for another text.
        if token.fields().any(|value| value.contains(['\n', '\r'])) {
            return Some(Self { sig: String::new(), ..token }).filter(|_| signed);
        }
        // A plus sign that nobody escaped has become a blank on its way.
        token.sig = token.sig.replace(' ', "+");
        signed.then_some(token)
    }

    /// The version by which it is signed.
    pub fn version(&self) -> Option<ApiVersion> {
        ApiVersion::parse(&self.sv)
    }

    /// What it is for, if it can be told and if its version knows the kind.
    pub fn kind(&self) -> Option<Kind> {
        let version = self.version()?;
        match (self.tn.is_empty(), self.ss.is_empty() && self.srt.is_empty()) {
            (false, true) if version >= ApiVersion::V2012_02_12 => Some(Kind::Table),
            (true, false) if version >= ApiVersion::V2015_04_05 => Some(Kind::Account),
            _ => None,
        }
    }

    /// The texts that may have been signed: usually one.
    pub fn texts_to_sign(&self, account: &str) -> Vec<String> {
        match (self.kind(), self.version()) {
            (Some(Kind::Account), Some(version)) => self.account_texts(account, version),
            (Some(Kind::Table), Some(version)) => vec![self.table_text(account, version)],
            _ => Vec::new(),
        }
    }

    /// From 2020-12-06 on there is a line for the encryption scope; the SDKs for tables sign without it.
    fn account_texts(&self, account: &str, version: ApiVersion) -> Vec<String> {
        let Self { sp, ss, srt, st, se, sip, spr, sv, ses, .. } = self;
        let short = format!("{account}\n{sp}\n{ss}\n{srt}\n{st}\n{se}\n{sip}\n{spr}\n{sv}\n");
        match (version >= ApiVersion::V2020_12_06, ses.is_empty()) {
            (false, _) => vec![short],
            (true, true) => vec![format!("{short}\n"), short],
            (true, false) => vec![format!("{short}{ses}\n")],
        }
    }

    fn table_text(&self, account: &str, version: ApiVersion) -> String {
        let Self { sp, st, se, si, sip, spr, sv, spk, srk, epk, erk, .. } = self;
        let service = if version >= ApiVersion::V2015_02_21 { "/table" } else { "" };
        let resource = format!("{service}/{account}/{}", self.tn.to_lowercase());
        let conditions =
            if version >= ApiVersion::V2015_04_05 { format!("{sip}\n{spr}\n") } else { String::new() };
        format!("{sp}\n{st}\n{se}\n{resource}\n{si}\n{conditions}{sv}\n{spk}\n{srk}\n{epk}\n{erk}")
    }

    /// Signs it with a key of the account. `false` if it is neither for an account nor for a table.
    pub fn sign(&mut self, account: &str, key: &AccountKey) -> bool {
        match self.texts_to_sign(account).first() {
            Some(text) => {
                self.sig = signature_text(&key.sign(text));
                true
            }
            None => false,
        }
    }

    /// Is it signed with one of these keys?
    pub fn check_signature(&self, account: &str, keys: &[AccountKey]) -> Result<Kind, Failure> {
        let failed = || refuse(ErrorCode::AuthenticationFailed);
        let kind = self.kind().ok_or_else(failed)?;
        let signature = STANDARD.decode(&self.sig).ok().and_then(|bytes| bytes.try_into().ok());
        let signature = signature.ok_or_else(failed)?;
        let texts = self.texts_to_sign(account);
        let signed = keys.iter().any(|key| texts.iter().any(|text| key.verifies(text, &signature)));
        if signed { Ok(kind) } else { Err(failed()) }
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

    /// The version of a request that carries it: `api-version`, else the one by which it is signed. Tokens of the time
    /// before `api-version` leave the choice to the header.
    pub fn request_version(&self, query: Query<'_>, header: ApiVersion) -> Result<ApiVersion, Failure> {
        let own = self.version().unwrap_or(ApiVersion::NONE);
        match query.get("api-version").filter(|text| !text.is_empty()) {
            Some(text) => {
                ApiVersion::parse(&text).ok_or_else(|| refuse(ErrorCode::InvalidQueryParameterValue))
            }
            None if own < ApiVersion::V2014_02_14 && header != ApiVersion::NONE => Ok(header),
            None => Ok(own),
        }
    }
}

fn refuse(code: ErrorCode) -> Failure {
    Failure::from(code).found_in(Origin::FrontEnd)
}

fn refuse_with(code: ErrorCode, text: impl Into<Cow<'static, str>>) -> Failure {
    Failure::new(code, text).found_in(Origin::FrontEnd)
}

#[cfg(test)]
mod tests;
