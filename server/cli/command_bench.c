// SPDX-License-Identifier: Apache-2.0
/* burin bench: executes the separate program burin-bench, which is beside this one or on the PATH.
 */
#include "server/cli/command.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int command_bench(int argc, char **argv) {
    (void)argc;
    static const char name[] = "burin-bench";
    char path[PATH_MAX + sizeof name];
    const ssize_t length = readlink("/proc/self/exe", path, PATH_MAX);
    char *slash = length > 0 ? memrchr(path, '/', (size_t)length) : NULL;
    if (slash) {
        memcpy(slash + 1, name, sizeof name);
        execv(path, argv);
    }
    if (!slash || errno == ENOENT) execvp(name, argv);
    if (errno == ENOENT)
        fputs("burin bench: the program burin-bench is not installed; `make tools` in Burin's "
              "sources builds it\n",
              stderr);
    else
        fprintf(stderr, "burin bench: burin-bench cannot be started: %s\n", strerror(errno));
    return 1;
}
