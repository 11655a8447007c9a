# restic: back up real data, change it, back up again, check every byte of the repository, restore both states, forget one.
#
# Debian's restic knows one address for the development account, port 10000. So that port is forwarded to the server for a while;
# if another program holds it, restic goes through rclone.
export AZURE_ACCOUNT_NAME=$LAZULI_ACCOUNT AZURE_ACCOUNT_KEY=$LAZULI_KEY RESTIC_PASSWORD=lapis RESTIC_CACHE_DIR=$PWD/cache
container=restic-$$
url() { python -P "$(dirname "$0")/sas.py" $container; }
url >/dev/null # makes the container
port=${LAZULI_BLOB_ENDPOINT#*//*:} port=${port%%/*}
export RESTIC_REPOSITORY=azure:$container:/backups
if [ "$port" != 10000 ]; then
  python -P "$(dirname "$0")/forward.py" 10000 "$port" &
  forwarder=$!
  trap 'kill $forwarder 2>/dev/null || true' EXIT
  sleep 0.5
  if ! kill -0 $forwarder 2>/dev/null; then
    echo "port 10000 is in use: through rclone"
    export RCLONE_CONFIG=/dev/null RCLONE_CONFIG_LAZULI_TYPE=azureblob RCLONE_CONFIG_LAZULI_ACCOUNT=$LAZULI_ACCOUNT
    export RCLONE_CONFIG_LAZULI_KEY=$LAZULI_KEY RCLONE_CONFIG_LAZULI_ENDPOINT=$LAZULI_BLOB_ENDPOINT
    export RESTIC_REPOSITORY=rclone:lazuli:$container/backups
  fi
fi

# Real files: a few megabytes of the interpreter's own library.
library=$(python -c 'import json, os; print(os.path.dirname(json.__path__[0]))')
mkdir data
cp -r "$library"/{json,email,encodings,asyncio} data
restic init --quiet
restic backup --quiet data
cp -r data first
head -c 3000000 /dev/urandom >data/new
rm -rf data/asyncio
restic backup --quiet data
restic check --quiet --read-data
restic snapshots --json | python -c 'import json, sys; assert len(json.load(sys.stdin)) == 2'
restic restore --quiet latest --target latest
diff -r data latest/data
oldest=$(restic snapshots --json | python -c 'import json, sys; print(json.load(sys.stdin)[0]["id"])')
restic restore --quiet "$oldest" --target oldest
diff -r first oldest/data
restic forget --quiet --prune "$oldest"
restic check --quiet
