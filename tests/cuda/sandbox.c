// SPDX-License-Identifier: Apache-2.0
/* In the sandbox of a GPU's worker the driver opens the device, works, takes more memory and reads
 * the GPU's state, and other calls are refused. A child that has not used the driver before goes
 * through the steps; the test prints the last step that the child reached. */
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

struct result {
    char step[64];
    struct failure failure;
    double open_ms;
    int refused; /* calls; REFUSED are expected */
    bool nvml;   /* NVML reported the GPU's memory */
};

static const struct lane_options small = { .staging_bytes = 1 << 20, .arena_bytes = 4 << 20 },
                                 large = { .staging_bytes = 64 << 20, .arena_bytes = 256 << 20 };

static void step(struct result *result, const char *what) {
    snprintf(result->step, sizeof result->step, "%s", what);
}

static void work(struct result *result, const struct lane_options *options) {
    struct lane *lane;
    if (device_cuda.open(0, options, &lane, &result->failure)) _exit(1);
    if (self_test_run(lane, &result->failure)) _exit(1);
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

static void be_worker(struct result *result, const char *sandbox) {
    struct config config = { .listen = "" };
    struct device_info info;
    struct gauges gauges = { .known = 0 };
    snprintf(config.sandbox, sizeof config.sandbox, "%s", sandbox);
    step(result, "sandbox_limit");
    sandbox_limit(SANDBOX_GPU, &config, NULL);
    const int64_t start = clock_ns();
    step(result, "a lane, with files limited");
    work(result, &small);
    result->open_ms = ns_to_ms(clock_ns() - start);
    step(result, "sandbox_filter");
    sandbox_filter(SANDBOX_GPU, &config, 0);
    step(result, "another lane, with system calls filtered");
    work(result, &large);
    step(result, "what is known of the device");
    if (device_cuda.describe(0, &info, &result->failure)) _exit(1);
    step(result, "NVML");
    struct nvml *nvml = nvml_open(NVML_LIBRARY, info.bus);
    if (nvml) nvml_read(nvml, &gauges);
    result->nvml = nvml && gauges_has(&gauges, GAUGE_MEMORY_USED);
    step(result, "what is refused");
    if (sandbox_is_on(&config)) result->refused = count_refused();
    step(result, "the end");
    _exit(0);
}

static struct result *run_worker(const char *sandbox, bool *ended) {
    int how = 0;
    struct result *result =
        mmap(NULL, sizeof *result, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(result, MAP_FAILED);
    const pid_t child = fork();
    if (child == 0) be_worker(result, sandbox);
    assert_int_equal(waitpid(child, &how, 0), child);
    *ended = WIFEXITED(how) && WEXITSTATUS(how) == 0;
    print_message("sandbox %s: reached %s %s; the first lane took %.0f ms\n", sandbox, result->step,
                  result->failure.message, result->open_ms);
    return result;
}

static void a_worker_in_its_sandbox(void **state) {
    (void)state;
    bool ended, freely;
    struct result *without = run_worker("off", &freely), *result = run_worker("on", &ended);
    assert_true(ended);
    assert_int_equal(result->refused, REFUSED);
    assert_int_equal(result->nvml, without->nvml); /* a driver may lack NVML */
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
