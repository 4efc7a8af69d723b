#!/bin/bash
# Installs a build to a prefix of its own and uses it from outside: with find_package, with pkg-config,
# each header alone, and the program.
#
#   package_test.sh BUILD_DIR
set -euo pipefail

build=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server"; rm -rf "$work"' EXIT
prefix=$work/prefix
cxx=${CXX:-c++}

step() { echo "== $*"; }
fail() {
  echo "FAILED: $*" >&2
  exit 1
}
cached() { sed -n "s/^$1:[A-Z]*=//p" "$build/CMakeCache.txt"; }

step "install to $prefix"
cmake --install "$build" --prefix "$prefix" >"$work/install.log" 2>&1 || {
  cat "$work/install.log"
  fail "cmake --install"
}
(cd "$prefix" && find . -type f -o -type l | sort | sed 's/^/   /')
[ -f "$prefix/include/quorumlock/quorumlock.hpp" ] || fail "the umbrella header is not installed"
extra=$(find "$prefix/include" -type f ! -path "$prefix/include/quorumlock/*")
[ -z "$extra" ] || fail "headers that are not the library's own: $extra"

# Headers that a consumer must not need: including one of them is an error here.
poison=$work/poison
for header in hiredis/hiredis.h hiredis/read.h hiredis/async.h uv.h nlohmann/json.hpp \
  nlohmann/json_fwd.hpp openssl/ssl.h; do
  mkdir -p "$poison/$(dirname "$header")"
  echo "#error \"a public header includes <$header>\"" >"$poison/$header"
done
flags=(-std=c++20 -Wall -Wextra -Wpedantic -Werror -isystem "$poison")
sanitize=$(cached QUORUMLOCK_SANITIZE)
[ -z "$sanitize" ] || flags+=("-fsanitize=$sanitize")

prometheus=$(echo '#include <prometheus/collectable.h>' |
  "$cxx" -std=c++20 -fsyntax-only -x c++ - 2>/dev/null && echo found || true)
[ -n "$prometheus" ] || echo "skipped: <quorumlock/prometheus.hpp>, since prometheus-cpp-dev is not installed"
step "each header by itself"
for header in "$prefix"/include/quorumlock/*.hpp "$prefix"/include/quorumlock/*/*.hpp; do
  [[ $header != */prometheus.hpp || -n $prometheus ]] || continue
  echo "#include \"$header\"" | "$cxx" "${flags[@]}" -I"$prefix/include" -fsyntax-only -x c++ - ||
    fail "$header does not compile by itself"
done
for header in quorumlock/asio.hpp quorumlock/detail/asio_operation.hpp; do  # above with Boost.Asio
  echo "#include <$header>" |
    "$cxx" "${flags[@]}" -DASIO_STANDALONE -I"$prefix/include" -fsyntax-only -x c++ - ||
    fail "$header does not compile with standalone Asio"
done

step "the umbrella header includes no other library"
"$cxx" "${flags[@]}" -I"$prefix/include" -M "$here/consumer/main.cpp" | tr -d '\\' |
  tr ' ' '\n' | grep '^/' | sort -u >"$work/includes"
! grep -E '/(hiredis|nlohmann|openssl)/|/uv(\.h|/)' "$work/includes" || fail "see above"

step "find_package"
# The warnings are not in CMAKE_CXX_FLAGS: with them CMake's own checks would fail to find this machine's folders.
cmake -G Ninja -S "$here/consumer" -B "$work/cmake" -DCMAKE_PREFIX_PATH="$prefix" \
  -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_CXX_STANDARD=20 \
  "-DCMAKE_CXX_FLAGS=-isystem $poison ${sanitize:+-fsanitize=$sanitize}" \
  "-DCONSUMER_WARNINGS=-Wall;-Wextra;-Wpedantic;-Werror" \
  >"$work/cmake.log" 2>&1 || {
  cat "$work/cmake.log"
  fail "find_package(quorumlock)"
}
found=$(sed -n 's/^quorumlock_DIR:PATH=//p' "$work/cmake/CMakeCache.txt")
case $found in
  "$prefix"/*) ;;
  *) fail "found in $found and not in $prefix" ;;
esac
cmake --build "$work/cmake" >"$work/cmake.log" 2>&1 || {
  cat "$work/cmake.log"
  fail "building with find_package"
}
"$work/cmake/consumer" || fail "running what was built with find_package"
"$work/cmake/consumer_admin" || fail "running what was built with the component admin"
"$work/cmake/consumer_asio" || fail "running what was built with the component asio"
"$work/cmake/consumer_testing" || fail "running what was built with the component testing"
[ -z "$prometheus" ] || "$work/cmake/consumer_prometheus" ||
  fail "running what was built with the component prometheus"

step "find_package that is quiet"
not_found() { # the reason, and flags for CMake
  cmake -G Ninja -S "$here/quiet" -B "$work/quiet" -DCMAKE_CXX_COMPILER="$cxx" -DREASON="$1" "${@:2}" \
    >"$work/quiet.log" 2>&1 || {
    cat "$work/quiet.log"
    fail "find_package(quorumlock QUIET) without success is not as it should be"
  }
  rm -rf "$work/quiet"
}
not_found "has no component locks" -DCMAKE_PREFIX_PATH="$prefix" "-DCOMPONENTS=core;locks"

step "pkg-config"
pc=$(find "$prefix" -name quorumlock.pc)
libdir=$(dirname "$(dirname "$pc")")
export PKG_CONFIG_PATH
PKG_CONFIG_PATH=$(dirname "$pc")
if [ "$(cached QUORUMLOCK_SHARED)" != OFF ]; then
  # Nothing else may be needed, so nothing else can be found.
  PKG_CONFIG_LIBDIR=$PKG_CONFIG_PATH pkg-config --cflags --libs quorumlock >/dev/null ||
    fail "quorumlock.pc asks for other packages, which users of the shared library need not have"
fi
[ "$(pkg-config --variable=prefix quorumlock | xargs realpath -m)" = "$(realpath "$prefix")" ] ||
  fail "quorumlock.pc says prefix=$(pkg-config --variable=prefix quorumlock), it is in $prefix"
version=$(pkg-config --modversion quorumlock)
! pkg-config --cflags --libs quorumlock quorumlock-admin | grep -F .. || fail "pkg-config prints a path with .."
read -ra cflags < <(pkg-config --cflags quorumlock)
read -ra libs < <(pkg-config --libs quorumlock)
"$cxx" "${flags[@]}" "${cflags[@]}" "$here/consumer/main.cpp" -o "$work/consumer" "${libs[@]}" ||
  fail "building with pkg-config: ${cflags[*]} ${libs[*]}"
LD_LIBRARY_PATH=$libdir "$work/consumer" || fail "running what was built with pkg-config"

if "$cxx" "${flags[@]}" "${cflags[@]}" -D_GLIBCXX_DEBUG "$here/consumer/main.cpp" -o "$work/debug" \
  "${libs[@]}" 2>"$work/debug.log"; then
  fail "a program with other containers than the library's, by _GLIBCXX_DEBUG, is linked"
fi
grep -q 'library_is_built_with_GLIBCXX_DEBUG' "$work/debug.log" || {
  cat "$work/debug.log"
  fail "the linker does not say why a program with _GLIBCXX_DEBUG cannot be linked"
}

read -ra its_libs < <(pkg-config --libs quorumlock-admin)
"$cxx" "${flags[@]}" "${cflags[@]}" "$here/consumer/admin.cpp" -o "$work/consumer_admin" "${its_libs[@]}" ||
  fail "building an operator's program with pkg-config: ${its_libs[*]}"
LD_LIBRARY_PATH=$libdir "$work/consumer_admin" || fail "running the operator's program"
! "$cxx" "${flags[@]}" "${cflags[@]}" "$here/consumer/admin.cpp" -o "$work/no_admin" "${libs[@]}" 2>/dev/null ||
  fail "an operator's program is linked without quorumlock-admin: what it calls is in the library that locks"

read -ra its_libs < <(pkg-config --libs quorumlock-testing)
"$cxx" "${flags[@]}" "${cflags[@]}" "$here/consumer/testing.cpp" -o "$work/consumer_testing" "${its_libs[@]}" ||
  fail "building a test with pkg-config: ${its_libs[*]}"
LD_LIBRARY_PATH=$libdir "$work/consumer_testing" || fail "running the test that was built with pkg-config"

if [ -z "$sanitize" ] && command -v clang++ >/dev/null; then
  step "pkg-config, with clang"
  for source in main asio; do  # Asio 1.22 leaves its coroutines out under clang unless it is asked for them
    clang++ "${flags[@]}" "${cflags[@]}" -DASIO_STANDALONE -DASIO_HAS_CO_AWAIT "$here/consumer/$source.cpp" \
      -o "$work/consumer_$source" "${libs[@]}" -pthread || fail "building $source.cpp with clang"
    LD_LIBRARY_PATH=$libdir "$work/consumer_$source" || fail "running what clang has built of $source.cpp"
  done
else
  echo "skipped: building with clang, which is not installed or would need the same sanitizer"
fi

shared=$(find "$libdir" -maxdepth 1 -name 'libquorumlock.so.*.*.*')
if [ -n "$shared" ]; then
  step "all exported symbols are public"
  for library in "$shared" "${shared/libquorumlock/libquorumlock-admin}"; do
    python3 "$here/exports_test.py" "$library" "$prefix/include/quorumlock" || fail "exported by $library: see above"
  done
  if [ -z "$sanitize" ]; then  # a sanitizer keeps the plugin loaded
    step "a plugin that uses the library can be unloaded"
    # Any other symbol of the plugin could bind the C++ library to it, which is never unloaded.
    echo '{ global: try_to_lock; local: *; };' >"$work/plugin.map"
    "$cxx" -std=c++20 "${cflags[@]}" -DPLUGIN -shared -fPIC "$here/unload.cpp" \
      -o "$work/plugin.so" "${libs[@]}" -Wl,-rpath,"$libdir" \
      -Wl,--version-script="$work/plugin.map" &&
      "$cxx" -std=c++20 "$here/unload.cpp" -o "$work/unload" -ldl || fail "building the plugin"
    node=unix://$work/node.sock
    redis-server --port 0 --unixsocket "$work/node.sock" --save "" --dir "$work" \
      >"$work/server.log" 2>&1 &
    server=$!
    until grep -q 'ready to accept' "$work/server.log"; do
      kill -0 "$server" || fail "the server does not start: $(cat "$work/server.log")"
    done
    "$prefix/bin/quorumlock" --nodes "$node" enroll --new >"$work/enroll.log" 2>&1 ||
      fail "enrolling a node: $(cat "$work/enroll.log")"
    "$work/unload" "$work/plugin.so" "$shared" "$node" || fail "unloading the plugin"
  fi
fi

step "a static library can be configured, and installed"
cmake -G Ninja -S "$here/../.." -B "$work/static" -DCMAKE_CXX_COMPILER="$cxx" \
  -DQUORUMLOCK_SHARED=OFF -DQUORUMLOCK_BUILD_TESTS=OFF -DQUORUMLOCK_BUILD_BENCH=OFF \
  -DQUORUMLOCK_BUILD_CHAOS=OFF >"$work/static.log" 2>&1 || {
  cat "$work/static.log"
  fail "-DQUORUMLOCK_SHARED=OFF, which the Dockerfile uses, does not work"
}
PKG_CONFIG_LIBDIR=$work/nothing not_found "linked with libuv" -Dquorumlock_DIR="$work/static/lib" -DCOMPONENTS=core
exported=$(find "$work/static" -path '*/CMakeFiles/Export/*' -name quorumlockTargets.cmake)
[ -n "$exported" ] || fail "the static library exports no targets"
! grep -E 'INTERFACE_LINK_LIBRARIES.*[;:"]/' "$exported" ||
  fail "users of the static library would need a file at the place that it has here: see above"

step "the program"
program=$prefix/bin/quorumlock
[ -x "$program" ] || fail "no program in $prefix/bin"
"$program" --version | grep -F "$version" || fail "quorumlock --version does not say $version"
"$program" --help | grep -q 'acquire' || fail "quorumlock --help does not name its commands"
for file in man/man1/quorumlock.1 man/man1/quorumlock-run.1 zsh/site-functions/_quorumlock \
  bash-completion/completions/quorumlock; do
  [ -f "$prefix/share/$file" ] || fail "share/$file is not installed"
done
code=0
"$program" --nodes unix:///nowhere/1 acquire orders:42 >/dev/null 2>"$work/stderr" || code=$?
[ "$code" = 69 ] || fail "acquire without nodes gave $code and not 69: $(cat "$work/stderr")"

echo "package: ok"
