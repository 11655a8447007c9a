"""Creates the keys and certificates that the server and the tests trust: keys.py DIR.

`key.pem` signs bearer tokens, which `jwks.json` lets the server verify. `tls.pem` and `tls-key.pem` are a certificate for the host
names that the SDKs expect, signed by `ca.pem`.
"""

import base64
import json
import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID


def private(key):
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())


def certificate(name, key, issuer, issuer_key, is_authority, names=()):
    """A certificate that strict verifiers accept: it names its key and the key that signed it."""
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(timezone.utc)
    public = key.public_key()
    builder = x509.CertificateBuilder(issuer or subject, subject, public, x509.random_serial_number(), now - timedelta(hours=1), now + timedelta(days=2))
    builder = builder.add_extension(x509.BasicConstraints(is_authority, None), critical=True)
    builder = builder.add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
    builder = builder.add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key()), critical=False)
    usage = dict.fromkeys(("content_commitment", "data_encipherment", "key_agreement", "encipher_only", "decipher_only"), False)
    usage |= {"digital_signature": not is_authority, "key_encipherment": not is_authority, "key_cert_sign": is_authority, "crl_sign": is_authority}
    builder = builder.add_extension(x509.KeyUsage(**usage), critical=True)
    if names:
        builder = builder.add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        builder = builder.add_extension(x509.SubjectAlternativeName([x509.DNSName(entry) for entry in names]), critical=False)
    return builder.sign(issuer_key, hashes.SHA256())


def new_key():
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


folder = Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
key = new_key()
number = key.public_key().public_numbers().n
modulus = base64.urlsafe_b64encode(number.to_bytes(256, "big")).rstrip(b"=").decode()
(folder / "jwks.json").write_text(json.dumps({"keys": [{"kty": "RSA", "use": "sig", "kid": "own", "e": "AQAB", "n": modulus}]}))
(folder / "key.pem").write_bytes(private(key))
authority, own = new_key(), new_key()
root = certificate("Lazuli tests", authority, None, authority, True)
names = [f"*.{service}.core.windows.net" for service in ("blob", "queue", "table")]
leaf = certificate("storage", own, root.subject, authority, False, names)
(folder / "ca.pem").write_bytes(root.public_bytes(serialization.Encoding.PEM))
(folder / "tls.pem").write_bytes(leaf.public_bytes(serialization.Encoding.PEM))
(folder / "tls-key.pem").write_bytes(private(own))
