"""pyarrow's AzureFileSystem: it probes for a hierarchical namespace, writes Parquet, lists, copies, moves and deletes."""

import os
from urllib.parse import urlparse

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from pyarrow.fs import AzureFileSystem, FileSelector, FileType

url = urlparse(os.environ["LAZULI_BLOB_ENDPOINT"])
fs = AzureFileSystem(os.environ["LAZULI_ACCOUNT"], account_key=os.environ["LAZULI_KEY"], blob_storage_authority=url.netloc,
                     blob_storage_scheme=url.scheme, dfs_storage_authority=url.netloc, dfs_storage_scheme=url.scheme)
name = f"pyarrow-{os.getpid()}"
fs.create_dir(name)
table = pa.table({"year": [2019, 2020, 2020], "text": ["a", "b", "c"]})
pq.write_table(table, f"{name}/one.parquet", filesystem=fs)
assert pq.read_table(f"{name}/one.parquet", filesystem=fs).equals(table)
ds.write_dataset(table, f"{name}/parts", format="parquet", partitioning=["year"], filesystem=fs)
assert ds.dataset(f"{name}/parts", format="parquet", partitioning=["year"], filesystem=fs).count_rows() == 3

data = os.urandom(6_000_000)
with fs.open_output_stream(f"{name}/large") as stream:
    for start in range(0, len(data), 1_000_000):
        stream.write(data[start:start + 1_000_000])
with fs.open_input_file(f"{name}/large") as file:
    assert file.size() == len(data)
    assert file.read_at(100, 3_000_000) == data[3_000_000:3_000_100]
fs.copy_file(f"{name}/large", f"{name}/copy")
with fs.open_input_stream(f"{name}/copy") as stream:
    assert stream.read() == data
found = fs.get_file_info(FileSelector(name, recursive=True))
assert {entry.path for entry in found if entry.type == FileType.File} >= {f"{name}/one.parquet", f"{name}/large", f"{name}/copy"}
assert fs.get_file_info(f"{name}/missing").type == FileType.NotFound
fs.delete_file(f"{name}/copy")
fs.delete_dir_contents(name)
assert fs.get_file_info(FileSelector(name, recursive=True)) == []
fs.delete_dir(name)
