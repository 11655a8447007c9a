# rclone: sync a folder, check it by content, copy on the server a blob of several blocks, mount nothing, remove all.
export RCLONE_CONFIG=/dev/null
export RCLONE_CONFIG_LAZULI_TYPE=azureblob RCLONE_CONFIG_LAZULI_ACCOUNT=$LAZULI_ACCOUNT RCLONE_CONFIG_LAZULI_KEY=$LAZULI_KEY
export RCLONE_CONFIG_LAZULI_ENDPOINT=$LAZULI_BLOB_ENDPOINT RCLONE_CONFIG_LAZULI_CHUNK_SIZE=1Mi RCLONE_CONFIG_LAZULI_COPY_CUTOFF=2Mi
remote=lazuli:rclone-$$ RCLONE_RETRIES=1
mkdir -p in/deep
head -c 5000000 /dev/urandom >in/large
echo small >"in/deep/a b+ü%20.txt"
: >in/empty

rclone mkdir $remote
rclone sync in $remote/files
rclone check --download in $remote/files
[ "$(rclone lsf -R --files-only $remote/files | sort)" = "$(cd in && find . -type f | sed 's|^./||' | sort)" ]
rclone cat --offset 100 --count 50 $remote/files/large | cmp - <(tail -c +101 in/large | head -c 50)

# On the server: larger than the cut-off, so in blocks, each read from the source with a signature.
rclone copyto $remote/files/large $remote/copy/large
rclone cat $remote/copy/large | cmp - in/large
rclone moveto $remote/copy/large $remote/copy/moved
[ "$(rclone lsf $remote/copy)" = moved ]

echo more >in/new
rm in/empty
rclone sync in $remote/files
rclone check --download in $remote/files
rclone size --json $remote/files | grep -q '"count":3'
rclone purge $remote
! rclone lsf $remote 2>/dev/null
