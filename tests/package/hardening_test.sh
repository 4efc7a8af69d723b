#!/bin/bash
# A build from the top level has the compiler's protections; one without optimisation or within another
# project does not. Nothing is compiled: the flags are read from the build's files.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

configure() {  # configure NAME SOURCE FLAG...
  cmake -G Ninja -S "$2" -B "$work/$1" -DQUORUMLOCK_BUILD_TESTS=OFF -DQUORUMLOCK_BUILD_TOOLS=OFF \
    -DQUORUMLOCK_BUILD_BENCH=OFF "${@:3}" >"$work/$1.log" 2>&1 || {
    cat "$work/$1.log"
    exit 1
  }
}
count() { grep -c -- "$2" "$work/$1/build.ninja" || true; }
fail() {
  echo "FAILED: $*" >&2
  exit 1
}

configure top "$root" -DCMAKE_BUILD_TYPE=Release
for flag in -fstack-protector-strong -D_FORTIFY_SOURCE=2 -z,relro -z,now; do
  (($(count top "$flag") > 0)) || fail "a build from the top level has no $flag"
done
configure debug "$root" -DCMAKE_BUILD_TYPE=Debug
(($(count debug FORTIFY_SOURCE) == 0)) || fail "a build without optimisation has _FORTIFY_SOURCE"
mkdir "$work/source"
cat >"$work/source/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.25)
project(parent LANGUAGES CXX)
add_subdirectory($root quorumlock)
END
configure parent "$work/source" -DCMAKE_BUILD_TYPE=Release
(($(count parent FORTIFY_SOURCE) == 0)) || fail "a build within another project gets its own flags"
echo "the flags are where they belong"
