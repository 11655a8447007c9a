"""One signed request to an S3 store (Signature Version 4), for what front ends do not do: making a bucket."""

import datetime
import hashlib
import hmac
import http.client
import urllib.parse

REGION = "us-east-1"


def signature(secret, day, text):
    key = f"AWS4{secret}".encode()
    for part in (day, REGION, "s3", "aws4_request", text):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return key.hex()


def ask(endpoint, method, path, access, secret, body=b""):
    """Status and body of the response."""
    host = urllib.parse.urlparse(endpoint).netloc
    moment = datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%dT%H%M%SZ")
    day, digest = moment[:8], hashlib.sha256(body).hexdigest()
    fields = {"host": host, "x-amz-content-sha256": digest, "x-amz-date": moment}
    names = ";".join(fields)
    request = "\n".join([method, path, "", *(f"{name}:{value}" for name, value in fields.items()), "", names, digest])
    scope = f"{day}/{REGION}/s3/aws4_request"
    text = "\n".join(["AWS4-HMAC-SHA256", moment, scope, hashlib.sha256(request.encode()).hexdigest()])
    fields["Authorization"] = (f"AWS4-HMAC-SHA256 Credential={access}/{scope}, SignedHeaders={names}, "
                               f"Signature={signature(secret, day, text)}")
    connection = http.client.HTTPConnection(host, timeout=60)
    try:
        connection.request(method, path, body, fields)
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()
