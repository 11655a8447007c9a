"""A table client of the standard library alone, for tests that kill the server: signs, sends, and says what it knows.

An exchange either returns an answer, or raises `Lost`: then nobody knows whether the request was carried out.
"""
import base64
import hashlib
import hmac
import http.client
import json
import urllib.parse
from email.utils import formatdate

ACCOUNT = "devstoreaccount1"
KEY = base64.b64decode("Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==")


class Lost(Exception):
    """The connection broke before the answer was read."""


class Client:
    def __init__(self, port):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)

    def send(self, method, path, body=None, headers=None):
        """Status, headers and body of the answer."""
        path = f"/{ACCOUNT}{path}"
        date = formatdate(usegmt=True)
        text = f"{date}\n/{ACCOUNT}{path.split('?')[0]}"
        signature = base64.b64encode(hmac.new(KEY, text.encode(), hashlib.sha256).digest()).decode()
        fields = {
            "x-ms-date": date,
            "x-ms-version": "2019-02-02",
            "Accept": "application/json;odata=nometadata",
            "Content-Type": "application/json",
            "Authorization": f"SharedKeyLite {ACCOUNT}:{signature}",
            **(headers or {}),
        }
        try:
            self.connection.request(method, path, body, fields)
            answer = self.connection.getresponse()
            return answer.status, answer.headers, answer.read()
        except (OSError, http.client.HTTPException) as error:
            self.connection.close()
            raise Lost from error

    def create_table(self, name):
        status, _, body = self.send("POST", "/Tables", json.dumps({"TableName": name}))
        assert status in (201, 409), (status, body)

    def insert(self, table, entity):
        return self.send("POST", f"/{table}", json.dumps(entity), {"Prefer": "return-no-content"})

    def update(self, table, entity, merge=False, if_match=None):
        headers = {"If-Match": if_match} if if_match else {}
        return self.send("MERGE" if merge else "PUT", entity_path(table, entity), json.dumps(entity), headers)

    def delete(self, table, entity):
        return self.send("DELETE", entity_path(table, entity), None, {"If-Match": "*"})

    def batch(self, table, entities):
        """One transaction of upserts; the status of its first part."""
        lines = ["--batch", "Content-Type: multipart/mixed; boundary=change", ""]
        for entity in entities:
            lines += [
                "--change", "Content-Type: application/http", "Content-Transfer-Encoding: binary", "",
                f"PUT /{ACCOUNT}{entity_path(table, entity)} HTTP/1.1", "Content-Type: application/json", "",
                json.dumps(entity),
            ]
        lines += ["--change--", "--batch--", ""]
        status, _, body = self.send("POST", "/$batch", "\r\n".join(lines), {"Content-Type": "multipart/mixed; boundary=batch"})
        assert status == 202, (status, body)
        return int(body.split(b"HTTP/1.1 ")[1][:3])

    def read_all(self, table):
        """Every entity of a table, as the pages give them."""
        rows, token = [], ""
        while True:
            status, headers, body = self.send("GET", f"/{table}()?x=1{token}", None, {"Accept": "application/json;odata=minimalmetadata"})
            assert status == 200, (status, body)
            rows += json.loads(body)["value"]
            partition, row = (headers.get(f"x-ms-continuation-Next{name}") for name in ("PartitionKey", "RowKey"))
            if partition is None:
                return rows
            token = f"&NextPartitionKey={urllib.parse.quote(partition)}&NextRowKey={urllib.parse.quote(row or '')}"


def entity_path(table, entity):
    return f"/{table}(PartitionKey='{entity['PartitionKey']}',RowKey='{entity['RowKey']}')"
