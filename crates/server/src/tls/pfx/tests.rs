//! PFX files made by OpenSSL, all with the same certificate and key, and the password "sécret".

use rustls::sign::CertifiedKey;

use super::*;

const CERTIFICATE: &[u8] = include_bytes!("samples/certificate.der");
const PASSWORD: &str = "sécret";

/// Files of every kind: AES with PBES2, triple DES, RC2 as OpenSSL used it until 2021, and nothing encrypted.
const SAMPLES: [(&str, &[u8], usize); 5] = [
    ("AES-256, with a second certificate", include_bytes!("samples/aes256.pfx"), 2),
    ("AES-128 and AES-192, SHA-512", include_bytes!("samples/aes128.pfx"), 1),
    ("triple DES", include_bytes!("samples/des3.pfx"), 1),
    ("RC2", include_bytes!("samples/rc2.pfx"), 1),
    ("not encrypted", include_bytes!("samples/plain.pfx"), 1),
];

#[test]
fn files_of_all_kinds_are_read() {
    let provider = rustls::crypto::ring::default_provider();
    for (name, file, certificates) in SAMPLES {
        let (chain, key) = read(file, PASSWORD).unwrap_or_else(|why| panic!("{name}: {why}"));
        assert_eq!(chain.len(), certificates, "{name}");
        assert_eq!(chain[0].as_ref(), CERTIFICATE, "{name}");
        let key = provider.key_provider.load_private_key(key).unwrap();
        assert!(CertifiedKey::new(chain, key).keys_match().is_ok(), "{name}");
    }
}

#[test]
fn a_wrong_password_is_an_error_that_says_so() {
    for (name, file, _) in SAMPLES.into_iter().filter(|(name, ..)| *name != "not encrypted") {
        for password in ["", "secret", "sécret "] {
            assert_eq!(read(file, password).map(drop), Err("the password is wrong".into()), "{name}");
        }
    }
}

#[test]
fn other_files_are_errors() {
    for (name, file, _) in SAMPLES {
        for end in 0..file.len() {
            assert!(read(&file[..end], PASSWORD).is_err(), "{name}, cut at {end}");
        }
    }
    for other in [CERTIFICATE, b"-----BEGIN CERTIFICATE-----", b"", &[0x30, 0]] {
        assert_eq!(read(other, PASSWORD).map(drop), Err(NOT_PFX.into()));
    }
}
