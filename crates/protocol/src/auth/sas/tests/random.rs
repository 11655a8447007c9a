//! Tokens of every kind with random strings.

use proptest::prelude::*;

use super::*;
use crate::auth::bearer::DELEGATE;

/// The kind of resource and the signed parameters of each kind of token.
const SIGNED: [(&str, &str); 7] = [
    ("", "sp ss srt st se sip spr ses"),
    ("", "tn sp st se si sip spr spk srk epk erk"),
    ("", "sp st se si sip spr"),
    ("b", "sp st se si sip spr ses rscc rscd rsce rscl rsct"),
    (
        "c",
        "sp st se sip spr ses skoid sktid skt ske sks skv skdutid sduoid saoid suoid scid srh srq rscc rscd rsce rscl rsct",
    ),
    ("", "sp st se sip spr skoid sktid skt ske sks skv skdutid sduoid"),
    ("q", "sp st se sip spr skoid sktid skt ske sks skv skdutid sduoid"),
];

proptest! {
    /// With any strings, a signed token is accepted, even after a round trip through a URL, and rejected if any
    /// string is changed.
    #[test]
    fn signed_tokens_survive_a_url(
        texts in proptest::collection::vec("\\PC{1,12}", Token::NAMES.len()),
        changed in any::<proptest::sample::Index>(),
        kind in 0..SIGNED.len(),
    ) {
        let (resource, names) = SIGNED[kind];
        let mut token = Token { sv: "2026-04-06".into(), sr: resource.into(), ..Token::default() };
        for (name, text) in names.split(' ').zip(&texts) {
            *token.get_mut(name).unwrap() = text.clone();
        }
        let request = || Presented::resource(ACCOUNT, "c/x");
        let signing = match token.kind() {
            Some(Kind::UserDelegation(_)) => {
                token.delegation_key().signing_key(ACCOUNT, &key(), Permissions::of(DELEGATE))
            }
            _ => key(),
        };
        prop_assert!(token.sign(request(), &signing));
        let mut read = Token::parse(Query(&token.to_query())).unwrap();
        prop_assert_eq!(&read, &token);
        prop_assert!(read.check_signature(request(), &[key()]).is_ok());
        let names: Vec<&str> = names.split(' ').collect();
        let name = names[changed.index(names.len())];
        read.get_mut(name).unwrap().push('1');
        prop_assert!(read.check_signature(request(), &[key()]).is_err(), "{}", name);
    }

    #[test]
    fn any_query_is_read(query in "\\PC{0,60}") {
        if let Some(token) = Token::parse(Query(&query)) {
            let _ = (token.kind(), token.terms(&[]), token.check_signature(ACCOUNT, &[key()]), token.to_query());
        }
    }
}
