#!/bin/bash
# Builds the library, the program and the unit tests without TLS, and runs the last: no OpenSSL is needed or
# linked, and rediss:// is refused in a sentence. The library is built as a part of another project, too.
#
#   no_tls_test.sh
set -euo pipefail

root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  echo "FAILED: $*" >&2
  exit 1
}
# shellcheck source=tests/package/without_openssl.sh
source "$root/tests/package/without_openssl.sh"
poison_openssl "$work/poison"
cmake -G Ninja -S "$root" -B "$work/build" -DQUORUMLOCK_TLS=OFF \
  -DQUORUMLOCK_BUILD_BENCH=OFF -DQUORUMLOCK_BUILD_CHAOS=OFF -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG= \
  -DQUORUMLOCK_WARNINGS_AS_ERRORS=ON -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=20 \
  "-DCMAKE_CXX_FLAGS=-isystem $work/poison" >"$work/log" 2>&1 || {
  cat "$work/log"
  fail "configuring with QUORUMLOCK_TLS=OFF"
}
cmake --build "$work/build" --target quorumlock quorumlock_cli unit_tests >"$work/log" 2>&1 || {
  cat "$work/log"
  fail "building with QUORUMLOCK_TLS=OFF"
}
program=$work/build/tools/cli/quorumlock
needs_no_openssl "$program" "$work/build/lib/libquorumlock.so"

# refused CODE WORDS COMMAND...: the command ends with the code, and says the words.
refused() {
  local code=0
  "${@:3}" >"$work/said" 2>&1 || code=$?
  [[ $code == "$1" ]] || fail "${*:3} ended with $code: $(cat "$work/said")"
  grep -qF "$2" "$work/said" || fail "${*:3} does not say \"$2\": $(cat "$work/said")"
}
refused 64 'wants TLS, and this quorumlock is built without TLS: use redis://' \
  "$program" --nodes rediss://127.0.0.1:1 status
refused 64 'built without TLS' "$program" cluster start --tls --dir "$work/cluster"
echo '{"nodes": ["redis://127.0.0.1:1"], "tls": {"ca_file": "/ca.pem"}}' >"$work/config.json"
refused 64 'tls is given' "$program" --config "$work/config.json" status
"$work/build/tests/unit_tests" --gtest_brief=1 || fail "the unit tests without TLS"
"$root/tests/package/parent_test.sh" --without-tls
echo "no_tls: ok"
