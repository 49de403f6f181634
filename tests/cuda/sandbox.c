// SPDX-License-Identifier: Apache-2.0
/* A GPU's worker in its sandbox: what the driver needs while it opens the device, works, takes more
 * memory and tells how the GPU is, and what is refused all the same. Each step is a child's, which
 * has not met the driver before; the last that it reached is told. */
#include "server/sandbox/sandbox.h"

#include "cuda/nvml.h"
#include "pipeline/device.h"
#include "pipeline/timing.h"
#include "server/worker/self_test.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

struct told {
    char step[64];
    struct failure failure;
    double open_ms;
    int refused; /* of the calls that should be */
    bool nvml;   /* it told the GPU's memory */
};

static const struct lane_options small = { .staging_bytes = 1 << 20, .arena_bytes = 4 << 20 },
                                 large = { .staging_bytes = 64 << 20, .arena_bytes = 256 << 20 };

static void step(struct told *told, const char *what) {
    snprintf(told->step, sizeof told->step, "%s", what);
}

static void work(struct told *told, const struct lane_options *options) {
    struct lane *lane;
    if (device_cuda.open(0, options, &lane, &told->failure)) _exit(1);
    if (self_test_run(lane, &told->failure)) _exit(1);
    device_cuda.close(lane);
}

static bool is_refused(long answer) {
    return answer < 0 && (errno == EPERM || errno == EACCES);
}

static int count_refused(void) {
    char *const shell[] = { "sh", "-c", "true", NULL };
    int count = 0;
    count += is_refused(open("/etc/passwd", O_RDONLY));
    count += is_refused(open("/", O_RDONLY | O_DIRECTORY));
    count += is_refused(open("/usr/burin-sandbox", O_WRONLY | O_CREAT, 0600));
    count += is_refused(socket(AF_INET, SOCK_STREAM, 0));
    count += is_refused(ptrace(PTRACE_TRACEME, 0, NULL, NULL));
    count += is_refused(fork());
    count += is_refused(execve("/bin/sh", shell, NULL));
    return count;
}
enum { REFUSED = 7 };

static void be_worker(struct told *told, const char *sandbox) {
    struct config config = { .listen = "" };
    struct device_info info;
    struct gauges gauges = { .known = 0 };
    snprintf(config.sandbox, sizeof config.sandbox, "%s", sandbox);
    step(told, "sandbox_limit");
    sandbox_limit(SANDBOX_GPU, &config, NULL);
    const int64_t start = clock_ns();
    step(told, "a lane, with files limited");
    work(told, &small);
    told->open_ms = ns_to_ms(clock_ns() - start);
    step(told, "sandbox_filter");
    sandbox_filter(SANDBOX_GPU, &config, 0);
    step(told, "another lane, with system calls filtered");
    work(told, &large);
    step(told, "what is known of the device");
    if (device_cuda.describe(0, &info, &told->failure)) _exit(1);
    step(told, "NVML");
    struct nvml *nvml = nvml_open(NVML_LIBRARY, info.bus);
    if (nvml) nvml_read(nvml, &gauges);
    told->nvml = nvml && gauges_has(&gauges, GAUGE_MEMORY_USED);
    step(told, "what is refused");
    if (sandbox_is_on(&config)) told->refused = count_refused();
    step(told, "the end");
    _exit(0);
}

static struct told *run_worker(const char *sandbox, bool *ended) {
    int how = 0;
    struct told *told =
        mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(told, MAP_FAILED);
    const pid_t child = fork();
    if (child == 0) be_worker(told, sandbox);
    assert_int_equal(waitpid(child, &how, 0), child);
    *ended = WIFEXITED(how) && WEXITSTATUS(how) == 0;
    print_message("sandbox %s: reached %s %s; the first lane took %.0f ms\n", sandbox, told->step,
                  told->failure.message, told->open_ms);
    return told;
}

static void a_worker_in_its_sandbox(void **state) {
    (void)state;
    bool ended, freely;
    struct told *without = run_worker("off", &freely), *told = run_worker("on", &ended);
    assert_true(ended);
    assert_int_equal(told->refused, REFUSED);
    assert_int_equal(told->nvml, without->nvml); /* where the driver has brought it */
}

static int count_gpus(void) {
    int how = 0;
    const pid_t child = fork();
    if (child == 0) _exit(device_cuda.count());
    return waitpid(child, &how, 0) == child && WIFEXITED(how) ? WEXITSTATUS(how) : 0;
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(a_worker_in_its_sandbox) };
    if (!count_gpus()) {
        puts("no GPU");
        return 77;
    }
    return cmocka_run_group_tests_name("sandbox", tests, NULL, NULL);
}
