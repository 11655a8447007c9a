#!/usr/bin/env python3
"""Moves the data of a real Azurite to Lazuli, and compares what the official SDKs read from both.

    tests/client/migrate.py --binary target/release/lazuli --azurite DIR

DIR is the folder of Azurite's npm package. Run it with a Python that has the SDKs: tests/client/migrate.sh does.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import uuid
from datetime import datetime, timezone

from azure.data.tables import EdmType, TableServiceClient
from azure.storage.blob import BlobServiceClient, ContentSettings, StandardBlobTier
from azure.storage.queue import QueueServiceClient

KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
READY = re.compile(r"(Blob|Queue|Table) service is successfully listening at (http://[\d.:]+)|(Blob|Queue|Table)Endpoint=(http://[\d.:]+)")
# Nothing here takes this long unless it hangs.
HANG_SECONDS = 120
LARGE = bytes(index * 31 + (index >> 8) & 255 for index in range(9 * 1024 * 1024))


class Server:
    """A process that prints where its three services listen, and clients of them."""

    def __init__(self, *command):
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        endpoints, said = {}, ""
        while len(endpoints) < 3:
            line = self.process.stdout.readline()
            assert line, f"{command} ended before it was ready: {said}"
            said += line
            endpoints.update({service or other: address or url for service, address, other, url in READY.findall(line)})
        string = "".join(f"{service}Endpoint={address}/devstoreaccount1;" for service, address in endpoints.items())
        self.string = f"DefaultEndpointsProtocol=http;AccountName=devstoreaccount1;AccountKey={KEY};{string}"
        self.tables = TableServiceClient.from_connection_string(self.string)
        self.queues = QueueServiceClient.from_connection_string(self.string)
        self.blobs = BlobServiceClient.from_connection_string(self.string)

    def stop(self):
        """Ends it, and waits until its data is on disk."""
        self.process.terminate()
        self.process.communicate(timeout=HANG_SECONDS)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()


def fill(server):
    people = server.tables.create_table("People")
    people.create_entity({
        "PartitionKey": "a", "RowKey": "1", "Name": "Ada ü😀", "Age": 36, "Big": (2**53 + 1, EdmType.INT64), "Score": 1.5,
        "Whole": (2.0, EdmType.DOUBLE), "Born": datetime(1815, 12, 10, 1, 2, 3, 456000, timezone.utc),
        "Id": uuid.UUID("12345678-1234-1234-1234-1234567890ab"), "Bin": b"\0\1\xff", "Ok": True, "Empty": ""})
    for index in range(150):
        people.create_entity({"PartitionKey": "it's", "RowKey": f"{index:03}", "N": index})
    server.tables.create_table("Empty")
    jobs = server.queues.create_queue("jobs", metadata={"team": "x"})
    for text in ("first", "<b>second & ü</b>", "x" * 60000):
        jobs.send_message(text)
    jobs.send_message("forever", time_to_live=-1)
    jobs.send_message("hidden", visibility_timeout=3600)
    files = server.blobs.create_container("files", metadata={"owner": "me"}, public_access="blob")
    hello = files.get_blob_client("dir/hello ü.txt")
    hello.upload_blob(b"version one", metadata={"a": "1"})
    hello.create_snapshot()
    hello.upload_blob(b"version two", overwrite=True, metadata={"a": "2"}, tags={"k": "v 1"}, standard_blob_tier=StandardBlobTier.COOL,
                      content_settings=ContentSettings("text/plain", content_language="nl", cache_control="no-cache"))
    hello.stage_block("pending", b"pending")
    files.get_blob_client("empty").upload_blob(b"")
    files.get_blob_client("large.bin").upload_blob(LARGE, max_concurrency=2)
    log = files.get_blob_client("log.txt")
    log.create_append_blob()
    log.append_block(b"line 1\n")
    log.append_block(b"line 2\n")
    disk = files.get_blob_client("disk.img")
    disk.create_page_blob(1024 * 1024, sequence_number=7)
    disk.upload_page(b"A" * 1024, 512, 1024)
    disk.upload_page(b"B" * 512, 4096, 512)
    disk.clear_page(512, 512)
    server.blobs.create_container("private")


def seen(server):
    """The data that the SDKs read, without the parts that an import cannot keep: ids, times and ETags."""
    def entity(found):
        return {name: (type(value).__name__, str(value)) for name, value in found.items()}

    def blob(container, listed):
        client = container.get_blob_client(listed.name, snapshot=listed.snapshot)
        found = client.get_blob_properties()
        settings = found.content_settings
        # For a snapshot, Azurite lists the uncommitted blocks of the blob.
        has_blocks = found.blob_type == "BlockBlob" and not listed.snapshot
        ranges = list(client.list_page_ranges()) if found.blob_type == "PageBlob" else None
        return {
            "name": listed.name, "snapshot": bool(listed.snapshot), "type": found.blob_type, "metadata": found.metadata,
            "tags": None if listed.snapshot else client.get_blob_tags(), "tier": found.blob_tier, "content": client.download_blob().readall(),
            "settings": (settings.content_type, settings.content_language, settings.cache_control, settings.content_md5),
            "ranges": [(part.start, part.end) for part in ranges or [] if not part.cleared], "sequence": found.page_blob_sequence_number,
            "blocks": [[block.id for block in half] for half in client.get_block_list("all")] if has_blocks else None}

    def container(listed):
        client = server.blobs.get_container_client(listed.name)
        blobs = client.list_blobs(include=["snapshots"])
        return listed.name, client.get_container_properties().metadata, listed.public_access, [blob(client, listed) for listed in blobs]

    def queue(listed):
        client = server.queues.get_queue_client(listed.name)
        found = client.get_queue_properties()
        return listed.name, found.metadata, found.approximate_message_count, [message.content for message in client.peek_messages(32)]

    return {
        "tables": {table.name: [entity(found) for found in server.tables.get_table_client(table.name).list_entities()]
                   for table in server.tables.list_tables()},
        "queues": [queue(listed) for listed in server.queues.list_queues()],
        "containers": [container(listed) for listed in server.blobs.list_containers()]}


def differences(wanted, found, where=""):
    """Where two structures differ, as lines."""
    if isinstance(wanted, dict) and isinstance(found, dict):
        return [line for key in {**wanted, **found} for line in differences(wanted.get(key), found.get(key), f"{where}.{key}")]
    if isinstance(wanted, (list, tuple)) and isinstance(found, (list, tuple)) and len(wanted) == len(found):
        return [line for index, pair in enumerate(zip(wanted, found)) for line in differences(*pair, f"{where}[{index}]")]
    return [] if wanted == found else [f"{where}: Azurite has {wanted!r:.200}, Lazuli has {found!r:.200}"]


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--binary", required=True)
    arguments.add_argument("--azurite", required=True)
    options = arguments.parse_args()
    binary = os.path.abspath(options.binary)
    with tempfile.TemporaryDirectory(prefix="lazuli-migrate-") as directory:
        data, store = os.path.join(directory, "azurite"), os.path.join(directory, "lazuli")
        program = os.path.join(options.azurite, "dist", "src", "azurite.js")
        command = ["node", program, "-l", data, "--silent", "--skipApiVersionCheck", "--disableTelemetry",
                   "--blobPort", "0", "--queuePort", "0", "--tablePort", "0"]
        with Server(*command) as azurite:
            fill(azurite)
            wanted = seen(azurite)
            azurite.stop()
        subprocess.run([binary, "import", "--from-azurite", data, "--location", store], check=True, timeout=HANG_SECONDS)
        with Server(binary, "serve", "--location", store, "--table-port", "0", "--admin-port", "0") as lazuli:
            found = seen(lazuli)
            lazuli.stop()
    different = differences(wanted, found)
    print("\n".join(different) or "the SDKs read the same from both")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
