"""Registers in a table: a partition of a few rows that all hold the same number, changed in one transaction."""

import json
import uuid

from load import Wrong
from registers import ACKNOWLEDGED, REJECTED, UNKNOWN, Torn

TABLE = "ring"
ROWS = 4
WRITERS = 6


def batch_body(partition, number, etags):
    """A transaction that sets all rows of a partition."""
    batch, changes = f"batch_{uuid.uuid4()}", f"changeset_{uuid.uuid4()}"
    lines = [f"--{batch}", f"Content-Type: multipart/mixed; boundary={changes}", ""]
    for row in range(ROWS):
        condition = [f"If-Match: {etags[row]}"] if etags else []
        lines += [f"--{changes}", "Content-Type: application/http", "Content-Transfer-Encoding: binary", "",
                  f"PUT http://x/devstoreaccount1/{TABLE}(PartitionKey='{partition}',RowKey='{row}') HTTP/1.1",
                  "Content-Type: application/json", "Accept: application/json;odata=nometadata", *condition, "",
                  json.dumps({"PartitionKey": partition, "RowKey": str(row), "n": number}), ""]
    lines += [f"--{changes}--", f"--{batch}--", ""]
    return "\r\n".join(lines), {"Content-Type": f"multipart/mixed; boundary={batch}"}


class Rows:
    service = "table"
    count = WRITERS

    def prepare(self, ends):
        created = ends.ask("POST", "/Tables", {"TableName": TABLE})
        if created.status not in (201, 204, 409):
            raise SystemExit(f"no table: {created.status} {created.text}")
        for writer in range(WRITERS):
            body, headers = batch_body(f"p{writer}", 0, None)
            response = ends.ask("POST", "/$batch", body, headers)
            if response.status != 202 or "HTTP/1.1 204" not in response.text:
                raise SystemExit(f"no rows: {response.status} {response.text}")

    def read(self, ends, partition):
        response = ends.ask("GET", f"/{TABLE}()?$filter=PartitionKey%20eq%20'p{partition}'",
                            headers={"Accept": "application/json;odata=fullmetadata"})
        if response.status >= 500:
            return None
        if response.status != 200:
            raise Wrong(f"a query was rejected: {response.status} {response.text}")
        rows = response.json["value"]
        numbers = {row["n"] for row in rows}
        if len(rows) != ROWS or len(numbers) != 1:
            raise Torn(f"p{partition} has {len(rows)} rows with {numbers}")
        return numbers.pop(), [row["odata.etag"] for row in rows]

    def write(self, ends, partition, number, etags):
        body, headers = batch_body(f"p{partition}", number, etags)
        response = ends[0].ask("POST", "/$batch", body, headers)
        if response.status == 202 and response.text.count("HTTP/1.1 204") == ROWS:
            return ACKNOWLEDGED
        if response.status >= 500 or "HTTP/1.1 50" in response.text:
            return UNKNOWN
        if "HTTP/1.1 412" in response.text:
            return REJECTED
        raise Wrong(f"a transaction was rejected: {response.status} {response.text}")
