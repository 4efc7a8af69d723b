#!/bin/sh
# Installs the packages that package-lock.json pins into a folder, unless they are there already.
#
#   install.sh FOLDER
set -eu
here=$(cd "$(dirname "$0")" && pwd)
for program in node npm; do
  command -v "$program" >/dev/null || {
    echo "$program is not installed: install the packages nodejs and npm, as tools/test --all does"
    exit 1
  }
done
mkdir -p "$1"
cd "$1"
cmp -s "$here/package-lock.json" installed && exit 0
cp "$here/package.json" "$here/package-lock.json" .
npm ci --ignore-scripts --no-audit --no-fund --loglevel=http 2>&1
cp package-lock.json installed
