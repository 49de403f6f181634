// SPDX-License-Identifier: Apache-2.0
/* How it works. Each version of Landlock knows more kinds of access than the one before; a kernel
 * refuses those that it does not know, so only what it knows is asked for. Numbers and structures
 * are our own, for systems whose headers are older than their kernel. */
#include "server/sandbox/file_access.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The same numbers on all architectures. */
enum { CREATE_RULESET = 444, ADD_RULE = 445, RESTRICT_SELF = 446, VERSION_FLAG = 1, BENEATH = 1 };

struct ruleset {
    uint64_t files, network, scoped; /* what is limited */
};

struct beneath {
    uint64_t allowed;
    int32_t parent;
} __attribute__((packed));

/* Bits of the kernel's. */
#define BIT(number) (UINT64_C(1) << (number))
static const uint64_t execute = BIT(0), write_file = BIT(1), read_file = BIT(2),
                      read_folder = BIT(3), truncate_file = BIT(14), control_device = BIT(15);
/* Removing folders and files; making devices, folders, files, sockets, pipes, links; renaming. */
static const uint64_t make_any = 0x3ff0;
static const uint64_t network_all = 3; /* bind and connect */
static const uint64_t scoped_sockets = BIT(0), scoped_signals = BIT(1);

/* What belongs to a file that is no folder. */
static uint64_t of_file(void) {
    return execute | write_file | read_file | truncate_file | control_device;
}

static uint64_t bits_of(int access, int version) {
    uint64_t bits = 0;
    if (access & FILE_READ) bits |= read_file | read_folder;
    if (access & FILE_EXECUTE) bits |= execute;
    if (access & FILE_WRITE) bits |= write_file | truncate_file | control_device;
    if (access & FILE_MAKE) bits |= make_any;
    if (version < 2) bits &= ~BIT(13); /* renaming from folder to folder */
    if (version < 3) bits &= ~truncate_file;
    if (version < 5) bits &= ~control_device;
    return bits;
}

int file_access_version(void) {
    const long version = syscall(CREATE_RULESET, NULL, 0, VERSION_FLAG);
    return version > 0 ? (int)version : 0;
}

static bool add(int ruleset, const struct file_rule *rule, uint64_t limited, int version) {
    struct stat facts;
    if (!*rule->path) return true;
    const int fd = open(rule->path, O_PATH | O_CLOEXEC);
    if (fd < 0) return true; /* it is not there */
    struct beneath beneath = { bits_of(rule->access, version) & limited, fd };
    if (fstat(fd, &facts) == 0 && !S_ISDIR(facts.st_mode)) beneath.allowed &= of_file();
    const bool added = !beneath.allowed || syscall(ADD_RULE, ruleset, BENEATH, &beneath, 0) == 0;
    const int why = errno;
    close(fd);
    errno = why;
    return added;
}

bool file_access_limit(const struct file_rule *rules, int count, int confined, int reach) {
    const int version = file_access_version();
    const int all = FILE_READ | FILE_EXECUTE | FILE_WRITE | FILE_MAKE;
    const struct ruleset attributes = { .files = bits_of(confined ? confined : all, version),
                                        .network = reach & REACH_NETWORK ? 0 : network_all,
                                        .scoped = (reach & REACH_SOCKETS ? 0 : scoped_sockets) |
                                                  (reach & REACH_SIGNALS ? 0 : scoped_signals) };
    if (!version) return false; /* errno is the kernel's */
    const size_t size = version >= 6   ? sizeof attributes
                        : version >= 4 ? offsetof(struct ruleset, scoped)
                                       : offsetof(struct ruleset, network);
    const int ruleset = (int)syscall(CREATE_RULESET, &attributes, size, 0);
    if (ruleset < 0) return false;
    bool good = true;
    for (int i = 0; good && i < count; i++)
        good = add(ruleset, &rules[i], attributes.files, version);
    good = good && syscall(RESTRICT_SELF, ruleset, 0) == 0;
    const int why = errno;
    close(ruleset);
    errno = why;
    return good;
}
