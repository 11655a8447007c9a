//! The strings to sign of shared access signatures: one per kind of token and era of the service.
//!
//! Fields are joined by line feeds. [`Token::parse`] rejects values that contain line ends, so no string can be
//! mistaken for that of another token.

use std::borrow::Cow;

use lazuli_model::Service;

use super::{Kind, Presented, Token};
use crate::ApiVersion;

impl Token {
    /// The strings that may have been signed: usually one; none if the token cannot apply to this request.
    pub fn texts_to_sign<'a>(&self, request: impl Into<Presented<'a>>) -> Vec<String> {
        let request = request.into();
        let version = self.version().unwrap_or(ApiVersion::NONE);
        match self.kind() {
            Some(Kind::Account) => self.account_texts(request.account, version),
            Some(Kind::Service(Service::Table)) => vec![self.table_text(request.account, version)],
            Some(Kind::Service(Service::Queue)) => self.queue_text(&request, version).into_iter().collect(),
            Some(Kind::Service(Service::Blob)) => self.blob_text(&request, version).into_iter().collect(),
            Some(Kind::UserDelegation(Service::Blob)) => {
                self.delegated_blob_text(&request, version).into_iter().collect()
            }
            Some(Kind::UserDelegation(_)) => self.delegated_queue_text(&request).into_iter().collect(),
            None => Vec::new(),
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
        let Self { sp, st, se, si, sv, spk, srk, epk, erk, .. } = self;
        let resource = resource(Service::Table, account, &self.tn.to_lowercase(), version);
        let conditions = self.conditions(version);
        format!("{sp}\n{st}\n{se}\n{resource}\n{si}\n{conditions}{sv}\n{spk}\n{srk}\n{epk}\n{erk}")
    }

    fn queue_text(&self, request: &Presented<'_>, version: ApiVersion) -> Option<String> {
        let Self { sp, st, se, si, sv, .. } = self;
        let resource = resource(Service::Queue, request.account, request.queue()?, version);
        let conditions = self.conditions(version);
        Some(format!("{sp}\n{st}\n{se}\n{resource}\n{si}\n{conditions}{sv}"))
    }

    fn blob_text(&self, request: &Presented<'_>, version: ApiVersion) -> Option<String> {
        let Self { sp, st, se, si, sv, sr, ses, .. } = self;
        let kind = self.resource()?;
        let resource = resource(Service::Blob, request.account, &request.blob_path(kind)?, version);
        let mut text = format!("{sp}\n{st}\n{se}\n{resource}\n{si}");
        if version >= ApiVersion::V2012_02_12 {
            text.push_str(&format!("\n{}{sv}", self.conditions(version)));
        }
        if version >= ApiVersion::V2018_11_09 {
            text.push_str(&format!("\n{sr}\n{}", request.snapshot(kind)));
        }
        if version >= ApiVersion::V2020_12_06 {
            text.push_str(&format!("\n{ses}"));
        }
        if version >= ApiVersion::V2013_08_15 {
            self.push_response_headers(&mut text);
        }
        Some(text)
    }

    /// Newer eras insert fields; none was ever removed.
    fn delegated_blob_text(&self, request: &Presented<'_>, version: ApiVersion) -> Option<String> {
        let Self { sp, st, se, sip, spr, sv, sr, ses, saoid, suoid, scid, skdutid, sduoid, .. } = self;
        let kind = self.resource()?;
        let resource = resource(Service::Blob, request.account, &request.blob_path(kind)?, version);
        let mut text = format!("{sp}\n{st}\n{se}\n{resource}\n{}", self.key_fields());
        if version >= ApiVersion::V2020_02_10 {
            text.push_str(&format!("\n{saoid}\n{suoid}\n{scid}"));
        }
        if version >= ApiVersion::V2025_07_05 {
            text.push_str(&format!("\n{skdutid}\n{sduoid}"));
        }
        text.push_str(&format!("\n{sip}\n{spr}\n{sv}\n{sr}\n{}", request.snapshot(kind)));
        if version >= ApiVersion::V2020_12_06 {
            text.push_str(&format!("\n{ses}"));
        }
        if version >= ApiVersion::V2026_04_06 {
            let headers = request.signed_headers(self);
            text.push_str(&format!("\n{headers}\n{}", request.signed_parameters(self)));
        }
        self.push_response_headers(&mut text);
        Some(text)
    }

    fn delegated_queue_text(&self, request: &Presented<'_>) -> Option<String> {
        let Self { sp, st, se, sip, spr, sv, skdutid, sduoid, .. } = self;
        let resource = resource(Service::Queue, request.account, request.queue()?, ApiVersion::V2025_07_05);
        let key = self.key_fields();
        Some(format!("{sp}\n{st}\n{se}\n{resource}\n{key}\n{skdutid}\n{sduoid}\n{sip}\n{spr}\n{sv}"))
    }

    fn key_fields(&self) -> String {
        let Self { skoid, sktid, skt, ske, sks, skv, .. } = self;
        format!("{skoid}\n{sktid}\n{skt}\n{ske}\n{sks}\n{skv}")
    }

    fn push_response_headers(&self, text: &mut String) {
        for field in [&self.rscc, &self.rscd, &self.rsce, &self.rscl, &self.rsct] {
            text.push('\n');
            text.push_str(field);
        }
    }

    /// The lines for addresses and protocols, each with its line feed.
    fn conditions(&self, version: ApiVersion) -> Cow<'static, str> {
        if version < ApiVersion::V2015_04_05 {
            return Cow::Borrowed("");
        }
        Cow::Owned(format!("{}\n{}\n", self.sip, self.spr))
    }
}

/// The resource as it is signed: from 2015-02-21 on with the name of the service.
fn resource(service: Service, account: &str, path: &str, version: ApiVersion) -> String {
    if version < ApiVersion::V2015_02_21 {
        return format!("/{account}/{path}");
    }
    format!("/{}/{account}/{path}", service.label())
}

#[cfg(test)]
mod tests;
