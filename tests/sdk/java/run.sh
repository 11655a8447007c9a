#!/usr/bin/env bash
# The official Java SDKs (azure-data-tables, azure-storage-queue, azure-storage-blob) against the server that the environment names.
# Arguments go to JUnit's launcher, in place of the choice of all tests: `--select-class lazuli.Queues`.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"
command -v javac >/dev/null && command -v mvn >/dev/null || { echo "SKIPPED: Java (a JDK and Maven) is not installed"; exit 0; }

fetch() { # into DIR, the packages of the pom and what they need
  mvn -q -B -ntp -f "$2" org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies -DoutputDirectory="$1"
}

packages=$LAZULI_TEST_CACHE/sdk-java
cached "$packages" "$sdk_dir/java/pom.xml" -- fetch "$packages" "$sdk_dir/java/pom.xml"
installed
classes=$(mktemp -d)
trap 'rm -rf "$classes"' EXIT
javac -Xlint:-options -nowarn -d "$classes" -cp "$packages/*" "$sdk_dir"/java/src/test/java/lazuli/*.java
[ $# -gt 0 ] || set -- --scan-class-path "$classes" --include-classname '.*'
export LAZULI_SOURCES=$sdk_dir/java/src/test/java/lazuli
java -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -cp "$packages/*:$classes" org.junit.platform.console.ConsoleLauncher execute \
  --disable-banner --details=summary --fail-if-no-tests --reports-dir="$classes/reports" "$@"
