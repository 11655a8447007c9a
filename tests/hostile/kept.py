"""Attacks on the data that an account keeps about its blobs (versions, deleted states, tags, holds, events, logs), and on
its website."""

import base64
import socket
import threading
import urllib.parse

from clients import BlobClient, texts

MIB, KIB = 1024 * 1024, 1024
SERVICE = "/?comp=properties&restype=service"
# Keeps everything that is deleted, serves a website, and logs every request.
SETTINGS = ("<StorageServiceProperties><Logging><Version>1.0</Version><Delete>true</Delete><Read>true</Read><Write>true</Write>"
            "<RetentionPolicy><Enabled>false</Enabled></RetentionPolicy></Logging>"
            "<DeleteRetentionPolicy><Enabled>true</Enabled><Days>7</Days></DeleteRetentionPolicy>"
            "<StaticWebsite><Enabled>true</Enabled><IndexDocument>index.html</IndexDocument></StaticWebsite></StorageServiceProperties>")
# The logs of the server may take this much; the quota is in whole MiB.
QUOTA_MIB = 1
# Blobs of tag_searches, with the most tags that a blob may have, and the longest.
TAGGED_BLOBS, TAGS, TAG_CHARACTERS = 1200, 10, 200
# Clients of an attack, and requests of each client of long_addresses.
READERS, REQUESTS = 300, 40
PAGE_BYTES = 8 * MIB
PARTS = 256
KEY = base64.b64encode(bytes(32)).decode()
KEY_SHA256 = "Zmh6rfhivXdsj8GLjp+OIAiXFIVu4jOzkCpZHQ1fKSU="


class Deaf:
    """A webhook that accepts connections and never responds."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}/"
        self.accepted = []
        self.thread = threading.Thread(target=self.accept, daemon=True)
        self.thread.start()

    def accept(self):
        while True:
            try:
                self.accepted.append(self.listener.accept()[0])
            except OSError:
                return

    def __enter__(self):
        return self

    def __exit__(self, *_):
        # Closing the listener alone does not end a pending accept call.
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join()
        for one in self.accepted:
            one.close()


def kept_flags(deaf):
    """Flags of the server in these attacks."""
    return "--blob-versioning", "--container-retention-days", 7, "--analytics-quota-mib", QUOTA_MIB, "--events", deaf.url


class Kept:
    """The attacks, as a part of the test in run.py."""

    def keeping_account(self, server):
        """A client of the account, which keeps everything from now on."""
        blob = BlobClient(server)
        assert blob.ask("PUT", SERVICE, len(SETTINGS), [SETTINGS.encode()])[0] == 202
        assert blob.ask("PUT", "/kept?restype=container")[0] == 201
        return blob

    def tag_searches(self, server, client):
        """Searches by tag, and listings of versions with their tags, that nobody reads."""
        blob = self.keeping_account(server)
        value = "v" * TAG_CHARACTERS
        tags = "&".join(f"{'n' * 100}{n}={value}" for n in range(TAGS))
        for number in range(TAGGED_BLOBS):
            assert blob.ask("PUT", f"/kept/{number % 400:0900}", 0, fields={"x-ms-tags": tags})[0] == 201
        self.stored += TAGGED_BLOBS * 4 * KIB
        names = " AND ".join(f"{'n' * 100}{n}='{value}'" for n in range(TAGS))
        search = blob.head("GET", "/?comp=blobs&where=" + urllib.parse.quote(names, safe=""))
        versions = blob.head("GET", "/kept?comp=list&include=versions%2Ctags%2Cmetadata%2Cdeleted&restype=container")
        starts = [search * 20, versions * 20]
        return self.unread(blob, READERS, starts)

    def kept_changes(self, server, client):
        """Writes that keep the previous state, tags, tiers, holds, snapshots, restorations and batches, while events cannot be
        delivered."""
        blob = self.keeping_account(server)
        metadata = {f"x-ms-meta-m{n}": "m" * 2000 for n in range(4)}
        for name in ("over", "held"):
            assert blob.ask("PUT", f"/kept/{name}", 4, [b"four"])[0] == 201
        key = {"x-ms-encryption-key": KEY, "x-ms-encryption-key-sha256": KEY_SHA256, "x-ms-encryption-algorithm": "AES256"}
        assert blob.ask("PUT", "/kept/keyed", 0, fields={"x-ms-blob-type": "AppendBlob", **key})[0] == 201
        piece = bytes(4 * MIB)
        tags = "<Tags><TagSet>" + "".join(f"<Tag><Key>k{n}</Key><Value>{'v' * 200}</Value></Tag>" for n in range(10)) + "</TagSet></Tags>"
        batch = self.batch_of_tiers(blob)
        starts = [
            blob.head("PUT", "/kept/over", len(piece), metadata) + piece,
            blob.head("PUT", "/kept/over?comp=tags", len(tags)) + tags.encode(),
            blob.head("PUT", "/kept/over?comp=snapshot", 0, metadata),
            blob.head("PUT", "/kept/over?comp=undelete", 0),
            blob.head("DELETE", "/kept/over", 0),
            blob.head("PUT", "/kept/held?comp=legalhold", 0, {"x-ms-legal-hold": "true"}),
            blob.head("DELETE", "/kept/held", 0),
            # Without the key: rejected, whether or not the body has arrived.
            blob.head("PUT", "/kept/keyed?comp=appendblock", len(piece)) + piece,
            blob.head("PUT", "/kept/keyed?comp=appendblock", len(piece), key) + piece,
            batch,
        ]
        self.stored += 64 * len(piece)
        self.all_together(blob, [starts[index % len(starts)] for index in range(64)], {200, 201, 202, 204, 404, 409, 503})

    def batch_of_tiers(self, blob):
        head = "--b\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\nContent-ID: {}\r\n\r\n"
        part = blob.head("PUT", "/kept/over?comp=tier", 0, {"x-ms-access-tier": "Cool"})
        body = b"".join(head.format(n).encode() + part for n in range(PARTS)) + b"--b--\r\n"
        return blob.head("POST", "/?comp=batch", len(body), content_type="multipart/mixed; boundary=b") + body

    def unread_pages(self, server, client):
        """Pages of a website, and a container of logs, that nobody reads."""
        blob = self.keeping_account(server)
        status, _ = blob.ask("PUT", "/$web?restype=container")
        assert status in (201, 409), status
        assert blob.ask("PUT", "/$web/index.html", PAGE_BYTES, [bytes(PAGE_BYTES)])[0] == 201
        self.stored += PAGE_BYTES
        page = f"GET / HTTP/1.1\r\nHost: devstoreaccount1.web.localhost:{blob.port}\r\n\r\n".encode()
        logs = blob.head("GET", "/$logs?comp=list&include=metadata&restype=container")
        starts = [page * 3, page * 3, logs * 20]
        return self.unread(blob, READERS, starts)

    def long_addresses(self, server, client):
        """Requests that each leave a long line in the logs: these stay within their quota."""
        blob = self.keeping_account(server)
        path = f"/kept?comp=list&prefix={'y' * 12 * KIB}&restype=container"
        self.all_together(blob, [blob.head("GET", path)] * (READERS // 10), {200, 503}, REQUESTS)
        sizes = list(map(int, texts(blob, "/$logs?comp=list&restype=container", "Content-Length")))
        self.stored += sum(sizes)
        self.check(f"the logs take {sum(sizes) // KIB} KiB, the quota is {QUOTA_MIB} MiB", 0 < sum(sizes) <= QUOTA_MIB * MIB)


KEPT_ATTACKS = ["tag_searches", "kept_changes", "unread_pages", "long_addresses"]
