"""Registers in blobs: the content is derived from the number, so that a reader knows every byte that it must get.

Every second change is an upload in blocks: both front ends stage some blocks, and the one that did not get the last request
commits them."""

import base64
import random

from load import Wrong
from registers import ACKNOWLEDGED, REJECTED, UNKNOWN, Torn

CONTAINER = "ring"
# All larger than content that is stored in a row.
SIZES = (100_000, 300_000, 900_000)
DIGITS = 12
BLOCKS = 3


def content(blob, number):
    return b"%0*d" % (DIGITS, number) + random.Random(f"{blob} {number}").randbytes(SIZES[blob] - DIGITS)


class Blobs:
    service = "blob"
    count = len(SIZES)

    def prepare(self, ends):
        created = ends.ask("PUT", f"/{CONTAINER}?restype=container", headers={"Content-Length": 0})
        if created.status not in (201, 409):
            raise SystemExit(f"no container: {created.status} {created.text}")
        for blob in range(self.count):
            response = self.put(ends, blob, 0, {})
            if response.status != 201:
                raise SystemExit(f"no blob: {response.status} {response.text}")

    @staticmethod
    def put(ends, blob, number, condition):
        return ends.ask("PUT", f"/{CONTAINER}/{blob}", content(blob, number), {"x-ms-blob-type": "BlockBlob"} | condition)

    @staticmethod
    def put_in_blocks(ends, blob, number, condition):
        whole = content(blob, number)
        step = len(whole) // BLOCKS + 1
        names = [base64.b64encode(b"%0*d %d" % (DIGITS, number, n)).decode() for n in range(BLOCKS)]
        for n, name in enumerate(names):
            staged = ends[n % 2].ask("PUT", f"/{CONTAINER}/{blob}?comp=block&blockid={name}", whole[n * step:(n + 1) * step])
            if staged.status != 201:
                return staged
        body = "<BlockList>" + "".join(f"<Latest>{name}</Latest>" for name in names) + "</BlockList>"
        return ends[BLOCKS % 2].ask("PUT", f"/{CONTAINER}/{blob}?comp=blocklist", body, condition)

    def read(self, ends, blob):
        response = ends.ask("GET", f"/{CONTAINER}/{blob}")
        if response.status >= 500:
            return None
        if response.status != 200:
            raise Wrong(f"a blob was not read: {response.status} {response.text}")
        digits = response.body[:DIGITS]
        if not digits.isdigit() or response.body != content(blob, int(digits)):
            raise Torn(f"{blob} has {len(response.body)} bytes, from {digits} on")
        return int(digits), response.headers["ETag"]

    def write(self, ends, blob, number, etag):
        condition = {"If-Match": etag}
        response = self.put_in_blocks(ends, blob, number, condition) if number % 2 else self.put(ends[0], blob, number, condition)
        if response.status == 201:
            return ACKNOWLEDGED
        if response.status >= 500:
            return UNKNOWN
        # A commit whose outcome the writer did not learn also removes the blocks that were staged since.
        if response.status == 412 or response.code == "InvalidBlockList":
            return REJECTED
        raise Wrong(f"an upload was rejected: {response.status} {response.text}")
