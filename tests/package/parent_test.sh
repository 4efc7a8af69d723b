#!/bin/bash
# Builds the library as a part of another project: by add_subdirectory and by FetchContent, with
# BUILD_SHARED_LIBS unset, ON and OFF, and with hidden symbols.
#
#   parent_test.sh
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  echo "FAILED: $*" >&2
  exit 1
}
configure() {
  local name=$1
  shift
  cmake -G Ninja -S "$here/parent" -B "$work/$name" -DQUORUMLOCK_SOURCE_DIR="$here/../.." \
    -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG= -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=20 "$@" \
    >"$work/$name.log" 2>&1 || {
    cat "$work/$name.log"
    fail "configuring with $name"
  }
}
build_and_run() {
  cmake --build "$work/$1" >"$work/$1.log" 2>&1 || {
    cat "$work/$1.log"
    fail "building with $1"
  }
  "$work/$1/parent" || fail "running what was built with $1"
  cmake --install "$work/$1" --prefix "$work/$1/prefix" >/dev/null || fail "installing $1"
  local installed
  installed=$(cd "$work/$1/prefix" && find . -type f)
  [[ $installed == ./bin/parent ]] || fail "the parent installs more than its own program: $installed"
}

echo "== BUILD_SHARED_LIBS unset: the library is shared, and the parent's own stays static"
configure unset -DOWN_TYPE=STATIC_LIBRARY -DQUORUMLOCK_TYPE=SHARED_LIBRARY
build_and_run unset

echo "== BUILD_SHARED_LIBS=ON: both are shared"
configure on -DBUILD_SHARED_LIBS=ON -DASKED_FOR=1 -DOWN_TYPE=SHARED_LIBRARY \
  -DQUORUMLOCK_TYPE=SHARED_LIBRARY

echo "== BUILD_SHARED_LIBS=ON, QUORUMLOCK_SHARED=OFF: the library alone is static"
configure but -DBUILD_SHARED_LIBS=ON -DASKED_FOR=1 -DQUORUMLOCK_SHARED=OFF \
  -DOWN_TYPE=SHARED_LIBRARY -DQUORUMLOCK_TYPE=STATIC_LIBRARY

echo "== BUILD_SHARED_LIBS=OFF, by FetchContent: both are static"
configure off -DBUILD_SHARED_LIBS=OFF -DASKED_FOR=1 -DBY_FETCH_CONTENT=ON \
  -DOWN_TYPE=STATIC_LIBRARY -DQUORUMLOCK_TYPE=STATIC_LIBRARY
build_and_run off

echo "parent: ok"
