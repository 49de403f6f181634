#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# boot.sh FOLDER - boots systemd with this machine's /usr, the units of FOLDER/units, the settings of FOLDER/etc, and
# nothing else, so that they run as they would for real; FOLDER is /shared there. It ends with `systemctl exit`. Call it as
# root inside new namespaces: unshare --mount --pid --net --cgroup --uts --ipc --fork --kill-child boot.sh ...
set -eu
folder=$1
root=$folder/root
mount --make-rprivate /
mkdir -p "$root"
mount -t tmpfs tmpfs "$root"
cd "$root"
mkdir -p usr proc sys dev run tmp etc/systemd var/lib var/log var/tmp root home shared old
chmod 1777 tmp var/tmp
for link in bin sbin lib lib64; do ln -s usr/$link $link; done
mount --bind /usr usr
mount --bind "$folder" shared
mount -t proc proc proc
mount -t sysfs sysfs sys
mount -t cgroup2 cgroup2 sys/fs/cgroup
mount --rbind /dev dev
mount -t tmpfs tmpfs run
cp /etc/passwd /etc/group /etc/nsswitch.conf /etc/ld.so.cache etc/
cp -r "$folder"/etc/* etc/
cp -r "$folder/units" etc/systemd/system
echo 0123456789abcdef0123456789abcdef >etc/machine-id
touch etc/os-release
# None of this machine's own services.
for target in sysinit basic sockets multi-user shutdown; do
    printf '[Unit]\nDescription=%s\nDefaultDependencies=no\n' $target >etc/systemd/system/$target.target
done
ip link set lo up
pivot_root . old
cd /
umount -l /old
# Mounts spread, as on a machine: a process in a namespace of its own mounts the credentials.
mount --make-rshared /
exec env -i container=test PATH=/usr/sbin:/usr/bin /lib/systemd/systemd --system --log-target=null --show-status=no
