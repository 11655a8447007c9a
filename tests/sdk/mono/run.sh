#!/usr/bin/env bash
# The ADO.NET Data Services client that Debian's mono ships, against LAZULI_TABLE_ENDPOINT. An argument picks tests by name.
#
# Uses the mono of the machine if it has all that is needed, else unpacks Debian's packages into the cache: nothing is
# installed, and no privileges are needed beyond a package list (`apt-get update`).
set -euo pipefail
. "$(dirname "$0")/../lib.sh"

packages=(
  libmono-corlib4.5-cil libmono-corlib4.5-dll libmono-microsoft-csharp4.0-cil libmono-security4.0-cil
  libmono-system-configuration4.0-cil libmono-system-core4.0-cil libmono-system-data-services-client4.0-cil
  libmono-system-numerics4.0-cil libmono-system-security4.0-cil libmono-system-xml-linq4.0-cil
  libmono-system-xml4.0-cil libmono-system4.0-cil mono-gac mono-4.0-gac mono-mcs mono-runtime mono-runtime-common
  mono-runtime-sgen
)

unpack_mono() {
  cd "$1"
  apt-cache show mono-mcs >/dev/null 2>&1 || [ "$(id -u)" != 0 ] || apt-get update
  apt-get download "${packages[@]}"
  for package in *.deb; do dpkg-deb -x "$package" .; done
  rm -f -- *.deb
}

if command -v mcs >/dev/null && [ -e "$(dirname "$(readlink -f "$(command -v mcs)")")/../lib/mono/4.5/System.Data.Services.Client.dll" ]; then
  mono=(mono)
  compile=(mcs)
else
  root=$LAZULI_TEST_CACHE/sdk-mono
  cached "$root" "$sdk_dir/mono/run.sh" -- unpack_mono "$root"
  export MONO_CFG_DIR=$root/etc
  mono=("$root/usr/bin/mono-sgen")
  compile=("${mono[@]}" "$root/usr/lib/mono/4.5/mcs.exe")
fi

installed
program=$LAZULI_TEST_CACHE/sdk-mono-suite.exe
"${compile[@]}" -warnaserror -out:"$program" -r:System.Data.Services.Client.dll -r:System.Core.dll "$sdk_dir"/mono/*.cs
# On a starved machine Mono's asynchronous SaveChanges trips over itself now and then ("internal error 60": two of its own
# callbacks at once). Nothing that a server says does that, so such a run is repeated, once.
output=$(mktemp)
if "${mono[@]}" "$program" "$@" | tee "$output"; then exit 0; fi
grep -q 'System.Data.Services.Client internal error' "$output" || exit 1
exec "${mono[@]}" "$program" "$@"
