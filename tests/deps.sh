#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# deps.sh PACKAGE... - install the Debian packages that are missing; without rights, print the line to type.
set -u
missing=
for package in "$@"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing="$missing $package"
done
[ -z "$missing" ] && exit 0
line="apt-get install -y --no-install-recommends$missing"
if ! command -v apt-get >/dev/null; then
    echo "These packages are missing, and there is no apt-get here to install them:$missing" >&2
    exit 1
fi
run=
if [ "$(id -u)" != 0 ]; then
    if ! sudo -n true 2>/dev/null; then
        echo "Packages are missing. Type this line, then try again:" >&2
        echo "  sudo apt-get update && sudo $line" >&2
        exit 1
    fi
    run=sudo
fi
echo "installing:$missing"
export DEBIAN_FRONTEND=noninteractive
$run apt-get update -qq && $run $line -qq >/dev/null
