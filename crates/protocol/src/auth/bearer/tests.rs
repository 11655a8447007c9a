//! Tokens made here, as an issuer would, and everything that can be wrong with one.

use ring::rand::SystemRandom;
use ring::rsa::PublicKeyComponents;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair, EcdsaSigningAlgorithm,
    KeyPair as _, RSA_PKCS1_SHA256, RSA_PKCS1_SHA384, RSA_PKCS1_SHA512, RsaEncoding, RsaKeyPair,
};
use serde_json::json;

use super::*;

/// A key that protects nothing: generating one of this kind takes a long time.
const RSA_KEY: &str = "\
    MIIEpAIBAAKCAQEA2NuLav+1GXfMCuBL3esVzoCcKCuZyBNEPrnOmUlbToimGdE8wX6X+PnnaI6vNi7WgkxhDx8XZO5trpCOElQF+pHX6Z+Ifx\
    lObYJ+uKXeq2b4ZpillhcjF8Xvp2P/eDh6Ocy3HSi2DNSke0HDtikVqH4isChu4o847x1qlDTtsJ13o3c/+3yPLPbaFLuHRNx/Wy0KUAch/p1r\
    dNkAlDySK0j0X8vQ97oy6g7PYymEtWHFgibfdhSnnmGyAKVE4GXSQsRTJaIE3CSZljuYr3J2qQWNa4TYzP4Mz8PUF0Fyv2W6/IzINRquGqTTk5\
    1TP05FM+fhAiHjwKEqIg/C1FYDTQIDAQABAoIBAC6gTcKsxjh6nIF+JnHJmP+0gV7VuRPeqJ6//p7QufQRx3znkyObX3ul586AV0XUHkUXvQqu\
    Sa5m4WhWJmXkcQCmGQFfTs7dFxLOqwZyi4TY9/G/QmMaCG6VHWklRAmKQyVoUbrQRQxPMCpcQoNJJCH9NOIhX24RE1G+RmslUjHV0/sdha50xo\
    QDl3Vxs4+WxEkbr4arJM6gN0xpgJIjJyBEgRIS2Ej5ObOQWtNVhN96SG6+hA64osEvigqGqj1JzDcrk9wq3ayo4phLZtpACTdOFsXT9egzPRTa\
    kaVQEiORPac1R0fK8bVveg4E1/76lFh0W6VWND7FiyV/66bMtqECgYEA/3/MIUDY8IS3Zn86qdeWLGDCD5f6xNIUzTMCuFLUusRcBEFVM6glbj\
    +/0FHXcX+myrY0RpKFoPreb0sEcb2y1AVWpOAeodzEkOe0WFL8VFEOcJVejvwnFrEPMZM6PjjEDtaHWnY0BksgaoIVEd5py7XOpxIPBMV/SHH2\
    8/bzaVUCgYEA2Uhbn0iXuHDe+QrvnVzPEvnWSLTEFaJQX2LCqVmOMECUlSlPmiKEIfESCXJwP2lqGVqnwA3SeULyTAc+FoUmHLnOyUFNplXcbE\
    qkjZkbZYVzk99PlpIx8JO/b3wqrafxrb02oss7lH3VDC/D2EzX15mqCePU2rZH6G1iWQ2F0hkCgYAVvgFX/xW2+gRFY6RRWbg81IsPGqbLYvlE\
    MQgVOW9C6XzPG+QtPizZQfGHv78uuGcwLusp6kQW2+Jb5C1fpH34Tu/9ndjde1T648zUC1PPtQoeiIeAcXK+GpkpZdb5/oionpbsGsz4kCIVDj\
    bOy3eDT1hjnUTL6iaXuqMCRcyW9QKBgQCeIdsMgXhp8ztTZHIexHywAsPBBk3usMJtqSKivVqOI3H/XKFiO9yOFzRZS8AFZmKhMSkEzQpw1hgg\
    3OSC30Rtg4zLS4uHktVouqono1Yc/JKw+8SggKV3wQ+Bw4wL9j4dg6dPszkZSLrUs66ErOgpMNxfdkBjLGYI8hKxXPYXgQKBgQCR1xGry0mxBy\
    H3TwEtTuottjimFYzpy+lRTZvmsI9l+JR9lVo2uS95a760AezVcywhG2anqfh30No7cRy2119CksX7Bn8gXDqNoxx95ooTZN8bsM3ET2BqdQox\
    fZYFOzJ5dL0fKejDPJpe+Mh4BRHMbycmWxSb9bkS2WqcK47TlA==";

const ISSUER: &str = "https://login.example.org/tenant/v2.0";
const AUDIENCE: &str = "https://storage.azure.com/";
/// 2024-01-01T00:00:00Z.
const NOW: i64 = 1_704_067_200;

fn encode(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

fn now() -> DateTime {
    DateTime::from_unix(std::time::Duration::from_secs(NOW.unsigned_abs()))
}

fn policy() -> Policy {
    Policy { issuer: ISSUER.into(), audiences: vec![AUDIENCE.into()], roles_claim: ROLES_CLAIM.into() }
}

fn claims() -> Value {
    json!({ "iss": ISSUER, "aud": AUDIENCE, "nbf": NOW - 10, "exp": NOW + 3600, "roles": ["Storage Table Data Reader"] })
}

/// An issuer of tokens.
enum Signer {
    Rsa(RsaKeyPair),
    Ec(EcdsaKeyPair, &'static str),
}

impl Signer {
    fn rsa() -> Self {
        let der = base64::engine::general_purpose::STANDARD.decode(RSA_KEY).unwrap();
        Signer::Rsa(RsaKeyPair::from_der(&der).unwrap())
    }

    fn ec(curve: &'static str) -> Self {
        let algorithm: &EcdsaSigningAlgorithm = if curve == "P-256" {
            &ECDSA_P256_SHA256_FIXED_SIGNING
        } else {
            &ECDSA_P384_SHA384_FIXED_SIGNING
        };
        let random = SystemRandom::new();
        let key = EcdsaKeyPair::generate_pkcs8(algorithm, &random).unwrap();
        Signer::Ec(EcdsaKeyPair::from_pkcs8(algorithm, key.as_ref(), &random).unwrap(), curve)
    }

    /// The public key.
    fn jwk(&self, id: &str) -> Value {
        match self {
            Signer::Rsa(key) => {
                let public: PublicKeyComponents<Vec<u8>> = key.public().into();
                json!({ "kty": "RSA", "use": "sig", "kid": id, "n": encode(public.n), "e": encode(public.e) })
            }
            Signer::Ec(key, curve) => {
                let point = &key.public_key().as_ref()[1..];
                let (x, y) = point.split_at(point.len() / 2);
                json!({ "kty": "EC", "crv": curve, "kid": id, "x": encode(x), "y": encode(y) })
            }
        }
    }

    fn token(&self, header: &Value, claims: &Value) -> String {
        let signed = format!("{}.{}", encode(header.to_string()), encode(claims.to_string()));
        let random = SystemRandom::new();
        let signature = match self {
            Signer::Rsa(key) => {
                let encoding: &dyn RsaEncoding = match header["alg"].as_str().unwrap() {
                    "RS384" => &RSA_PKCS1_SHA384,
                    "RS512" => &RSA_PKCS1_SHA512,
                    _ => &RSA_PKCS1_SHA256,
                };
                let mut signature = vec![0; key.public().modulus_len()];
                key.sign(encoding, &random, signed.as_bytes(), &mut signature).unwrap();
                signature
            }
            Signer::Ec(key, _) => key.sign(&random, signed.as_bytes()).unwrap().as_ref().to_vec(),
        };
        format!("{signed}.{}", encode(signature))
    }
}

fn jwks(keys: &[Value]) -> KeySet {
    KeySet::from_jwks(json!({ "keys": keys }).to_string().as_bytes()).unwrap()
}

fn verify(token: &str, keys: &KeySet) -> Result<Roles, TokenRejection> {
    Token::parse(token)?.verify(keys, &policy(), "shop", now())
}

fn reader() -> Roles {
    Roles::of(Service::Table, "rl")
}

/// All accepted signature algorithms, with and without the name of the key.
#[test]
fn good_tokens() {
    for (signer, algorithms) in [
        (Signer::rsa(), &["RS256", "RS384", "RS512"][..]),
        (Signer::ec("P-256"), &["ES256"][..]),
        (Signer::ec("P-384"), &["ES384"][..]),
    ] {
        let keys =
            jwks(&[Signer::ec("P-256").jwk("other"), signer.jwk("key"), Signer::ec("P-384").jwk("third")]);
        for algorithm in algorithms {
            for header in
                [json!({ "alg": algorithm, "kid": "key", "typ": "JWT" }), json!({ "alg": algorithm })]
            {
                assert_eq!(verify(&signer.token(&header, &claims()), &keys), Ok(reader()), "{header}");
            }
        }
    }
}

/// No byte of a token can be changed.
#[test]
fn tampered_tokens() {
    let signer = Signer::ec("P-256");
    let keys = jwks(&[signer.jwk("key")]);
    let token = signer.token(&json!({ "alg": "ES256", "kid": "key" }), &claims());
    assert!(verify(&token, &keys).is_ok());
    for at in 0..token.len() {
        for other in ["A", "b", "7", ".", "_", "=", " "] {
            let changed = format!("{}{other}{}", &token[..at], &token[at + 1..]);
            assert!(changed == token || verify(&changed, &keys).is_err(), "{at} {other}");
        }
        assert!(verify(&token[..at], &keys).is_err(), "cut at {at}");
        assert!(verify(&token[at + 1..], &keys).is_err(), "begun at {at}");
    }
}

#[track_caller]
fn check_header(header: &Value, expected: TokenRejection) {
    let signer = Signer::ec("P-256");
    let keys = jwks(&[signer.jwk("key")]);
    assert_eq!(verify(&signer.token(header, &claims()), &keys), Err(expected), "{header}");
}

/// A token cannot select a weaker check, or none.
#[test]
fn a_token_does_not_choose_how_it_is_checked() {
    for algorithm in ["none", "None", "NONE", "", "HS256", "HS384", "HS512", "PS256", "EdDSA", "es256"] {
        check_header(&json!({ "alg": algorithm, "kid": "key" }), TokenRejection::Algorithm);
    }
    // The key is of another kind.
    for algorithm in ["RS256", "RS512", "ES384"] {
        check_header(&json!({ "alg": algorithm, "kid": "key" }), TokenRejection::Algorithm);
    }
    check_header(&json!({ "kid": "key" }), TokenRejection::Malformed);
    check_header(&json!({ "alg": ["ES256"], "kid": "key" }), TokenRejection::Malformed);
    check_header(&json!({ "alg": "ES256", "kid": 1 }), TokenRejection::Malformed);
    check_header(
        &json!({ "alg": "ES256", "kid": "key", "crit": ["b64"], "b64": false }),
        TokenRejection::Malformed,
    );
    check_header(&json!({ "alg": "ES256", "kid": "another" }), TokenRejection::UnknownKey);
    check_header(&json!({ "alg": "ES256", "kid": "" }), TokenRejection::UnknownKey);
}

/// The classic attack: the public key, which everyone has, used as a shared secret.
#[test]
fn a_public_key_is_no_shared_secret() {
    let signer = Signer::rsa();
    let public = signer.jwk("key");
    let header = encode(json!({ "alg": "HS256", "kid": "key" }).to_string());
    let signed = format!("{header}.{}", encode(claims().to_string()));
    for secret in [public.to_string(), public["n"].as_str().unwrap().to_owned()] {
        let signature = crate::auth::AccountKey::new(secret.as_bytes()).sign(&signed);
        let token = format!("{signed}.{}", encode(signature));
        assert_eq!(verify(&token, &jwks(std::slice::from_ref(&public))), Err(TokenRejection::Algorithm));
    }
    // Not even if the issuer publishes a secret by mistake.
    let secret = json!({ "kty": "oct", "kid": "key", "k": encode("secret"), "alg": "HS256" });
    let text = json!({ "keys": [secret] }).to_string();
    assert_eq!(KeySet::from_jwks(text.as_bytes()).map(|_| ()), Err(JwksError::NoKeys));
    // Unsigned, with nothing after the last dot.
    let header = encode(json!({ "alg": "none" }).to_string());
    let unsigned = format!("{header}.{}.", encode(claims().to_string()));
    assert_eq!(verify(&unsigned, &jwks(&[public])), Err(TokenRejection::Algorithm));
}

/// A key that states its use is rejected for other uses.
#[test]
fn keys_may_be_for_one_algorithm() {
    let signer = Signer::rsa();
    let mut key = signer.jwk("key");
    key["alg"] = "RS256".into();
    let keys = jwks(&[key.clone()]);
    let token = |algorithm: &str| signer.token(&json!({ "alg": algorithm, "kid": "key" }), &claims());
    assert_eq!(verify(&token("RS256"), &keys), Ok(reader()));
    assert_eq!(verify(&token("RS512"), &keys), Err(TokenRejection::Algorithm));
    key["use"] = "enc".into();
    let text = json!({ "keys": [key] }).to_string();
    assert_eq!(KeySet::from_jwks(text.as_bytes()).map(|_| ()), Err(JwksError::NoKeys));
}

/// Each claim with a value, and the result for a token that contains it.
#[test]
fn claims_are_checked() {
    let signer = Signer::ec("P-256");
    let keys = jwks(&[signer.jwk("key")]);
    let check = |name: &str, value: Value, expected: Result<Roles, TokenRejection>| {
        let mut claims = claims();
        if value == "absent" {
            claims.as_object_mut().unwrap().remove(name);
        } else {
            claims[name] = value.clone();
        }
        let token = signer.token(&json!({ "alg": "ES256", "kid": "key" }), &claims);
        assert_eq!(verify(&token, &keys), expected, "{name} {value}");
    };
    let good = Ok(reader());
    for other in [
        json!("absent"),
        json!(""),
        json!("https://login.example.org/other/v2.0"),
        json!([ISSUER]),
        json!(null),
    ] {
        check("iss", other, Err(TokenRejection::Issuer));
    }
    check("iss", json!(format!("{ISSUER}/")), Err(TokenRejection::Issuer));
    check("aud", json!("https://storage.azure.com"), good);
    check("aud", json!(["x", "https://storage.azure.com/"]), good);
    for other in
        [json!("absent"), json!("https://storage.azure.com.evil.org/"), json!([]), json!([1]), json!("")]
    {
        check("aud", other, Err(TokenRejection::Audience));
    }
    let skew = CLOCK_SKEW_SECONDS_MAX;
    check("exp", json!(NOW - skew + 1), good);
    check("exp", json!(NOW - skew), Err(TokenRejection::Expired));
    check("exp", json!(f64::MAX), good);
    check("exp", json!(NOW as f64 + 0.5), good);
    check("exp", json!(0), Err(TokenRejection::Expired));
    check("exp", json!(-1e300), Err(TokenRejection::Expired));
    check("exp", json!("absent"), Err(TokenRejection::Malformed));
    check("exp", json!("tomorrow"), Err(TokenRejection::Malformed));
    check("nbf", json!("absent"), good);
    check("nbf", json!(NOW + skew), good);
    check("nbf", json!(NOW + skew + 1), Err(TokenRejection::NotYetValid));
    check("nbf", json!(i64::MAX), Err(TokenRejection::NotYetValid));
    check("nbf", json!("x"), Err(TokenRejection::Malformed));
}

#[test]
fn roles_are_what_is_allowed() {
    let signer = Signer::ec("P-256");
    let keys = jwks(&[signer.jwk("key")]);
    let check = |roles: Value, letters: &str| {
        let mut claims = claims();
        claims["roles"] = roles.clone();
        let found = verify(&signer.token(&json!({ "alg": "ES256" }), &claims), &keys).unwrap();
        for letter in ["r", "l", "a", "u", "c", "d", "w"] {
            assert_eq!(
                found.permissions(Service::Table).allow(letter),
                letters.contains(letter),
                "{roles} {letter}"
            );
        }
    };
    check(json!(["Storage Table Data Reader"]), "rl");
    check(json!(["Storage Table Data Contributor"]), "rlaucdw");
    check(json!(["Table.Read", "Table.Delete"]), "rld");
    check(json!(["Table.Write"]), "auc");
    check(json!("Table.Read Table.Write"), "rlauc");
    check(json!("Storage Table Data Reader"), "rl");
    check(json!(["Storage Table Data Reader/shop"]), "rl");
    check(json!(["Storage Table Data Contributor/other", "Table.Read/shop"]), "rl");
    for nothing in [
        json!([]),
        json!(null),
        json!(7),
        json!({ "Table.Read": true }),
        json!(["table.read", "Table.Read/", "x", 1]),
        json!("Storage"),
        json!(["Storage Table Data Reader/other"]),
        json!(["Table.Read/shop/x"]),
    ] {
        check(nothing, "");
    }
}

/// A user delegation key can be issued with the rights of any combination of roles, so all of them must be
/// tried, and there must be few of them.
#[test]
fn rights_that_can_be_delegated() {
    for (service, count) in [(Service::Blob, 4), (Service::Queue, 9), (Service::Table, 0)] {
        let sets = Roles::delegable(service);
        assert_eq!(sets.len(), count, "{service:?} {sets:?}");
        for chosen in 0_u32..1 << ROLES.len() {
            let roles = ROLES.iter().enumerate().filter(|(index, _)| chosen & 1 << index != 0);
            let roles = roles.filter_map(|(_, (name, ..))| role(name, "shop"));
            let rights = roles.fold(Roles::default(), Roles::with).permissions(service);
            assert_eq!(sets.contains(&rights), rights.allow(DELEGATE), "{service:?} {rights}");
        }
        assert!(sets.contains(&Roles::everything().permissions(service)) || count == 0);
        let signed = Permissions::parse(DELEGATE, service.permission_letters());
        assert_eq!(signed, None, "no signature grants it");
    }
}

#[test]
fn malformed_tokens_are_rejected() {
    let keys = KeySet::empty();
    let long = "a".repeat(TOKEN_BYTES_MAX + 1);
    for text in ["", ".", "..", "...", "a.b", "a.b.c", "e30.e30.", "bnVsbA.bnVsbA.YQ", "W10.e30.YQ", &long] {
        assert_eq!(verify(text, &keys), Err(TokenRejection::Malformed), "{text}");
    }
    let token = Signer::ec("P-256").token(&json!({ "alg": "ES256" }), &claims());
    assert_eq!(verify(&token, &keys), Err(TokenRejection::UnknownKey));
    // Only its length is wrong. The space makes both lengths of the signature valid Base64.
    let of_length = |bytes: usize| {
        let signed = format!("{}.{}.", encode(r#"{"alg":"ES256" }"#), encode(r#"{"a":1}"#));
        let signature = "A".repeat(bytes - signed.len());
        signed + &signature
    };
    assert_eq!(verify(&of_length(TOKEN_BYTES_MAX), &keys), Err(TokenRejection::UnknownKey));
    assert_eq!(verify(&of_length(TOKEN_BYTES_MAX + 1), &keys), Err(TokenRejection::Malformed));
}

#[test]
fn malformed_key_sets_are_rejected() {
    let check = |text: &str, expected| {
        assert_eq!(KeySet::from_jwks(text.as_bytes()).map(|_| ()), Err(expected), "{text}");
    };
    for text in ["", "[]", "{}", "{\"keys\":{}}", "keys"] {
        check(text, JwksError::Malformed);
    }
    for key in [
        json!({}),
        json!(1),
        json!({ "kty": "RSA" }),
        json!({ "kty": "RSA", "n": "!", "e": "AQAB" }),
        json!({ "kty": "EC", "crv": "P-256", "x": "AA", "y": "AA" }),
        json!({ "kty": "EC", "crv": "P-256", "x": encode([1; 32]), "y": "AA" }),
        json!({ "kty": "EC", "crv": "P-256", "x": "AA", "y": encode([1; 32]) }),
        json!({ "kty": "EC", "crv": "P-521", "x": "AA", "y": "AA" }),
        json!({ "kty": "OKP", "crv": "Ed25519", "x": "AA" }),
        json!({ "kty": "RSA", "n": "AA", "e": "AQAB", "alg": "PS256" }),
    ] {
        check(&json!({ "keys": [key] }).to_string(), JwksError::NoKeys);
    }
    // A key too short to be safe, or nonsense in the right form, verifies nothing.
    let keys = jwks(&[
        json!({ "kty": "RSA", "n": "AQAB", "e": "AQAB" }),
        json!({ "kty": "EC", "crv": "P-256", "x": encode([0; 32]), "y": encode([0; 32]) }),
    ]);
    for (signer, algorithm) in [(Signer::rsa(), "RS256"), (Signer::ec("P-256"), "ES256")] {
        assert!(verify(&signer.token(&json!({ "alg": algorithm }), &claims()), &keys).is_err());
    }
}

#[test]
fn tokens_in_requests() {
    let of = |value: &str| {
        let fields = [crate::http::head::Field { name: "Authorization", value }];
        token_of(&Head { method: "GET", target: "/", fields: &fields }).map(str::to_owned)
    };
    assert_eq!(of("Bearer a.b.c").as_deref(), Some("a.b.c"));
    assert_eq!(of("bearer  a.b.c ").as_deref(), Some("a.b.c"));
    assert_eq!(of("Bearer"), None);
    assert_eq!(of("SharedKey a:b"), None);
}
