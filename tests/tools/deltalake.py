"""deltalake: ten commits, concurrent writers, compaction, checkpoint, time travel and vacuum on a Delta table in a container."""

import os
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
from azure.storage.blob import ContainerClient
from deltalake import DeltaTable, write_deltalake

name = f"deltalake-{os.getpid()}"
container = ContainerClient.from_connection_string(os.environ["AZURE_STORAGE_CONNECTION_STRING"], name)
container.create_container()
options = {
    "azure_storage_account_name": os.environ["LAZULI_ACCOUNT"], "azure_storage_account_key": os.environ["LAZULI_KEY"],
    "azure_storage_endpoint": os.environ["LAZULI_BLOB_ENDPOINT"], "allow_http": "true",
}
url = f"az://{name}/table"


def rows(first):
    return pa.table({"id": pa.array(range(first, first + 100), pa.int64()), "text": [f"row {number}" for number in range(first, first + 100)]})


for commit in range(10):
    write_deltalake(url, rows(commit * 100), mode="append", storage_options=options)
table = DeltaTable(url, storage_options=options)
assert table.version() == 9
assert sorted(table.to_pyarrow_table()["id"].to_pylist()) == list(range(1000))
assert DeltaTable(url, version=3, storage_options=options).to_pyarrow_table().num_rows == 400

# Concurrent writers: each commit creates the next log entry if it is absent, and tries again if another was faster.
with ThreadPoolExecutor(4) as pool:
    list(pool.map(lambda number: write_deltalake(url, rows(1000 + number * 100), mode="append", storage_options=options), range(4)))
table = DeltaTable(url, storage_options=options)
assert table.version() == 13 and table.to_pyarrow_table().num_rows == 1400

before = len(table.file_uris())
table.optimize.compact()
table = DeltaTable(url, storage_options=options)
assert len(table.file_uris()) < before
table.create_checkpoint()
assert any(blob.endswith(".checkpoint.parquet") for blob in container.list_blob_names(name_starts_with="table/_delta_log/"))
assert DeltaTable(url, storage_options=options).to_pyarrow_table().num_rows == 1400
removed = table.vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
assert len(removed) == before
assert sorted(DeltaTable(url, storage_options=options).to_pyarrow_table()["id"].to_pylist()) == list(range(1400))
container.delete_container()
