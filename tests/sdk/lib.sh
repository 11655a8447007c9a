# Shared by the suites: where the server is, and where dependencies are kept.
# Sourced, not run. Every suite works against any server that speaks the protocol.

sdk_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
repo_dir=$(cd "$sdk_dir/../.." && pwd)

# An address that is set but empty means that the server does not offer this service.
: "${LAZULI_TABLE_ENDPOINT=http://127.0.0.1:10002/devstoreaccount1}"
: "${LAZULI_QUEUE_ENDPOINT=http://127.0.0.1:10001/devstoreaccount1}"
: "${LAZULI_BLOB_ENDPOINT=http://127.0.0.1:10000/devstoreaccount1}"
: "${LAZULI_ACCOUNT:=devstoreaccount1}"
: "${LAZULI_KEY:=Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==}"
: "${LAZULI_SKIP:=}"
: "${LAZULI_TEST_CACHE:=$repo_dir/target/test-deps}"
mkdir -p "$LAZULI_TEST_CACHE"
LAZULI_TEST_CACHE=$(cd "$LAZULI_TEST_CACHE" && pwd)
export LAZULI_TABLE_ENDPOINT LAZULI_QUEUE_ENDPOINT LAZULI_BLOB_ENDPOINT LAZULI_ACCOUNT LAZULI_KEY LAZULI_SKIP LAZULI_TEST_CACHE
export PYTHONDONTWRITEBYTECODE=1 PIP_DISABLE_PIP_VERSION_CHECK=1 NPM_CONFIG_UPDATE_NOTIFIER=false

# Runs "$@" to fill the directory $1 unless it was filled from the same input files before.
# Usage: cached DIR FILE... -- COMMAND...
cached() {
  local dir=$1 files=() stamp
  shift
  while [ "$1" != "--" ]; do files+=("$1"); shift; done
  shift
  stamp=$(cat "${files[@]}" | sha256sum | cut -d' ' -f1)
  (
    flock 9
    if [ "$(cat "$dir/.stamp" 2>/dev/null)" != "$stamp" ]; then
      rm -rf "$dir"
      mkdir -p "$dir"
      "$@" >"$dir/.log" 2>&1 || { cat "$dir/.log" >&2; exit 1; }
      echo "$stamp" >"$dir/.stamp"
    fi
  ) 9>"$dir.lock"
}

# Every run.sh calls this once its dependencies are there. With LAZULI_INSTALL_ONLY set, that was all.
installed() { [ -z "${LAZULI_INSTALL_ONLY:-}" ] || exit 0; }

# Whether the server offers a service, by the name of the suite for it. A suite for one that is missing is passed over.
offered() {
  local variable=LAZULI_${1^^}_ENDPOINT
  [ -n "${!variable}" ] || { echo "SKIPPED ${1}s: the server does not offer them"; return 1; }
}

# A virtual environment with exactly the packages of a requirements file: prints nothing, sets $venv.
python_venv() {
  venv=$LAZULI_TEST_CACHE/$1
  cached "$venv" "$2" -- fill_venv "$venv" "$2"
}

fill_venv() {
  python3 -m venv "$1" && "$1/bin/pip" install --no-deps -r "$2"
}

# The packages of a committed lock file, in a directory of the cache: sets $modules to its node_modules.
node_modules() {
  local dir=$LAZULI_TEST_CACHE/$1
  modules=$dir/node_modules
  cached "$dir" "$2/package.json" "$2/package-lock.json" -- fill_modules "$dir" "$2"
}

fill_modules() {
  cp "$2/package.json" "$2/package-lock.json" "$1/" && cd "$1" && npm ci --no-audit --no-fund --ignore-scripts
}
