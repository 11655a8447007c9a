//! Bearer tokens, and the keys to check them: no panic, and no forged token is accepted.

#![no_main]

use std::sync::OnceLock;

use lazuli_model::DateTime;
use lazuli_protocol::auth::bearer::{KeySet, Policy, Token};
use libfuzzer_sys::fuzz_target;

/// Public keys of both kinds whose private keys are not used here: the examples of RFC 7517.
const KEYS: &str = include_str!("../seeds/bearer_token/keys");

fn known() -> &'static KeySet {
    static KNOWN: OnceLock<KeySet> = OnceLock::new();
    KNOWN.get_or_init(|| KeySet::from_jwks(KEYS.as_bytes()).expect("the keys are good"))
}

fuzz_target!(|text: &str| {
    let given = KeySet::from_jwks(text.as_bytes());
    let Ok(token) = Token::parse(text) else { return };
    let policy = Policy {
        issuer: "https://issuer".into(),
        audiences: vec!["tables".into()],
        roles_claim: "roles".into(),
    };
    assert!(given.is_err(), "a token is no set of keys");
    let verified = token.verify(known(), &policy, "dev", DateTime::STORABLE_MIN);
    assert!(verified.is_err(), "a signature was guessed");
});
