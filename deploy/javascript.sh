#!/bin/sh
# Lay out the npm package in a folder: js/ with what the pages of the service share. `make javascript` packs it.
set -eu
here=$(dirname "$0")/..
mkdir -p "$1"
page=$here/src/rankone/web/page
cp "$here"/js/* "$page/core.js" "$page/edge.js" "$here/LICENSE" "$1"
version=$(sed -n 's/^__version__ = "\(.*\)"$/\1/p' "$here/src/rankone/_version.py")
sed -i.before "s/\"version\": \"0.0.0\"/\"version\": \"$version\"/" "$1/package.json"
rm "$1/package.json.before"
