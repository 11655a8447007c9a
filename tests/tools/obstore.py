"""obstore (the object_store crate): put, get, ranges, multipart, list, listing from an offset, rename, batched delete, conditions."""

import os

import obstore
from azure.storage.blob import ContainerClient
from obstore.exceptions import AlreadyExistsError, PreconditionError
from obstore.store import AzureStore

name = f"obstore-{os.getpid()}"
container = ContainerClient.from_connection_string(os.environ["AZURE_STORAGE_CONNECTION_STRING"], name)
container.create_container()
store = AzureStore(
    name, account_name=os.environ["LAZULI_ACCOUNT"], account_key=os.environ["LAZULI_KEY"], endpoint=os.environ["LAZULI_BLOB_ENDPOINT"],
    client_options={"allow_http": True}, retry_config={"max_retries": 0})

data = os.urandom(3_000_000)
obstore.put(store, "large", data, chunk_size=512 * 1024, max_concurrency=3)  # in blocks
obstore.put(store, "small", b"hello", attributes={"Content-Type": "text/plain"})
assert bytes(obstore.get(store, "large").bytes()) == data
assert bytes(obstore.get_range(store, "large", start=1000, end=1010)) == data[1000:1010]
parts = obstore.get_ranges(store, "large", starts=[0, 2_000_000], lengths=[5, 7])
assert [bytes(part) for part in parts] == [data[:5], data[2_000_000:2_000_007]]
assert obstore.head(store, "small")["size"] == 5

# Create if absent, and replace what was read: the two conditions that table formats rely on.
try:
    obstore.put(store, "small", b"again", mode="create")
    raise SystemExit("a blob that exists was created")
except AlreadyExistsError:
    pass
version = obstore.head(store, "small")["e_tag"]
obstore.put(store, "small", b"changed", mode={"e_tag": version})
try:
    obstore.put(store, "small", b"late", mode={"e_tag": version})
    raise SystemExit("a blob that had changed was replaced")
except PreconditionError:
    pass

for number in range(30):
    obstore.put(store, f"many/{number:03}", b"x")
listed = [meta["path"] for page in obstore.list(store, "many", chunk_size=7) for meta in page]
assert listed == [f"many/{number:03}" for number in range(30)], listed
offset = [meta["path"] for page in obstore.list(store, "many", offset="many/027") for meta in page]
assert offset == ["many/028", "many/029"], offset
found = obstore.list_with_delimiter(store)
assert found["common_prefixes"] == ["many"] and [meta["path"] for meta in found["objects"]] == ["large", "small"]

obstore.copy(store, "small", "copy")
obstore.rename(store, "copy", "renamed")
assert bytes(obstore.get(store, "renamed").bytes()) == b"changed"
obstore.delete(store, listed)  # in one batch
assert obstore.list(store, "many").collect() == []
try:
    obstore.get(store, "missing")
    raise SystemExit("a missing blob was read")
except FileNotFoundError:
    pass
container.delete_container()
