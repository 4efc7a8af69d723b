# Sourced by tools/demo, tools/test and the Dockerfile: the packages that have to be installed, and the
# reports of progress. Made for Debian 12.
# shellcheck shell=bash

# The packages that the library, the command line and the demo are built with.
# shellcheck disable=SC2034  # used by the scripts that source this
build_packages=(g++ cmake ninja-build pkg-config
  libuv1-dev libc-ares-dev libhiredis-dev libssl-dev nlohmann-json3-dev libcli11-dev libcpp-httplib-dev)

# The packages that tools/fuzz needs in addition: clang alone does not bring libFuzzer and the
# sanitizers. With clang-format the test of style checks the format, too.
# shellcheck disable=SC2034
fuzz_packages=(clang libclang-rt-dev clang-format)

# --- Reporting progress ---------------------------------------------------------------------------

steps_done=0
steps_total=0  # set by the scripts that source this
step_name=""
step_times=()

# Ends the step before, if there is one, and begins this one.
begin_step() {
  end_step
  steps_done=$((steps_done + 1))
  step_name=$1
  step_began=$SECONDS
  printf '\n[%d/%d] %s (%d s so far)\n' "$steps_done" "$steps_total" "$step_name" "$SECONDS"
}

end_step() {
  [[ -n $step_name ]] || return 0
  local took=$((SECONDS - step_began))
  step_times+=("$(printf '%5d s  %s' "$took" "$step_name")")
  printf '      done in %d s\n' "$took"
  step_name=""
}

# Runs a command as the step's work. If it fails, reports that and how to repeat it (`repeat`, or else
# the command itself), and exits with its code.
attempt() {
  local code=0
  "$@" || code=$?
  ((code == 0)) && return 0
  printf '\nFAILED in step %d of %d, "%s", after %d s. To repeat it: %s\n' \
    "$steps_done" "$steps_total" "$step_name" "$((SECONDS - step_began))" \
    "${repeat:-$*}" >&2
  exit "$code"
}

# --- Installing -----------------------------------------------------------------------------------

as_root() {
  if ((EUID == 0)); then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    echo "This needs root, and there is no sudo: ${*@Q}" >&2
    return 1
  fi
}

is_installed() {
  dpkg-query --show --showformat='${db:Status-Status}\n' "$1" 2>/dev/null | grep -qx installed
}

# Runs apt-get install, shows its progress in steps of 20 per cent, and writes its other output to a file.
# The progress has a descriptor of its own, which is opened after sudo, since sudo passes none on. apt-get
# closes it for dpkg; if stdout were that descriptor, a package's script that prints something would fail.
apt_install() {
  local log=$1 kind rest percent now="" shown=0
  shift
  # shellcheck disable=SC2016  # for the shell that sudo runs
  as_root env DEBIAN_FRONTEND=noninteractive sh -c 'exec apt-get "$@" 3>&1' sh \
    -q -y --no-install-recommends \
    -o APT::Status-Fd=3 -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 \
    install "$@" 2>&1 </dev/null |
    while IFS=: read -r kind rest; do  # such as "dlstatus:12:45.8333:Retrieving file 12 of 30"
      case $kind in
        dlstatus) kind=downloading ;;
        pmstatus) kind=installing ;;
        *) printf '%s\n' "$kind${rest:+:$rest}" >>"$log" && continue ;;
      esac
      percent=${rest#*:}
      percent=${percent%%[.:]*}
      [[ $kind == "$now" ]] || shown=0
      now=$kind
      if [[ $percent =~ ^[0-9]+$ ]] && ((percent >= shown + 20)); then
        shown=$((percent / 20 * 20))
        printf '      %s: %d %%\n' "$kind" "$shown"
      fi
    done
}

# Packages start their servers, now and at every boot: redis-server on port 6379, etcd-server on 2379,
# prometheus on 9090. We want the programs alone: nobody has asked for these servers, and their ports
# may be in use.
forbid_services() {
  # shellcheck disable=SC2016  # for the policy's own shell
  printf '#!/bin/sh\ncase "$1" in redis-server*|etcd*|prometheus*) exit 101 ;; esac\nexit 0\n' |
    as_root tee "$policy" >/dev/null
  as_root chmod 755 "$policy"
}
policy=/usr/sbin/policy-rc.d

# Whether a package is installed, or its program from elsewhere.
is_there() {
  case $1 in
    redis-server | npm | prometheus | chromium) command -v "$1" >/dev/null && return 0 ;;
    nodejs) command -v node >/dev/null && return 0 ;;
  esac
  is_installed "$1"
}

# Installs the packages that are missing.
install_missing() {
  local missing=() services=() package service log=build/setup.log code=0
  for package in "$@"; do
    is_there "$package" && continue
    missing+=("$package")
    case $package in
      redis-server) services+=(redis-server) ;;
      etcd-server) services+=(etcd) ;;
      prometheus) services+=(prometheus) ;;
    esac
  done
  if ((${#missing[@]} == 0)); then
    echo "      nothing is missing"
    return 0
  fi
  if ! command -v apt-get >/dev/null; then
    echo "There is no apt-get. Please install the contents of these Debian packages: ${missing[*]}" >&2
    return 1
  fi
  echo "      by apt-get: ${missing[*]}"
  mkdir -p build
  # An existing policy is the administrator's.
  if ((${#services[@]} > 0)) && [[ ! -e $policy ]]; then
    trap 'as_root rm -f "$policy"' EXIT
    forbid_services || return 1
  fi
  as_root apt-get -q -o Acquire::Retries=3 update >"$log" 2>&1 </dev/null &&
    apt_install "$log" "${missing[@]}" || code=$?
  if [[ -n $(trap -p EXIT) ]]; then
    as_root rm -f "$policy"
    trap - EXIT
  fi
  if ((code != 0)); then
    tail -n 20 "$log" >&2
    echo "apt-get failed; its output is in $log." >&2
    return 1
  fi
  for service in "${services[@]}"; do
    as_root update-rc.d "$service" disable >/dev/null 2>&1 || true
  done
}

# --- Building -------------------------------------------------------------------------------------

# Configures a preset of CMakePresets.json; from scratch if its directory was made in another place.
configure_preset() {
  local preset=$1 fresh=() cache=build/$1/CMakeCache.txt
  shift
  if [[ -e $cache ]] && ! grep -qx "CMAKE_HOME_DIRECTORY:INTERNAL=$PWD" "$cache"; then
    fresh=(--fresh)
  fi
  cmake --preset "$preset" "${fresh[@]}" "$@" >/dev/null  # errors come on stderr
}
