"""One name for each thing that `azure` 0.8.4, `azure` 0.11.1 and `azure-storage` 0.20.3 have in common."""

import pytest

try:
    from azure.common import AzureConflictHttpError as Conflict
    from azure.common import AzureException as Failure
    from azure.common import AzureMissingResourceHttpError as Missing
    from azure.storage import AccessPolicy, SharedAccessPolicy, SignedIdentifier, SignedIdentifiers
    from azure.storage.blob import BlobService
    from azure.storage.models import AzureBatchOperationError as BatchFailure
    from azure.storage.models import AzureBatchValidationError as BatchInvalid
    from azure.storage.queue import QueueService
    from azure.storage.table import Entity, EntityProperty, TableService
except ImportError:
    from azure import WindowsAzureBatchOperationError as BatchFailure
    from azure import WindowsAzureConflictError as Conflict
    from azure import WindowsAzureError as BatchInvalid
    from azure import WindowsAzureError as Failure
    from azure import WindowsAzureMissingResourceError as Missing
    from azure.storage import (
        AccessPolicy,
        BlobService,
        Entity,
        EntityProperty,
        QueueService,
        SignedIdentifier,
        SignedIdentifiers,
        TableService,
    )
    from azure.storage.sharedaccesssignature import SharedAccessPolicy

# `azure` 0.8.4 speaks 2012-02-12. It has no policies and signatures for tables, and its times have no zone.
FIRST = not hasattr(TableService, "get_table_acl")
not_in_the_first = pytest.mark.skipif(FIRST, reason="azure 0.8.4 does not have this")

__all__ = [
    "FIRST", "AccessPolicy", "BatchFailure", "BatchInvalid", "BlobService", "Conflict", "Entity", "EntityProperty", "Failure",
    "Missing", "QueueService", "SharedAccessPolicy", "SignedIdentifier", "SignedIdentifiers", "TableService", "not_in_the_first",
]  # fmt: skip
