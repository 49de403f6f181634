#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# deb.sh NAME VERSION TREE OUT - packs what `make install` puts into TREE, with PREFIX=/usr, as OUT/NAME_VERSION_ARCH.deb.
# Its dependencies are read from the program; the settings are a conffile, so that dpkg asks before it replaces edited ones.
set -eu
name=$1
version=$(echo "$2" | sed 's/^v//; s/-/+/g')
# Debian's versions begin with a digit, and a later one must be the greater.
case $version in
[0-9]*.[0-9]*) ;; # a hash alone may begin with one too, and has no point
*) version="0~$(git log -1 --format=%cd --date=format:%Y%m%d%H%M%S 2>/dev/null || date -u +%Y%m%d%H%M%S).$version" ;;
esac
tree=$3
out=$4
arch=$(dpkg --print-architecture)
top=$(dirname "$0")/..

gzip -9nf "$tree/usr/share/man/man1/burin.1"
install -D -m 644 "$top/LICENSE" "$tree/usr/share/doc/$name/copyright"
mkdir -p "$tree/DEBIAN"
cat >"$tree/DEBIAN/control" <<EOF
Package: $name
Version: $version
Architecture: $arch
Maintainer: The Burin authors <burin@localhost>
Installed-Size: $(du -sk --exclude=DEBIAN "$tree" | cut -f1)
Depends: $("$top/docker/depends.sh" "$tree/usr/bin/burin")
Suggests: libavif15 | libavif16, libde265-0
$([ "$name" = burin ] && echo "Conflicts: burin-cuda" || printf 'Conflicts: burin\nProvides: burin\nReplaces: burin')
Section: graphics
Priority: optional
Description: HTTP daemon that processes images on NVIDIA GPUs and on CPUs
 Post an image, name an operator (histogram equalization, edge detection, seam
 carving and more), get the image back with a report of where the time went.
EOF
if [ "$name" = burin ]; then
    echo " This build works on the CPU alone; burin-cuda uses GPUs too." >>"$tree/DEBIAN/control"
else
    echo " This build uses NVIDIA GPUs where there is a driver, and the CPU everywhere." >>"$tree/DEBIAN/control"
fi
(cd "$tree" && find etc -type f | sed 's|^|/|') >"$tree/DEBIAN/conffiles"
(cd "$tree" && find etc usr -type f -print0 | sort -z | xargs -0 md5sum) >"$tree/DEBIAN/md5sums"

# The daemon runs as a user that systemd makes for it: there is none to create. Services are neither enabled nor started
# by installing; those that run are started again with the new program, while their sockets stay open.
if [ -d "$tree/usr/lib/systemd/system" ]; then
    services=$(cd "$tree/usr/lib/systemd/system" && echo *.service)
    sockets=$(cd "$tree/usr/lib/systemd/system" && echo *.socket)
    printf '#!/bin/sh\nset -e\n[ -d /run/systemd/system ] || exit 0\nsystemctl daemon-reload\n%s\n' \
        "[ \"\$1\" != configure ] || [ -z \"\$2\" ] || systemctl try-restart $services" >"$tree/DEBIAN/postinst"
    printf '#!/bin/sh\nset -e\n[ "$1" != remove ] || [ ! -d /run/systemd/system ] || systemctl disable --now %s\n' \
        "$services $sockets" >"$tree/DEBIAN/prerm"
    printf '#!/bin/sh\nset -e\n[ ! -d /run/systemd/system ] || systemctl daemon-reload\n' >"$tree/DEBIAN/postrm"
    chmod 755 "$tree/DEBIAN/postinst" "$tree/DEBIAN/prerm" "$tree/DEBIAN/postrm"
fi
file=$out/${name}_${version}_$arch.deb
dpkg-deb --root-owner-group -Zxz --build "$tree" "$file" >/dev/null
echo "$file"
