#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""contain.py ROOT UID:GID NAME=VALUE... -- PROGRAM ARGUMENT... - runs a program as a container runtime would with
--read-only --cap-drop=ALL --security-opt=no-new-privileges: root folder not writable, /proc and four devices, no
capability, nothing of the caller's environment, loopback up, and no shell. Call it inside new mount, network and
process namespaces, as root: unshare --mount --net --pid --fork --kill-child contain.py ..."""
import ctypes
import fcntl
import os
import socket
import stat
import struct
import sys

MS_RDONLY, MS_NOSUID, MS_REMOUNT, MS_BIND, MS_REC, MS_PRIVATE = 1, 2, 32, 4096, 16384, 1 << 18
PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS, CAPABILITIES = 24, 38, 64
SIOCSIFFLAGS, IFF_UP = 0x8914, 1
libc = ctypes.CDLL(None, use_errno=True)


def mount(source, target, kind, flags, options=""):
    if libc.mount(source.encode(), target.encode(), kind.encode(), flags, options.encode()) < 0:
        raise OSError(ctypes.get_errno(), f"mount {target}")


def raise_loopback():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        fcntl.ioctl(s, SIOCSIFFLAGS, struct.pack("16sH14s", b"lo", IFF_UP, b""))


def make_root(root):
    mount("none", "/", "", MS_REC | MS_PRIVATE)
    mount(root, root, "", MS_BIND)
    mount("proc", f"{root}/proc", "proc", MS_NOSUID)
    mount("tmpfs", f"{root}/dev", "tmpfs", MS_NOSUID, "mode=755")
    for name, minor in ("null", 3), ("zero", 5), ("random", 8), ("urandom", 9):
        os.mknod(f"{root}/dev/{name}", stat.S_IFCHR | 0o666, os.makedev(1, minor))
        os.chmod(f"{root}/dev/{name}", 0o666)
    for shell in "bash", "dash":
        if os.path.exists(f"{root}/usr/bin/{shell}"):
            mount(f"{root}/dev/null", f"{root}/usr/bin/{shell}", "", MS_BIND)
    mount("none", f"{root}/dev", "", MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID)
    mount("none", root, "", MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID)
    os.chroot(root)
    os.chdir("/")


def drop_rights(user, group):
    for capability in range(CAPABILITIES):
        libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)
    os.setgroups([])
    os.setgid(group)
    os.setuid(user)
    libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)


def main():
    end = sys.argv.index("--")
    root, owner, environment = sys.argv[1], sys.argv[2], dict(a.split("=", 1) for a in sys.argv[3:end])
    raise_loopback()
    make_root(root)
    drop_rights(*map(int, owner.split(":")))
    os.execve(sys.argv[end + 1], sys.argv[end + 1:], environment)


main()
