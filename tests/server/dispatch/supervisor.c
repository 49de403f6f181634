// SPDX-License-Identifier: Apache-2.0
/* A supervisor with two workers, both this program again: one plays a GPU's, though it computes on
 * the CPU. It hangs at an image of a certain width, and while opening its device if the test wants.
 *
 * covers: server/process/process.c */
#include "server/dispatch/supervisor.h"

#include "pipeline/device.h"
#include "server/jobs/completion_pipe.h"
#include "server/process/launcher.h"
#include "server/process/process.h"
#include "server/worker/worker.h"
#include "tests/pipeline/plan_text.h"

#include <dirent.h>
#include <dlfcn.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { HANGING_WIDTH = 13, USUAL_WIDTH = 16, HEIGHT = 4, SELF_TEST_MS = 500, LATE_MS = 30000 };
enum { STILL_MS = 500 };

/* ---- a system in which a killed process does not end, as if a driver held it: this program's
 * waitpid replaces the library's */

static int exits_held; /* atomic */

pid_t waitpid(pid_t pid, int *how, int options) {
    while (__atomic_load_n(&exits_held, __ATOMIC_ACQUIRE)) {
        if (options & WNOHANG) return 0;
        usleep(1000);
    }
    return wait4(pid, how, options, NULL);
}

/* ---- a system that starts no process until the test says so */

static int starts_held, starts_waiting; /* atomic */

int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                const posix_spawnattr_t *attributes, char *const arguments[],
                char *const variables[]) {
    int (*real)(pid_t *, const char *, const posix_spawn_file_actions_t *,
                const posix_spawnattr_t *, char *const[], char *const[]);
    *(void **)&real = dlsym(RTLD_NEXT, "posix_spawn");
    __atomic_add_fetch(&starts_waiting, 1, __ATOMIC_RELEASE);
    while (__atomic_load_n(&starts_held, __ATOMIC_ACQUIRE)) usleep(1000);
    __atomic_sub_fetch(&starts_waiting, 1, __ATOMIC_RELEASE);
    return real(pid, path, actions, attributes, arguments, variables);
}

/* ---- the worker */

/* While this file exists, the next worker of the GPU removes it and hangs. */
static char hang_path[] = "/tmp/burin-hang-XXXXXX";
static const char hang_variable[] = "TEST_HANG_PATH";

static enum status run_or_hang(struct lane *lane, const struct op *op, struct op_call *calls,
                               int count) {
    while (calls[0].in.width == HANGING_WIDTH) pause();
    return device_cpu.run(lane, op, calls, count);
}

static struct device_driver hanging;

static enum status open_hanging(int index, const struct lane_options *options, struct lane **lane,
                                struct failure *failure) {
    const char *path = getenv(hang_variable);
    while (path && unlink(path) == 0) pause();
    const enum status status = device_cpu.open(index, options, lane, failure);
    if (!status) (*lane)->driver = &hanging;
    return status;
}

static int be_worker(const char *device) {
    struct failure failure = { 0 };
    process_become_worker(); /* one that hangs ends with the test */
    const struct slots_files files = { PROCESS_HEAD_FD, PROCESS_SLOTS_FD };
    struct slots *slots = slots_open(files, &failure);
    hanging = device_cpu;
    hanging.kind = "cuda";
    hanging.open = open_hanging;
    hanging.run = run_or_hang;
    const struct device_driver *driver = strcmp(device, "cpu") == 0 ? &device_cpu : &hanging;
    const int code =
        slots ? worker_run(slots, PROCESS_CHANNEL_FD, slots_preamble(slots), driver, 0) : 1;
    slots_destroy(slots);
    return code;
}

/* ---- the front */

struct front {
    struct config config;
    struct slots *slots;
    int pipe[2];
    struct supervisor *supervisor;
};

static bool all_healthy(const struct front *front) {
    struct worker_facts facts[WORKERS_MAX];
    const int count = supervisor_workers(front->supervisor, facts);
    return count == 2 && facts[0].healthy && facts[1].healthy;
}

static struct worker_facts gpu_facts(const struct front *front) {
    struct worker_facts facts[WORKERS_MAX];
    assert_int_equal(supervisor_workers(front->supervisor, facts), 2);
    assert_true(facts[1].cpu && facts[1].healthy); /* always there */
    return facts[0];
}

static bool cpu_stands_by(const struct front *front) {
    struct worker_facts facts[WORKERS_MAX];
    assert_int_equal(supervisor_workers(front->supervisor, facts), 2);
    assert_false(facts[0].standby);
    return facts[1].standby;
}

static bool wait_healthy(const struct front *front) {
    for (int i = 0; i < 3000 && !all_healthy(front); i++) usleep(10000);
    return all_healthy(front);
}

static int open_front_with(void **state, long start_ms, long processing_ms) {
    static struct front front;
    front = (struct front){ .config = { .devices = "all",
                                        .queue_jobs = 8,
                                        .no_worker_ms = 3000,
                                        .worker_start_ms = start_ms,
                                        .self_test_ms = SELF_TEST_MS,
                                        .worker_still_ms = STILL_MS,
                                        .processing_ms = processing_ms,
                                        .lanes = 1,
                                        .batch = 1,
                                        .codec_threads = 1,
                                        .staging_bytes = 1 << 16,
                                        .arena_bytes = 1 << 16,
                                        .pixels_max = 1 << 16,
                                        .side_max = 1 << 10,
                                        .codec_memory_bytes = 1 << 20 } };
    const struct slot_options options = {
        .count = 4,
        .base_bytes = 64 << 10,
        .span_bytes = 1 << 20,
        .preamble = &front.config,
        .preamble_bytes = sizeof front.config,
    };
    struct failure failure = { 0 };
    front.slots = slots_create(&options, &failure);
    if (!front.slots || completion_pipe_open(front.pipe, 4, &failure)) return -1;
    struct worker_list workers;
    const struct process_limits limits = { 60000, NULL };
    if (worker_list_make(&workers, front.config.devices, &limits, &failure)) return -1;
    const struct supervisor_options how = { .config = &front.config,
                                            .slots = front.slots,
                                            .pipes = &front.pipe[1],
                                            .pipe_count = 1,
                                            .workers = &workers };
    front.supervisor = supervisor_create(&how, &failure);
    *state = &front;
    return front.supervisor && wait_healthy(&front) ? 0 : -1;
}

static int open_front(void **state) {
    return open_front_with(state, 60000, 30000);
}

static int open_front_with_hanging_worker(void **state) {
    const int file = mkstemp(hang_path);
    if (file < 0) return -1;
    close(file);
    setenv(hang_variable, hang_path, 1);
    const int failed = open_front_with(state, 3000, 30000);
    unsetenv(hang_variable);
    unlink(hang_path);
    return failed;
}

/* A worker is lost soon after its job's deadline. */
static int open_front_with_launcher(void **state) {
    static const struct config config = { .launcher_still_ms = 100 };
    struct failure failure;
    return launcher_open(&config, &failure) ? -1 : open_front_with(state, 60000, 100);
}

static int close_front(void **state) {
    struct front *front = *state;
    supervisor_destroy(front->supervisor);
    slots_destroy(front->slots);
    close(front->pipe[0]);
    close(front->pipe[1]);
    launcher_close();
    return 0;
}

/* Submits a gray image of WIDTH for any device, with that deadline. */
static int submit_until(struct front *front, int width, int64_t deadline_ns) {
    const int slot = slot_take(front->slots, 1000, NULL);
    struct job *job = slot_job(front->slots, slot);
    uint8_t *bytes = slot_bytes(front->slots, slot);
    const int head = snprintf((char *)bytes, 32, "P5 %d %d 255\n", width, HEIGHT);
    for (int i = 0; i < width * HEIGHT; i++) bytes[head + i] = (uint8_t)(i * i);
    job->body_length = job->image_length = (uint64_t)(head + width * HEIGHT);
    const struct probe_limits limits = { .pixels_max = 1 << 16, .side_max = 1 << 10 };
    struct failure failure = { 0 };
    assert_int_equal(probe_image(bytes, job->image_length, &limits, &job->probe, &failure), 0);
    job->outputs[0].image = job->probe.shape;
    job->plan = plan_data_of("histeq");
    strcpy(job->device, "auto");
    job->progress.deadline_ns = deadline_ns;
    assert_int_equal(supervisor_submit(front->supervisor, slot, &failure), STATUS_OK);
    return slot;
}

static int submit(struct front *front, int width) {
    return submit_until(front, width, clock_ns() + INT64_C(30000000000));
}

/* The slot that returns within MS, or -1. */
static int returned(struct front *front, int ms) {
    struct completion news;
    const int64_t end = clock_ns() + ms * INT64_C(1000000);
    while (clock_ns() < end) {
        poll(&(struct pollfd){ .fd = front->pipe[0], .events = POLLIN }, 1, 10);
        if (completion_pipe_take(front->pipe[0], &news, 1) == 1 &&
            supervisor_returned(front->supervisor, news.slot, news.run_number))
            return news.slot;
    }
    return -1;
}

static bool done_by(const struct front *front, int slot, const char *device) {
    const struct job *job = slot_job(front->slots, slot);
    return !job->failure.status && strncmp(job->device_name, device, strlen(device)) == 0;
}

/* Milliseconds from BEGIN until the GPU's worker is reported ill. */
static int ill_after_ms(const struct front *front, int64_t begin) {
    while (gpu_facts(front).healthy) {
        assert_true(clock_ns() - begin < LATE_MS * INT64_C(1000000));
        usleep(5000);
    }
    return (int)((clock_ns() - begin) / 1000000);
}

static bool is_of_gpu(const char *pid) {
    char path[300], line[128] = "";
    snprintf(path, sizeof path, "/proc/%s/cmdline", pid);
    FILE *file = fopen(path, "r");
    if (!file) return false;
    const size_t length = fread(line, 1, sizeof line - 1, file);
    fclose(file);
    for (size_t i = 0; i < length; i++)
        if (!line[i]) line[i] = ' ';
    return strstr(line, "worker --device cuda:0") != NULL;
}

static bool is_child(const char *pid) {
    char path[300];
    int parent = 0;
    snprintf(path, sizeof path, "/proc/%s/stat", pid);
    FILE *file = fopen(path, "r");
    if (!file) return false;
    const int found = fscanf(file, "%*d (%*[^)]) %*c %d", &parent);
    fclose(file);
    return found == 1 && parent == getpid();
}

static pid_t gpu_worker(void) {
    DIR *all = opendir("/proc");
    pid_t pid = 0;
    assert_non_null(all);
    for (const struct dirent *entry; !pid && (entry = readdir(all));)
        if (is_child(entry->d_name) && is_of_gpu(entry->d_name)) pid = atoi(entry->d_name);
    closedir(all);
    return pid;
}

/* ---- tests */

static void auto_jobs_go_to_the_gpu(void **state) {
    struct front *front = *state;
    const int slot = submit(front, USUAL_WIDTH);
    assert_int_equal(returned(front, LATE_MS), slot);
    assert_true(done_by(front, slot, "cuda:0"));
    assert_true(cpu_stands_by(front));
}

/* The CPU takes new jobs while the GPU's worker stands still, and then the job that it had. */
static void a_stopped_worker_with_a_job_is_ill(void **state) {
    struct front *front = *state;
    const int stuck = submit(front, HANGING_WIDTH);
    const pid_t pid = gpu_worker();
    assert_true(pid > 0);
    const int64_t begin = clock_ns();
    assert_int_equal(kill(pid, SIGSTOP), 0);
    assert_true(ill_after_ms(front, begin) < 5000); /* on a busy machine; else 0.5 s */
    assert_false(cpu_stands_by(front));             /* it is needed now */
    const int slot = submit(front, USUAL_WIDTH);
    assert_int_equal(returned(front, LATE_MS), slot);
    assert_true(done_by(front, slot, "cpu"));
    assert_int_equal(returned(front, LATE_MS), stuck);
    assert_true(done_by(front, stuck, "cpu"));
    assert_int_equal(slot_job(front->slots, stuck)->deaths, 0); /* the job is not blamed */
    assert_int_equal(gpu_facts(front).restarts, 1);
}

/* The process runs and sends heartbeats; its only lane does not return from a call. */
static void a_lane_that_hangs_makes_it_ill(void **state) {
    struct front *front = *state;
    const int64_t begin = clock_ns();
    submit(front, HANGING_WIDTH);
    assert_true(ill_after_ms(front, begin) > 4500);
    assert_non_null(strstr(gpu_facts(front).trouble, "hangs"));
    assert_int_equal(gpu_facts(front).restarts, 0);
    const int slot = submit(front, USUAL_WIDTH);
    assert_int_equal(returned(front, LATE_MS), slot);
    assert_true(done_by(front, slot, "cpu"));
}

/* Its first process is given up after worker_start_ms; the next one opens the device. */
static void a_worker_that_hangs_while_opening_is_replaced(void **state) {
    struct front *front = *state;
    assert_true(gpu_facts(front).restarts >= 1);
    const int slot = submit(front, USUAL_WIDTH);
    assert_int_equal(returned(front, 20000), slot);
    assert_true(done_by(front, slot, "cuda:0"));
}

/* The front goes on; the process's jobs wait for its end, since it may still write. */
static void a_process_that_does_not_end_delays_no_other(void **state) {
    struct front *front = *state;
    alarm(60); /* a call that waits for the process never ends */
    const int had = submit(front, HANGING_WIDTH);
    __atomic_store_n(&exits_held, 1, __ATOMIC_RELEASE);
    assert_int_equal(kill(gpu_worker(), SIGKILL), 0);
    while (gpu_facts(front).healthy) usleep(1000);
    for (int i = 0; i < 5; i++) {
        const int slot = submit(front, USUAL_WIDTH);
        assert_int_equal(returned(front, 20000), slot);
        assert_true(done_by(front, slot, "cpu"));
        slot_give(front->slots, slot);
    }
    assert_non_null(strstr(gpu_facts(front).trouble, "end"));
    __atomic_store_n(&exits_held, 0, __ATOMIC_RELEASE);
    assert_int_equal(returned(front, 20000), had);
    assert_true(done_by(front, had, "cpu"));
    assert_true(wait_healthy(front));
    assert_int_equal(gpu_facts(front).restarts, 1);
    alarm(0);
}

/* Questions are answered and the other worker gets jobs while the thread starts a process. */
static void a_slow_start_delays_no_other(void **state) {
    struct front *front = *state;
    int waiting;
    alarm(60); /* a call that waits for the start never ends */
    __atomic_store_n(&starts_held, 1, __ATOMIC_RELEASE);
    assert_int_equal(kill(gpu_worker(), SIGKILL), 0);
    while (!__atomic_load_n(&starts_waiting, __ATOMIC_ACQUIRE)) usleep(1000);
    for (int i = 0; i < 5; i++) {
        const int slot = submit(front, USUAL_WIDTH);
        assert_int_equal(returned(front, LATE_MS), slot);
        assert_true(done_by(front, slot, "cpu"));
        slot_give(front->slots, slot);
    }
    assert_int_equal(supervisor_jobs(front->supervisor, &waiting), 0);
    assert_false(gpu_facts(front).alive);
    assert_int_equal(__atomic_load_n(&starts_waiting, __ATOMIC_ACQUIRE), 1); /* still */
    __atomic_store_n(&starts_held, 0, __ATOMIC_RELEASE);
    assert_true(wait_healthy(front));
    assert_int_equal(gpu_facts(front).restarts, 1);
    alarm(0);
}

/* The launcher stands still: the lost worker gets no more jobs, and only its own job waits for its
 * end. The kill is sent again and again until the launcher is given up. */
static void an_unanswered_kill_ends_the_launcher(void **state) {
    struct front *front = *state;
    int how;
    kill(launcher_pid(), SIGSTOP);
    assert_int_equal(wait4(launcher_pid(), &how, WUNTRACED, NULL), launcher_pid());
    const int had = submit_until(front, HANGING_WIDTH, clock_ns() + INT64_C(100000000));
    ill_after_ms(front, clock_ns());
    for (int i = 0; i < 5; i++) {
        const int slot = submit(front, USUAL_WIDTH);
        assert_int_equal(returned(front, LATE_MS), slot);
        assert_true(done_by(front, slot, "cpu"));
        slot_give(front->slots, slot);
    }
    assert_true(launcher_wait_end(NULL, LATE_MS));
    assert_true(gpu_facts(front).alive && gpu_facts(front).restarts == 0);
    assert_int_equal(kill(gpu_worker(), SIGKILL), 0);
    assert_int_equal(returned(front, LATE_MS), had);
}

int main(int argc, char **argv) {
    if (argc > 2 && strcmp(argv[2], "--count") == 0) return puts("1") < 0;
    if (argc > 3) return be_worker(argv[3]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(auto_jobs_go_to_the_gpu, open_front, close_front),
        cmocka_unit_test_setup_teardown(a_stopped_worker_with_a_job_is_ill, open_front,
                                        close_front),
        cmocka_unit_test_setup_teardown(a_lane_that_hangs_makes_it_ill, open_front, close_front),
        cmocka_unit_test_setup_teardown(a_process_that_does_not_end_delays_no_other, open_front,
                                        close_front),
        cmocka_unit_test_setup_teardown(a_slow_start_delays_no_other, open_front, close_front),
        cmocka_unit_test_setup_teardown(an_unanswered_kill_ends_the_launcher,
                                        open_front_with_launcher, close_front),
        cmocka_unit_test_setup_teardown(a_worker_that_hangs_while_opening_is_replaced,
                                        open_front_with_hanging_worker, close_front),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
