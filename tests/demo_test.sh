#!/usr/bin/env bash
# The demo in a reduced size: demo_test.sh FLASH_SALE CASE. Whatever the case, it must leave no
# process and no file.
set -euo pipefail
flash_sale=$1
case_name=$2

work=$(mktemp -d)
export TMPDIR=$work/tmp
mkdir "$TMPDIR"
touch "$work/out"
demo=""
clean_up() {
  [[ -n $demo ]] && kill -KILL "$demo" 2>/dev/null
  rm -rf "$work"
}
trap clean_up EXIT

fail() {
  echo "FAILED: $1"
  sed 's/^/  | /' "$work/out"
  exit 1
}

small=(--processes 2 --buyers 5 --phones 6 --think 50ms)

# The processes that run in our TMPDIR, or have it on their command line.
strays() {
  local process
  for process in /proc/[0-9]*; do
    [[ ${process#/proc/} == "$$" || ${process#/proc/} == "$BASHPID" ]] && continue
    if [[ $(readlink "$process/cwd" 2>/dev/null) == "$TMPDIR"* ]] ||
      { tr '\0' ' ' <"$process/cmdline"; } 2>/dev/null | grep -qF "$TMPDIR"; then
      echo "${process#/proc/} $(tr '\0' ' ' <"$process/cmdline" 2>/dev/null)"
    fi
  done
}

# Tries a command until it succeeds, for a minute at most.
eventually() {
  local deadline=$((SECONDS + 60))
  until "$@"; do
    ((SECONDS < deadline)) || return 1
    sleep 0.05
  done
}

nothing_is_left() { [[ -z $(strays) && -z $(ls -A "$TMPDIR") ]]; }

start_and_await() {
  # With job control the demo gets the default for SIGINT; a background process of a script would ignore it.
  set -m
  "$flash_sale" --phones 10 --think 200ms >"$work/out" 2>&1 &
  demo=$!
  set +m
  eventually grep -q "$1" "$work/out" || fail "it never printed \"$1\""
}

case $case_name in
  sale)
    "$flash_sale" "${small[@]}" >"$work/out" 2>&1 || fail "it ended with $?"
    cat "$work/out"
    grep -q 'nodes 2 and 5 are killed' "$work/out" || fail "no node was killed"
    grep -q 'each phone was sold once' "$work/out" || fail "it did not report that all promises held"
    nothing_is_left || fail "still there: $(strays; ls -A "$TMPDIR")"
    ;;
  interrupted-*)
    start_and_await 'phone 4 to'
    # The signal goes to its whole process group, as from Ctrl-C on a terminal.
    kill -s "${case_name#interrupted-}" -- "-$demo"
    code=0
    wait "$demo" || code=$?
    demo=""
    expected=$((128 + $(kill -l "${case_name#interrupted-}")))
    ((code == expected)) || fail "it ended with $code, not $expected"
    nothing_is_left || fail "still there: $(strays; ls -A "$TMPDIR")"
    ;;
  killed)
    # Nothing can tidy up files after kill -9, but no process may outlive the demo.
    start_and_await 'phone 4 to'
    kill -KILL "$demo"
    wait "$demo" || true
    demo=""
    no_strays() { [[ -z $(strays) ]]; }
    eventually no_strays || fail "still running: $(strays)"
    ;;
  bad-nodes)
    code=0
    "$flash_sale" --nodes http://nowhere >"$work/out" 2>&1 || code=$?
    ((code == 64)) || fail "it ended with $code, not 64"
    nothing_is_left || fail "still there: $(strays; ls -A "$TMPDIR")"
    ;;
  *) echo "no such case: $case_name" && exit 64 ;;
esac
