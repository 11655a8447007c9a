"""DuckDB with its azure extension, from PyPI: SQL over Parquet and CSV files in a container, by glob, and writing them."""

import os

import duckdb
from azure.storage.blob import ContainerClient
from duckdb_extensions import import_extension

name = f"duckdb-{os.getpid()}"
container = ContainerClient.from_connection_string(os.environ["AZURE_STORAGE_CONNECTION_STRING"], name)
container.create_container()
import_extension("azure")
db = duckdb.connect()
db.execute("LOAD azure")
db.execute(f"CREATE SECRET (TYPE azure, CONNECTION_STRING '{os.environ['AZURE_STORAGE_CONNECTION_STRING']}')")
container.upload_blob("people/1.csv", "name,age\nAda,36\nAlan,41\n")
container.upload_blob("people/2.csv", "name,age\nBarbara,25\n")
assert db.sql(f"SELECT count(*), sum(age) FROM read_csv('azure://{name}/people/*.csv')").fetchone() == (3, 102)
db.sql("COPY (SELECT range AS id, range % 7 AS kind FROM range(200000)) TO 'local.parquet' (ROW_GROUP_SIZE 20000)")
with open("local.parquet", "rb") as file:
    container.upload_blob("numbers.parquet", file)
# Only the row groups and columns that the query needs are read, by ranges.
assert db.sql(f"SELECT count(*) FROM 'azure://{name}/numbers.parquet' WHERE id BETWEEN 50000 AND 50699 AND kind = 3").fetchone() == (100,)
container.delete_container()
