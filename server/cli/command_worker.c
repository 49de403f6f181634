// SPDX-License-Identifier: Apache-2.0
/* burin worker: a process that `burin serve` starts, not people. */
#include "pipeline/device.h"
#include "server/cli/command.h"
#include "server/log/log.h"
#include "server/process/process.h"
#include "server/sandbox/sandbox.h"
#include "server/user_operators.h"
#include "server/worker/decoding_cell.h"
#include "server/worker/operators_worker.h"
#include "server/worker/worker.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int usage(void) {
    fputs("usage: burin worker --device cpu|cuda:N [--operators|--sandbox|--cell|--decode]\n"
          "       burin worker --count              print how many GPUs there are\n"
          "       burin worker --config FILE        load it for a daemon that is being reloaded\n"
          "       burin worker --check NAME CACHE BYTES on|off MS MEMORY\n"
          "                                        check standard input\n",
          stderr);
    return 2;
}

/* Loads the operators, whose texts follow the configuration in the preamble. Fails if one is
 * missing, since this worker would then refuse jobs that the daemon accepts; a new worker may find
 * the folder or the memory that this one lacked. */
static bool open_operators(const struct slots *slots, struct failure *failure) {
    const struct config *config = slots_preamble(slots);
    const bool all = user_operators_open((const char *)(config + 1),
                                         slots_preamble_bytes(slots) - sizeof *config, config);
    if (!all) fail(failure, STATUS_INTERNAL, "not all users' operators could be loaded");
    return all;
}

/* Limits the process and loads its operators, before there are threads. A sandbox on a CPU takes
 * the compiler's limits before it compiles. A sandbox on a GPU cannot: it needs devices and the
 * cache of kernels, which those limits exclude. */
static bool prepare(const struct slots *slots, bool gpu, bool sandbox, struct failure *failure) {
    const struct config *config = slots_preamble(slots);
    if (sandbox && !gpu) user_operators_limit(config);
    if (sandbox && !open_operators(slots, failure)) return false;
    sandbox_limit(gpu ? SANDBOX_GPU : SANDBOX_CPU, config,
                  gpu && sandbox ? user_operators_cache(config) : NULL);
    return true;
}

int command_worker(int argc, char **argv) {
    process_become_worker(); /* before anything is compiled, loaded or opened */
    if (argc == 2 && strcmp(argv[1], "--count") == 0) {
        printf("%d\n", device_cuda.count());
        return 0;
    }
    if (argc == 3 && strcmp(argv[1], "--config") == 0) return process_print_config(argv[2]);
    if (argc == 8 && strcmp(argv[1], "--check") == 0) return user_operators_check(argv + 2);
    const bool operators = argc == 4 && strcmp(argv[3], "--operators") == 0;
    const bool sandbox = argc == 4 && strcmp(argv[3], "--sandbox") == 0;
    const bool cell = argc == 4 && strcmp(argv[3], "--cell") == 0;
    const bool decode = argc == 4 && strcmp(argv[3], "--decode") == 0;
    if ((argc != 3 && !operators && !sandbox && !cell && !decode) ||
        strcmp(argv[1], "--device") != 0)
        return usage();
    const bool gpu = strcmp(argv[2], "cpu") != 0;
    if (operators || !gpu) process_keep_memory_private();
    /* CUDA reads the variable once. By default a kernel is loaded when it is first launched; the
     * load waits for all kernels that run, 70 ms beside a carve of 8K, and others' launches wait
     * for the load. */
    if (gpu) setenv("CUDA_MODULE_LOADING", "EAGER", 0);
    const struct device_driver *driver;
    int index;
    struct failure failure = { 0 };
    if (fcntl(PROCESS_SLOTS_FD, F_GETFD) < 0 || fcntl(PROCESS_HEAD_FD, F_GETFD) < 0 ||
        fcntl(PROCESS_CHANNEL_FD, F_GETFD) < 0)
        return usage();
    const struct slots_files files = { PROCESS_HEAD_FD, PROCESS_SLOTS_FD };
    struct slots *slots = slots_open(files, &failure);
    const struct config *config = slots ? slots_preamble(slots) : NULL;
    if (config) log_open(config->log_format, config->log_level);
    if (slots && (operators || cell || decode)) {
        const int ended = decode ? decoding_cell_run(slots, PROCESS_CHANNEL_FD)
                                 : operators_worker_run(slots, PROCESS_CHANNEL_FD, argv[2], cell);
        log_stop();
        slots_destroy(slots);
        return ended;
    }
    if (!slots || !prepare(slots, gpu, sandbox, &failure) ||
        device_choose(argv[2], &driver, &index, &failure)) {
        log_event(LOG_ERROR, "worker_failed", "worker: %s", failure.message);
        slots_destroy(slots);
        return WORKER_FAILED;
    }
    const int code = (sandbox ? worker_run_sandbox : worker_run)(slots, PROCESS_CHANNEL_FD, config,
                                                                 driver, index);
    log_stop();
    slots_destroy(slots);
    return code;
}
