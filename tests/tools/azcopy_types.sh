# AzCopy with append and page blobs, tiers and tags: upload, copy on the server, download, change in place.
export AZCOPY_LOG_LOCATION=$PWD/log AZCOPY_JOB_PLAN_LOCATION=$PWD/plan AZCOPY_SKIP_VERSION_CHECK=true AZCOPY_DISABLE_SYSLOG=true
tools=$(dirname "$0")
one=azcopy-types-$$ two=azcopy-types-two-$$
url() { python -P "$tools/sas.py" "$1" racwdlt; }       # the address of a container, with its signature; t is for tags
at() { local whole=$(url "$1"); echo "${whole%%\?*}/$2?${whole#*\?}"; } # the address of a blob in it
az() { azcopy "$@" --output-level essential; }
# Prints the type, the tier and the tags of each blob of a container.
show() {
  python -P - "$1" <<'END'
import os, sys
from azure.storage.blob import BlobServiceClient
service = BlobServiceClient.from_connection_string(os.environ["AZURE_STORAGE_CONNECTION_STRING"])
for blob in service.get_container_client(sys.argv[1]).list_blobs(include=["tags"]):
    print(blob.name, blob.blob_type.value, blob.blob_tier or "-", blob.tags or "-")
END
}

head -c 3000000 /dev/urandom >log1
head -c 4194304 /dev/urandom >disk
: >cool
az copy log1 "$(at $one log1)" --from-to LocalBlob --blob-type AppendBlob --block-size-mb 1
az copy disk "$(at $one disk)" --from-to LocalBlob --blob-type PageBlob --block-size-mb 1
az copy cool "$(at $one cool)" --from-to LocalBlob --blob-type BlockBlob --block-blob-tier Cool --blob-tags 'project=lapis&stage=1'
expected="cool BlockBlob Cool {'project': 'lapis', 'stage': '1'}
disk PageBlob - -
log1 AppendBlob - -"
[ "$(show $one)" = "$expected" ]

# From blob to blob, with types, tiers and tags.
az copy "$(url $one)" "$(url $two)" --from-to BlobBlob --recursive --block-size-mb 1 --s2s-preserve-blob-tags --s2s-preserve-access-tier
[ "$(show $two)" = "$expected" ]
az copy "$(url $two)" back --from-to BlobLocal --recursive
for file in log1 disk cool; do cmp "$file" "back/$two/$file"; done

# In place: another tier, other tags, metadata.
az set-properties "$(at $one cool)" --from-to BlobNone --block-blob-tier Hot --blob-tags 'stage=2' --metadata 'a=b'
[ "$(show $one | head -n 1)" = "cool BlockBlob Hot {'stage': '2'}" ]
az set-properties "$(at $one cool)" --from-to BlobNone --block-blob-tier Archive
[ "$(show $one | head -n 1 | cut -d' ' -f3)" = Archive ]
az remove "$(url $one)" --from-to BlobTrash --recursive
az remove "$(url $two)" --from-to BlobTrash --recursive
[ -z "$(show $one)$(show $two)" ]
