#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# depends.sh PROGRAM... - the Debian packages whose shared libraries the programs link, as a package's Depends:
# line has them: "libc6 (>= 2.36), libjansson4 (>= 2.14), ...".
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/debian"
printf 'Source: burin\n\nPackage: burin\nArchitecture: any\n' >"$dir/debian/control"
for program in "$@"; do
    set -- "$@" "$(realpath "$program")"
    shift
done
cd "$dir"
dpkg-shlibdeps -O "$@" | sed -n 's/^shlibs:Depends=//p'
