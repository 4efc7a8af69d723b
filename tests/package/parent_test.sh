#!/bin/bash
# Builds the library as a part of another project: by add_subdirectory and by FetchContent, with
# BUILD_SHARED_LIBS unset, ON and OFF, and with hidden symbols. Then that project installs the static library,
# and the installed one is used by find_package and by pkg-config from another place. With --without-tls only
# the first: it builds the shared library, too, and without TLS. A night's no_tls_test.sh asks for that.
#
#   parent_test.sh [--without-tls]
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  echo "FAILED: $*" >&2
  exit 1
}
# shellcheck source=tests/package/without_openssl.sh
source "$here/without_openssl.sh"
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

echo "== BUILD_SHARED_LIBS unset: the library is shared, and the parent's own stays static; no OpenSSL is used"
poison_openssl "$work/poison"
configure unset -DOWN_TYPE=STATIC_LIBRARY -DQUORUMLOCK_TYPE=SHARED_LIBRARY -DQUORUMLOCK_TLS=OFF \
  -DQUORUMLOCK_TESTING=OFF -DQUORUMLOCK_WARNINGS_AS_ERRORS=ON "-DCMAKE_CXX_FLAGS=-isystem $work/poison"
if [[ ${1:-} == --without-tls ]]; then
  build_and_run unset
  needs_no_openssl "$work/unset/quorumlock/lib/libquorumlock.so"
  exit
fi
"${CXX:-c++}" -std=c++20 -Wall -Wextra -Werror -fsyntax-only -isystem "$work/poison" -I "$here/../../include" \
  -I "$here/../../lib" "$here/../../lib/tls/without.cpp" || fail "compiling what stands in for TLS"

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

echo "== the static library, installed by the parent and moved: find_package"
configure off -DQUORUMLOCK_INSTALL=ON
cmake --build "$work/off" >"$work/off.log" 2>&1 || fail "building to install: $(cat "$work/off.log")"
cmake --install "$work/off" --prefix "$work/installed" >/dev/null || fail "installing the static library"
mkdir "$work/elsewhere"
prefix=$work/elsewhere/moved
mv "$work/installed" "$prefix"
[[ -n $(find "$prefix" -name libquorumlock.a) ]] || fail "no libquorumlock.a is installed"
{
  cmake -G Ninja -S "$here/consumer" -B "$work/static" -DCMAKE_PREFIX_PATH="$prefix" &&
    cmake --build "$work/static" --target consumer consumer_testing
} >"$work/static.log" 2>&1 || fail "building with find_package and the static library: $(cat "$work/static.log")"
for program in consumer consumer_testing; do
  "$work/static/$program" || fail "running the $program that was built with find_package"
done

echo "== the same library: pkg-config"
PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name quorumlock.pc)")
export PKG_CONFIG_PATH
for source in main:quorumlock admin:quorumlock-admin testing:quorumlock-testing; do
  read -ra flags < <(pkg-config --define-prefix --cflags --libs "${source#*:}")
  "${CXX:-c++}" -std=c++20 "$here/consumer/${source%:*}.cpp" -o "$work/${source%:*}" "${flags[@]}" ||
    fail "building with pkg-config and the static library: ${flags[*]}"
  "$work/${source%:*}" || fail "running the ${source%:*} that was built with pkg-config"
done
for program in "$work/static/consumer" "$work/main"; do
  ! readelf --dynamic "$program" | grep 'NEEDED.*libquorumlock' || fail "$program is linked with a shared library"
done

echo "parent: ok"
