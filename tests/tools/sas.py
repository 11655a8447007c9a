"""Prints the address of a container with a signature: python sas.py CONTAINER [LETTERS]. For tools that take nothing else."""

import os
import sys
from datetime import datetime, timedelta, timezone

from azure.storage.blob import BlobServiceClient, ContainerSasPermissions, generate_container_sas

service = BlobServiceClient.from_connection_string(os.environ["AZURE_STORAGE_CONNECTION_STRING"])
container = service.get_container_client(sys.argv[1])
letters = sys.argv[2] if len(sys.argv) > 2 else "racwdl"
token = generate_container_sas(service.account_name, container.container_name, service.credential.account_key,
                               permission=ContainerSasPermissions.from_string(letters), expiry=datetime.now(timezone.utc) + timedelta(hours=1))
if not container.exists():
    container.create_container()
print(f"{container.url}?{token}")
