// SPDX-License-Identifier: Apache-2.0
/* How it works. Landlock and capabilities apply to one thread and those that it starts, so they are
 * limited before there are other threads. A driver's libraries may be anywhere: a GPU's worker
 * loads them, and adds the folders in which they were found. The filter of system calls applies to
 * all threads, and comes when no more files are opened.
 *
 * Each version of Landlock (landlock(7)) knows more kinds of access; a kernel refuses unknown ones,
 * so only those of its version are passed. Numbers and structures are defined here, for systems
 * whose headers are older than their kernel. A rule holds for a file, or for a folder and all below
 * it. It belongs to the file that exists at the path when the rule is made, not to a later one. */
#include "server/sandbox/sandbox.h"

#include "cuda/nvml.h"
#include "pipeline/shared_library.h"
#include "server/log/log.h"
#include "server/sandbox/privileges.h"
#include "server/sandbox/sandbox_calls.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <libgen.h>
#include <link.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RULES_MAX = 128, PATH_SIZE = 1024 };

/* A sanitizer opens files, starts programs and traces threads when the process ends. */
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

enum {
    FILE_READ = 1,    /* files, and listing folders */
    FILE_EXECUTE = 2, /* as a program; a library needs only FILE_READ */
    FILE_WRITE = 4,   /* existing files; devices too */
    FILE_MAKE = 8,    /* new files, folders and sockets; removing and renaming */
};

/* Access other than files that stays allowed. Processes that are started later are not limited. */
enum {
    REACH_NETWORK = 1, /* binding and connecting TCP sockets */
    REACH_SIGNALS = 2, /* to other processes */
    REACH_SOCKETS = 4, /* abstract unix sockets of other processes */
};

struct rules {
    int count;
    int access[RULES_MAX]; /* of FILE_ */
    char paths[RULES_MAX][PATH_SIZE];
};

bool sandbox_is_on(const struct config *config) {
    return strcmp(config->sandbox, "on") == 0;
}

/* ---- Landlock */

/* The same numbers on all architectures. */
enum { CREATE_RULESET = 444, ADD_RULE = 445, RESTRICT_SELF = 446, VERSION_FLAG = 1, BENEATH = 1 };

struct ruleset {
    uint64_t files, network, scoped; /* kinds of access to limit */
};

struct beneath {
    uint64_t allowed;
    int32_t parent;
} __attribute__((packed));

/* The kernel's bits. */
#define BIT(number) (UINT64_C(1) << (number))
static const uint64_t execute = BIT(0), write_file = BIT(1), read_file = BIT(2),
                      read_folder = BIT(3), truncate_file = BIT(14), control_device = BIT(15);
/* Removing folders and files; making devices, folders, files, sockets, pipes, links; renaming. */
static const uint64_t make_any = 0x3ff0;
static const uint64_t network_all = 3; /* bind and connect */
static const uint64_t scoped_sockets = BIT(0), scoped_signals = BIT(1);

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

/* The kernel's version of Landlock; 0: it has none, and errno is set. */
static int landlock_version(void) {
    const long version = syscall(CREATE_RULESET, NULL, 0, VERSION_FLAG);
    return version > 0 ? (int)version : 0;
}

/* A path that does not exist adds no rule. */
static bool add_rule(int ruleset, const char *path, uint64_t bits) {
    struct stat facts;
    const int fd = open(path, O_PATH | O_CLOEXEC);
    if (fd < 0) return true;
    struct beneath beneath = { bits, fd };
    if (fstat(fd, &facts) == 0 && !S_ISDIR(facts.st_mode))
        beneath.allowed &= execute | write_file | read_file | truncate_file | control_device;
    const bool added = !beneath.allowed || syscall(ADD_RULE, ruleset, BENEATH, &beneath, 0) == 0;
    const int why = errno;
    close(fd);
    errno = why;
    return added;
}

/* Allows only RULES. CONFINED: the kinds of access to limit; 0: all. REACH: the kinds of REACH_
 * that stay allowed; limiting the network needs version 4, the others version 6. The process has
 * no-new-privileges. Open files stay usable; stat and changing the directory are always allowed. */
static bool landlock_limit(const struct rules *rules, int confined, int reach) {
    const int version = landlock_version();
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
    for (int i = 0; good && i < rules->count; i++)
        good = add_rule(ruleset, rules->paths[i],
                        bits_of(rules->access[i], version) & attributes.files);
    good = good && syscall(RESTRICT_SELF, ruleset, 0) == 0;
    const int why = errno;
    close(ruleset);
    errno = why;
    return good;
}

/* ---- rules */

static void add(struct rules *rules, const char *path, int access) {
    if (!path || !*path || strlen(path) >= PATH_SIZE || rules->count == RULES_MAX) return;
    strcpy(rules->paths[rules->count], path);
    rules->access[rules->count++] = access;
}

/* Adds the folder that contains PATH. */
static void add_folder_of(struct rules *rules, const char *path, int access) {
    char copy[PATH_SIZE];
    snprintf(copy, sizeof copy, "%s", path);
    add(rules, dirname(copy), access);
}

static void add_matching(struct rules *rules, const char *pattern, int access) {
    glob_t found;
    if (glob(pattern, GLOB_NOSORT, NULL, &found) != 0) return;
    for (size_t i = 0; i < found.gl_pathc; i++) add(rules, found.gl_pathv[i], access);
    globfree(&found);
}

/* LIST: folders separated by colons. */
static void add_list(struct rules *rules, const char *list, int access) {
    for (const char *at = list; at && *at;) {
        char folder[PATH_SIZE];
        const size_t length = strcspn(at, ":");
        snprintf(folder, sizeof folder, "%.*s", (int)length, at);
        add(rules, folder, access);
        at += length + (at[length] == ':');
    }
}

/* ---- the front's */

static const char *unix_path(const char *address) {
    return strncmp(address, "unix:", 5) == 0 ? address + 5 : NULL;
}

/* PATH is read again at each SIGHUP: then it may be new, or a link to another one. So the folder
 * that has it is added too, unless that is the root, however it is written. */
static void add_replaced(struct rules *rules, const char *path) {
    char copy[PATH_SIZE];
    snprintf(copy, sizeof copy, "%s", path ? path : "/");
    char *folder = realpath(dirname(copy), NULL);
    add(rules, path, FILE_READ);
    if (folder && strcmp(folder, "/") != 0) add(rules, folder, FILE_READ);
    free(folder);
}

static void add_front(struct rules *rules, const struct config *config) {
    const char *sockets[] = { unix_path(config->listen), unix_path(config->admin_listen) };
    for (int i = 0; i < 2; i++)
        if (sockets[i]) add_folder_of(rules, sockets[i], FILE_MAKE);
    if (*config->operators_dir) add_replaced(rules, config->operators_dir);
    if (*config->overlays_dir) add_replaced(rules, config->overlays_dir);
    if (*config->keys_file) {
        char *real = realpath(config->keys_file, NULL);
        add_replaced(rules, config->keys_file);
        add_replaced(rules, real);
        free(real);
    }
    add(rules, "/proc/self/fd", FILE_READ); /* to count its descriptors: descriptors.h */
}

/* Whether this kernel needs a privilege for filters of TCP sockets, which the drain uses
 * (listen_socket_ignore_new). A child process without privileges tries. */
static bool socket_filters_are_privileged(void) {
    struct sock_filter all[] = { BPF_STMT(BPF_RET | BPF_K, UINT32_MAX) };
    const struct sock_fprog filter = { 1, all };
    int how = 0;
    const pid_t child = fork();
    if (child == 0) {
        privileges_drop(0);
        const int fd = socket(AF_INET, SOCK_STREAM, 0);
        _exit(setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter) != 0);
    }
    while (child > 0 && waitpid(child, &how, 0) < 0 && errno == EINTR) continue;
    return child > 0 && WIFEXITED(how) && WEXITSTATUS(how);
}

/* The capabilities that opening the sockets needs, if root starts the front. Once they are open,
 * the filter of system calls leaves no call that could use them. */
static uint64_t kept_by_front(const struct config *config) {
    const char *addresses[] = { config->listen, config->admin_listen };
    uint64_t kept = 0;
    if (geteuid() != 0) return 0;
    if (socket_filters_are_privileged()) kept |= UINT64_C(1) << CAP_NET_ADMIN;
    for (int i = 0; i < 2; i++) {
        const char *colon = strrchr(addresses[i], ':');
        const int port = colon ? atoi(colon + 1) : 0;
        if (unix_path(addresses[i]))
            kept |= UINT64_C(1) << CAP_DAC_OVERRIDE; /* the folder may be a different user's */
        else if (port > 0 && port < 1024)
            kept |= UINT64_C(1) << CAP_NET_BIND_SERVICE;
    }
    return kept;
}

/* ---- a GPU driver's */

/* Loads a library, and adds the folder in which the system found it. Returns the library, or NULL.
 */
static void *add_library(struct rules *rules, const char *const *names, size_t count) {
    struct link_map *map;
    void *library = shared_library_open(names, count);
    if (!library) return NULL;
    char *real = dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 ? realpath(map->l_name, NULL) : NULL;
    if (real) add_folder_of(rules, real, FILE_READ);
    free(real);
    return library;
}

/* Adds the compilers of users' kernels, which are large: only if there are users' operators. */
static void add_compilers(struct rules *rules) {
    static const char *const nvrtc[] = { "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so" },
                             *const link[] = { "libnvJitLink.so.13", "libnvJitLink.so.12",
                                               "libnvJitLink.so" };
    void *found[] = { add_library(rules, nvrtc, sizeof nvrtc / sizeof *nvrtc),
                      add_library(rules, link, sizeof link / sizeof *link) };
    for (int i = 0; i < 2; i++)
        if (found[i]) dlclose(found[i]);
}

/* Adds the folder of the driver's compiled kernels. */
static void add_driver_cache(struct rules *rules, int access) {
    char folder[PATH_SIZE];
    const char *given = getenv("CUDA_CACHE_PATH"), *home = getenv("HOME");
    add(rules, given, access);
    if (given || !home || *home != '/') return;
    snprintf(folder, sizeof folder, "%.900s/.nv", home);
    mkdir(folder, 0700); /* as the driver would */
    add(rules, folder, access);
}

static void add_driver(struct rules *rules, const struct config *config) {
    static const char *const cuda[] = { "libcuda.so.1" }, *const nvml[] = { NVML_LIBRARY };
    static const char *const read[] = { "/usr",        "/lib",           "/lib32",
                                        "/lib64",      "/opt",           "/nix/store",
                                        "/proc",       "/sys",           "/etc/ld.so.cache",
                                        "/etc/nvidia", "/etc/localtime", "/dev/urandom" };
    static const char *const devices[] = { "/dev/nvidia*", "/dev/nvhost*", "/dev/nvmap",
                                           "/dev/nvgpu*",  "/dev/dxg",     "/dev/null",
                                           "/dev/zero",    "/run/nvidia*", "/run/opengl-driver*" };
    const int all = FILE_READ | FILE_WRITE | FILE_MAKE;
    const char *temporary = getenv("TMPDIR");
    for (size_t i = 0; i < sizeof read / sizeof *read; i++) add(rules, read[i], FILE_READ);
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++)
        add_matching(rules, devices[i], FILE_READ | FILE_WRITE);
    add(rules, "/proc/self", FILE_WRITE); /* the driver fails if it cannot name its threads there */
    add_list(rules, getenv("LD_LIBRARY_PATH"), FILE_READ);
    add_library(rules, cuda, 1); /* both stay loaded for use */
    add_library(rules, nvml, 1);
    if (*config->operators_dir) add_compilers(rules);
    add_driver_cache(rules, all);
    add(rules, "/dev/shm", all);
    add(rules, "/tmp", all);
    add(rules, temporary, all);
    add(rules, getenv("CUDA_MPS_PIPE_DIRECTORY"), FILE_READ | FILE_WRITE);
}

/* ---- all roles */

static void fill(struct rules *rules, enum sandbox_role role, const struct config *config,
                 const char *cache) {
    const int all = FILE_READ | FILE_WRITE | FILE_MAKE;
    const char *temporary = getenv("TMPDIR");
    rules->count = 0;
    if (role == SANDBOX_FRONT) add_front(rules, config);
    if (role == SANDBOX_OPERATORS) add(rules, "/proc", FILE_READ); /* to observe its child */
    if (role == SANDBOX_GPU) add_driver(rules, config);
    if (role == SANDBOX_COMPILER) {
        add(rules, "/dev/null", FILE_READ | FILE_WRITE);
        add(rules, temporary ? temporary : "/tmp", all);
    }
    add(rules, cache, all);
}

/* Whether to log ERROR: only the front logs that the kernel lacks a feature, or that a container's
 * filter refuses it (EPERM). */
static bool is_worth_logging(enum sandbox_role role, int error) {
    return role == SANDBOX_FRONT || (error != ENOSYS && error != EOPNOTSUPP && error != EPERM);
}

/* The front serves, kills the launcher, and sends messages to the service manager. */
static int reach(enum sandbox_role role) {
    return role == SANDBOX_FRONT       ? REACH_NETWORK | REACH_SIGNALS | REACH_SOCKETS
           : role == SANDBOX_OPERATORS ? REACH_SIGNALS
                                       : 0;
}

static void limit_files(enum sandbox_role role, const struct config *config, const char *cache) {
    const int confined = role == SANDBOX_COMPILER ? FILE_WRITE | FILE_MAKE : 0;
    if (role == SANDBOX_COMPILER && landlock_version() == 1) return; /* it could rename nothing */
    struct rules *rules = malloc(sizeof *rules);
    if (rules) fill(rules, role, config, cache);
    const bool limited = rules && landlock_limit(rules, confined, reach(role));
    const int error = rules ? errno : ENOMEM;
    free(rules);
    if (!limited && is_worth_logging(role, error))
        log_event(LOG_ERROR, "sandbox_incomplete", "sandbox: files are not limited: Landlock: %s",
                  strerror(error));
}

void sandbox_limit(enum sandbox_role role, const struct config *config, const char *cache) {
    if (!sandbox_is_on(config)) return;
    if (!privileges_drop(role == SANDBOX_FRONT ? kept_by_front(config) : 0))
        log_event(LOG_ERROR, "sandbox_incomplete", "sandbox: privileges are kept: %s",
                  strerror(errno));
    if (!SANITIZED) limit_files(role, config, cache);
}

void sandbox_filter(enum sandbox_role role, const struct config *config, pid_t child) {
    if (!sandbox_is_on(config) || SANITIZED) return;
    const int version = landlock_version(), error = sandbox_calls_enter(role, child);
    if (!error && role == SANDBOX_FRONT)
        log_event(LOG_INFO, "sandbox_on", "sandbox: on, with version %d of Landlock", version);
    if (error && is_worth_logging(role, error))
        log_event(LOG_ERROR, "sandbox_incomplete",
                  "sandbox: system calls are not limited: seccomp: %s", strerror(error));
}
