# Sourced after tools/setup.sh: a bare Debian system below build/, for tools/package, tools/routes, tools/debian13 and
# tools/arm64.
# shellcheck shell=bash

# Writes an archive of everything that git would commit, even if it is not committed yet; without git, of all but build/.
copy_tree() {
  if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
    git ls-files -z --cached --others --exclude-standard --deduplicate |
      while IFS= read -r -d '' file; do [[ ! -e $file ]] || printf '%s\0' "$file"; done |
      tar --create --null --files-from=-
  else
    tar --create --exclude=./build --exclude='./build-*' .
  fi
}

# find_mirror SUITE: whether the server of Debian packages that apt uses can be reached and has this release, or that
# of this machine if SUITE is empty. Sets $mirror and $suite.
find_mirror() {
  local target found
  # shellcheck disable=SC2016  # for apt-get
  target=$(apt-get indextargets --format '$(REPO_URI) $(CODENAME)' 'Created-By: Packages' \
    'Origin: Debian' 'Component: main' | awk '$2 !~ /-/ {print; exit}')
  read -r mirror suite <<<"$target"
  mirror=${mirror%/} suite=${1:-$suite}
  [[ -n $suite ]] || return 1
  found=$(mktemp) || return
  /usr/lib/apt/apt-helper download-file "$mirror/dists/$suite/InRelease" "$found" >/dev/null 2>&1 &&
    rm -f "$found"
}

# make_root ROOT LOG: installs $suite from $mirror in this folder. No package starts a service there.
make_root() {
  local root=$1 proxy=
  remove_root "$root"
  eval "$(apt-config shell proxy Acquire::http::Proxy)"
  as_root env ${proxy:+http_proxy="$proxy"} debootstrap --variant=minbase "$suite" "$root" "$mirror" >"$2" 2>&1 || {
    tail -n 20 "$2" >&2
    return 1
  }
  printf '#!/bin/sh\nexit 101\n' | as_root tee "$root/usr/sbin/policy-rc.d" >/dev/null
  as_root chmod 755 "$root/usr/sbin/policy-rc.d"
  [[ -z $proxy ]] || printf 'Acquire::http::Proxy "%s";\n' "$proxy" |
    as_root tee "$root/etc/apt/apt.conf.d/proxy" >/dev/null
}

remove_root() {
  as_root rm -rf --one-file-system "$1"
}

# with_root ROOT COMMAND...: runs a command that uses the bare system. The kernel's /proc is mounted there only as
# long as the command runs, and nothing of the caller's environment is passed on.
with_root() {
  # shellcheck disable=SC2016  # for the shell that unshare runs
  as_root env -i PATH="$PATH" HOME=/root LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive unshare --mount \
    sh -c 'mount -t proc proc "$1/proc" && shift && exec "$@"' sh "$@"
}

# with_tree ROOT LOG COMMAND...: runs a command in the bare system, which sees this tree as /quorumlock.
with_tree() {
  local root=$1 log=$2
  shift 2
  # shellcheck disable=SC2016  # for the shell
  with_root "$root" sh -c 'mount --bind "$1" "$2/quorumlock" && root=$2 && shift 2 && exec chroot "$root" "$@"' sh \
    "$PWD" "$root" "$@" >"$log" 2>&1 || {
    tail -n 60 "$log" >&2
    return 1
  }
}
