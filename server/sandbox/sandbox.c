// SPDX-License-Identifier: Apache-2.0
/* How it works. Landlock and capabilities are a thread's own, so they are taken before there are
 * others, and a rule can only be made for what is there. What a driver or a link leads to may lie
 * anywhere: a GPU's worker looks where its libraries were found before it closes the rest. The
 * filter of system calls holds for all threads, and comes once nothing is opened any more. */
#include "server/sandbox/sandbox.h"

#include "cuda/nvml.h"
#include "pipeline/shared_library.h"
#include "server/log/log.h"
#include "server/sandbox/file_access.h"
#include "server/sandbox/privileges.h"
#include "server/sandbox/sandbox_calls.h"

#include <dlfcn.h>
#include <errno.h>
#include <glob.h>
#include <libgen.h>
#include <link.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RULES_MAX = 128, PATH_SIZE = 1024 };

/* A sanitizer opens files, starts programs and traces threads when the process ends. */
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

struct rules {
    struct file_rule list[RULES_MAX];
    char paths[RULES_MAX][PATH_SIZE];
    int count;
};

bool sandbox_is_on(const struct config *config) {
    return strcmp(config->sandbox, "on") == 0;
}

/* ---- rules */

static void add(struct rules *rules, const char *path, int access) {
    if (!path || !*path || strlen(path) >= PATH_SIZE || rules->count == RULES_MAX) return;
    char *own = rules->paths[rules->count];
    strcpy(own, path);
    rules->list[rules->count++] = (struct file_rule){ own, access };
}

/* The folder that PATH is in, by its name. */
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

/* PATH-like: folders with colons between them. */
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

/* A folder may be another one on the next SIGHUP, by a link or made anew: so the one that it is in
 * can be read too, unless that is everything. */
static void add_operators(struct rules *rules, const char *folder) {
    char above[PATH_SIZE];
    snprintf(above, sizeof above, "%s", folder);
    if (strcmp(dirname(above), "/") != 0) add_folder_of(rules, folder, FILE_READ);
    add(rules, folder, FILE_READ);
}

static void add_front(struct rules *rules, const struct config *config) {
    const char *sockets[] = { unix_path(config->listen), unix_path(config->admin_listen) };
    for (int i = 0; i < 2; i++)
        if (sockets[i]) add_folder_of(rules, sockets[i], FILE_MAKE);
    if (*config->operators_dir) add_operators(rules, config->operators_dir);
    add(rules, "/proc/self/fd", FILE_READ); /* how many it has: descriptors.h */
}

/* Some kernels let only the privileged filter what comes by TCP, as the end of the daemon does
 * (listen_socket_ignore_new). Asked in a process of its own, which gives them up first. */
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

/* What opening the sockets takes, where root starts us. Once they are open, there is no call left
 * to use it with. */
static uint64_t kept_by_front(const struct config *config) {
    const char *addresses[] = { config->listen, config->admin_listen };
    uint64_t kept = 0;
    if (geteuid() != 0) return 0;
    if (socket_filters_are_privileged()) kept |= UINT64_C(1) << CAP_NET_ADMIN;
    for (int i = 0; i < 2; i++) {
        const char *colon = strrchr(addresses[i], ':');
        const int port = colon ? atoi(colon + 1) : 0;
        if (unix_path(addresses[i]))
            kept |= UINT64_C(1) << CAP_DAC_OVERRIDE; /* in a folder of another user's */
        else if (port > 0 && port < 1024)
            kept |= UINT64_C(1) << CAP_NET_BIND_SERVICE;
    }
    return kept;
}

/* ---- a GPU driver's */

/* The folder in which the system finds a library, wherever that is. The library, or NULL. */
static void *add_library(struct rules *rules, const char *const *names, size_t count) {
    struct link_map *map;
    void *library = shared_library_open(names, count);
    if (!library) return NULL;
    char *real = dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 ? realpath(map->l_name, NULL) : NULL;
    if (real) add_folder_of(rules, real, FILE_READ);
    free(real);
    return library;
}

/* Compilers of users' kernels: large, and loaded where there are such alone. */
static void add_compilers(struct rules *rules) {
    static const char *const nvrtc[] = { "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so" },
                             *const link[] = { "libnvJitLink.so.13", "libnvJitLink.so.12",
                                               "libnvJitLink.so" };
    void *found[] = { add_library(rules, nvrtc, sizeof nvrtc / sizeof *nvrtc),
                      add_library(rules, link, sizeof link / sizeof *link) };
    for (int i = 0; i < 2; i++)
        if (found[i]) dlclose(found[i]);
}

/* Where the driver keeps what it has compiled. */
static void add_driver_cache(struct rules *rules, int access) {
    char folder[PATH_SIZE];
    const char *given = getenv("CUDA_CACHE_PATH"), *home = getenv("HOME");
    add(rules, given, access);
    if (given || !home || *home != '/') return;
    snprintf(folder, sizeof folder, "%.900s/.nv", home);
    mkdir(folder, 0700); /* as it would, itself */
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
    add(rules, "/proc/self", FILE_WRITE); /* it names its threads there, or refuses to work */
    add_list(rules, getenv("LD_LIBRARY_PATH"), FILE_READ);
    add_library(rules, cuda, 1); /* both stay loaded: they are used in a moment */
    add_library(rules, nvml, 1);
    if (*config->operators_dir) add_compilers(rules);
    add_driver_cache(rules, all);
    add(rules, "/dev/shm", all);
    add(rules, "/tmp", all);
    add(rules, temporary, all);
    add(rules, getenv("CUDA_MPS_PIPE_DIRECTORY"), FILE_READ | FILE_WRITE);
}

/* ---- a compiler's */

static void add_compiler(struct rules *rules) {
    const int all = FILE_READ | FILE_WRITE | FILE_MAKE;
    const char *temporary = getenv("TMPDIR");
    add(rules, "/dev/null", FILE_READ | FILE_WRITE);
    add(rules, temporary ? temporary : "/tmp", all);
}

/* ---- both halves */

static void fill(struct rules *rules, enum sandbox_role role, const struct config *config,
                 const char *cache) {
    rules->count = 0;
    if (role == SANDBOX_FRONT) add_front(rules, config);
    if (role == SANDBOX_OPERATORS) add(rules, "/proc", FILE_READ); /* how its child is */
    if (role == SANDBOX_GPU) add_driver(rules, config);
    if (role == SANDBOX_COMPILER) add_compiler(rules);
    add(rules, cache, FILE_READ | FILE_WRITE | FILE_MAKE);
}

/* The front speaks for all: what this kernel lacks, it lacks for each. */
static bool is_worth_telling(enum sandbox_role role, int error) {
    return role == SANDBOX_FRONT ||
           (error != ENOSYS && error != EOPNOTSUPP && error != EPERM); /* or a filter around us */
}

/* The front serves, kills the process that starts workers, and speaks to the service manager. */
static int reach(enum sandbox_role role) {
    return role == SANDBOX_FRONT       ? REACH_NETWORK | REACH_SIGNALS | REACH_SOCKETS
           : role == SANDBOX_OPERATORS ? REACH_SIGNALS
                                       : 0;
}

static void limit_files(enum sandbox_role role, const struct config *config, const char *cache) {
    const int confined = role == SANDBOX_COMPILER ? FILE_WRITE | FILE_MAKE : 0;
    if (role == SANDBOX_COMPILER && file_access_version() == 1)
        return; /* it could rename nothing */
    struct rules *rules = malloc(sizeof *rules);
    if (rules) fill(rules, role, config, cache);
    const bool limited =
        rules && file_access_limit(rules->list, rules->count, confined, reach(role));
    const int error = rules ? errno : ENOMEM;
    free(rules);
    if (!limited && is_worth_telling(role, error))
        log_event(LOG_ERROR, "sandbox: files are not limited: Landlock: %s", strerror(error));
}

void sandbox_limit(enum sandbox_role role, const struct config *config, const char *cache) {
    if (!sandbox_is_on(config)) return;
    if (!privileges_drop(role == SANDBOX_FRONT ? kept_by_front(config) : 0))
        log_event(LOG_ERROR, "sandbox: privileges are kept: %s", strerror(errno));
    if (!SANITIZED) limit_files(role, config, cache);
}

void sandbox_filter(enum sandbox_role role, const struct config *config, pid_t child) {
    if (!sandbox_is_on(config) || SANITIZED) return;
    const int version = file_access_version(), error = sandbox_calls_enter(role, child);
    if (!error && role == SANDBOX_FRONT)
        log_event(LOG_INFO, "sandbox: on, with version %d of Landlock", version);
    if (error && is_worth_telling(role, error))
        log_event(LOG_ERROR, "sandbox: system calls are not limited: seccomp: %s", strerror(error));
}
