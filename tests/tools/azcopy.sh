# AzCopy: upload a folder, download it, sync both ways, copy from container to container on the server, remove.
# It signs nothing itself here: each address carries a shared access signature.
export AZCOPY_LOG_LOCATION=$PWD/log AZCOPY_JOB_PLAN_LOCATION=$PWD/plan AZCOPY_SKIP_VERSION_CHECK=true AZCOPY_DISABLE_SYSLOG=true
tools=$(dirname "$0")
one=azcopy-one-$$ two=azcopy-two-$$
url() { python -P "$tools/sas.py" "$1"; }               # the address of a container, with its signature
at() { local whole=$(url "$1"); echo "${whole%%\?*}/$2?${whole#*\?}"; } # the address of a blob in it
az() { azcopy "$@" --output-level essential; }

# Files of several blocks (1 MiB each, below), small ones, an empty one, and names that need escapes.
mkdir -p in/deep/er
head -c 5000000 /dev/urandom >in/large
head -c 1000 /dev/urandom >in/deep/small
: >in/deep/er/empty
echo hello >"in/deep/a b+ü%20.txt"

az copy 'in/*' "$(url $one)" --from-to LocalBlob --recursive --block-size-mb 1 --put-md5
az list "$(url $one)" --location Blob
az copy "$(url $one)" out --from-to BlobLocal --recursive --check-md5 FailIfDifferent
diff -r in "out/$one"

# Sync uploads what is new and removes what is gone.
echo more >in/new
rm in/deep/small
az sync in "$(url $one)" --from-to LocalBlob --delete-destination true
az sync "$(url $one)" back --from-to BlobLocal --delete-destination true
diff -r in back

# From blob to blob: the server reads from itself (Put Block From URL, Put Blob From URL).
az copy "$(url $one)" "$(url $two)" --from-to BlobBlob --recursive --block-size-mb 1 --s2s-preserve-access-tier=false
az copy "$(url $two)" two --from-to BlobLocal --recursive
diff -r in "two/$two"

az remove "$(at $one deep)" --from-to BlobTrash --recursive
az remove "$(url $two)" --from-to BlobTrash --recursive
[ -z "$(azcopy list "$(url $two)" --location Blob --output-level essential | grep 'Content Length' || true)" ]
