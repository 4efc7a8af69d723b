# Sourced by parent_test.sh and no_tls_test.sh. OpenSSL's headers and pkg-config files are there, but must not be
# used: in a build with `-isystem FOLDER` an include fails.
# shellcheck shell=bash
poison_openssl() {
  local header
  mkdir -p "$1/openssl"
  for header in bio err evp pem ssl x509 x509v3; do
    echo '#error "OpenSSL is used without TLS"' >"$1/openssl/$header.h"
  done
}

needs_no_openssl() {
  local file
  for file in "$@"; do
    ! readelf --dynamic "$file" | grep -E 'NEEDED.*lib(ssl|crypto)' || fail "$file needs OpenSSL"
  done
}
