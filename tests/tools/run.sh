#!/usr/bin/env bash
# Runs tools that people use with queues and blobs against the server that the environment names; see README.md.
#
#   tests/tools/run.sh [TOOL...]     all of them unless named
set -uo pipefail
. "$(dirname "$0")/../sdk/lib.sh"
tools_dir=$repo_dir/tests/tools
queue_tools=(celery)
blob_tools=(azcopy azcopy_types rclone restic obstore deltalake pyarrow adlfs duckdb)

# Packages are compiled when they are first used: most of what they contain never is.
fill_tools() { python3 -m venv "$1" && "$1/bin/pip" install --no-deps --no-compile -r "$2"; }
venv=$LAZULI_TEST_CACHE/tools-python
cached "$venv" "$tools_dir/requirements.txt" -- fill_tools "$venv" "$tools_dir/requirements.txt" || exit
node_modules tools-node "$tools_dir" || exit
mkdir -p "$LAZULI_TEST_CACHE/tools-node/bin"
chmod +x "$modules/@azure-tools/azcopy-linux/dist/bin/"*
ln -sf "$modules/@azure-tools/azcopy-linux/dist/bin/"azcopy_linux* "$LAZULI_TEST_CACHE/tools-node/bin/azcopy"
installed
export PYTHONDONTWRITEBYTECODE= PYTHONPYCACHEPREFIX=$venv/pycache PATH=$venv/bin:$LAZULI_TEST_CACHE/tools-node/bin:$PATH
export AZURE_STORAGE_CONNECTION_STRING="DefaultEndpointsProtocol=${LAZULI_BLOB_ENDPOINT%%:*};AccountName=$LAZULI_ACCOUNT;AccountKey=$LAZULI_KEY;BlobEndpoint=$LAZULI_BLOB_ENDPOINT;QueueEndpoint=$LAZULI_QUEUE_ENDPOINT;TableEndpoint=$LAZULI_TABLE_ENDPOINT;"

tools=("$@")
if [ $# = 0 ]; then
  ! offered queue || tools+=("${queue_tools[@]}")
  ! offered blob || tools+=("${blob_tools[@]}")
fi
failed=0 summary=()
for tool in "${tools[@]}"; do
  script=$(echo "$tools_dir/$tool".{sh,py} | tr ' ' '\n' | while read -r file; do [ ! -e "$file" ] || echo "$file"; done)
  [ -n "$script" ] || { echo "unknown tool: $tool" >&2; exit 2; }
  work=$(mktemp -d) started=$SECONDS outcome=passed
  case $script in
    *.py) (cd "$work" && timeout 300 python -P "$script") ;;
    *.sh) (cd "$work" && timeout 300 bash -euo pipefail "$script") ;;
  esac >"$work.log" 2>&1 || { outcome=FAILED failed=1; tail -n 40 "$work.log"; }
  summary+=("$(printf '%-12s %-6s %4d s' "$tool" $outcome $((SECONDS - started)))")
  rm -rf "$work" "$work.log"
done
printf '%s\n' "${summary[@]}"
exit $failed
