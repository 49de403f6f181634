// SPDX-License-Identifier: Apache-2.0
/* How it works. The table has one row for each field of struct config, in the same order: its
 * place, its allowed values, and its purpose. Defaults, parsing, printing, the range in a refusal,
 * --help, burin.json and the table in README.md all read the row. */
#include "config/keys.h"

#include "config/devices.h"
#include "config/networks.h"
#include "config/origins.h"
#include "config/types.h"
#include "pipeline/image.h"
#include "pipeline/param.h"
#include "pipeline/run.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <limits.h>
#include <netdb.h>
#include <string.h>
#include <strings.h>
#include <sys/un.h>

/* ---- whether a text has the format of its key */

/* TEXT is an ADDRESS with a port of 0..65535 or a path that fits. Other names may change theirs. */
static bool is_address(const char *text) {
    char host[CONFIG_TEXT_MAX];
    long port;
    if (strncmp(text, "unix:", 5) == 0)
        return text[5] && strlen(text + 5) < sizeof((struct sockaddr_un *)0)->sun_path;
    const char *colon = strrchr(text, ':');
    if (!colon || strspn(colon + 1, "0123456789") != strlen(colon + 1) ||
        !param_integer(colon + 1, &port) || port > 65535)
        return false;
    const int length = snprintf(host, sizeof host, "%.*s", (int)(colon - text), text);
    if (length >= (int)sizeof host) return false;
    if (strcasecmp(host, "localhost") == 0) return true;
    if (*host != '[') return inet_pton(AF_INET, host, &(struct in_addr){ 0 }) == 1;
    if (host[length - 1] != ']') return false;
    host[length - 1] = '\0';
    /* Unlike inet_pton, getaddrinfo accepts the interface of a link-local address behind a %. */
    const struct addrinfo hints = { .ai_flags = AI_NUMERICHOST, .ai_family = AF_INET6 };
    struct addrinfo *found = NULL;
    if (getaddrinfo(host + 1, NULL, &hints, &found) != 0) return false;
    freeaddrinfo(found);
    return true;
}

static bool is_address_or_empty(const char *text) {
    return !*text || is_address(text);
}

/* The user of a path checks whether it exists. */
static bool is_path_or_empty(const char *text) {
    return strlen(text) < CONFIG_TEXT_MAX;
}

static bool are_devices(const char *text) {
    return devices_read(text, &(struct devices){ 0 });
}

static bool are_types(const char *text) {
    return types_read(text, &(struct types){ 0 });
}

static bool are_networks(const char *text) {
    return networks_read(text, &(struct networks){ 0 });
}

/* ---- the table */

/* The first four members of a row. */
#define FIELD(name, type) FIELD_AS(#name, name, type)
#define FIELD_AS(name, field, type)                                                                \
    name, type, offsetof(struct config, field), sizeof(((struct config *)0)->field)
#define KIB          1024L
#define MIB          (1024L * 1024)
#define GIB          (1024L * 1024 * 1024)
#define HOUR_MS      3600000L
#define ADDRESS      "IP:PORT, [IPv6]:PORT, localhost:PORT or unix:/path"
#define A_PATH(what) .text = "", .format = what " or nothing", .fits = is_path_or_empty
#define PIXELS_LIMIT ((long)IMAGE_SIDE_MAX * IMAGE_SIDE_MAX)

/* clang-format off */
static const struct key keys[] = {
    { FIELD(listen, KEY_TEXT), .text = "127.0.0.1:8080", .format = ADDRESS, .fits = is_address,
      .why = "where requests come in; loopback, because burin does not ask who anyone is without "
             "keys_file" },
    { FIELD(admin_listen, KEY_TEXT), .text = "", .format = ADDRESS " or nothing",
      .fits = is_address_or_empty,
      .why = "a second address that serves only probes and metrics; empty: they are served on "
             "listen" },
    { FIELD(io_threads, KEY_INTEGER), .def = 0, .min = 0, .max = 64, .unit = "threads",
      .why = "threads that copy bytes between sockets and shared memory; workers do the pixels; "
             "0: one for every 2 cores, 2 to 8" },
    { FIELD(connections_max, KEY_INTEGER), .def = 1024, .min = 1, .max = 100000,
      .unit = "connections",
      .why = "the most connections open at the same time; never below io_threads, and lower "
             "where the limit of open files demands it; further clients wait in the system's "
             "backlog until a connection ends or is closed for them (idle_pressed_ms)" },
    { FIELD(insecure, KEY_BOOL), .def = 0,
      .why = "allow an address in listen that other machines can reach without keys_file; put a "
             "proxy that authenticates in front" },
    { FIELD(keys_file, KEY_TEXT), A_PATH("a path"),
      .why = "a JSON file of keys (burin keys new): each request with an image then needs one, or "
             "a signature made with one; only its owner may read it; read again on SIGHUP; empty: "
             "nobody is asked" },
    { FIELD(quota_divisor, KEY_INTEGER), .def = 1, .min = 1, .max = 10000, .unit = "daemons",
      .why = "how many daemons a balancer gives the requests of a key: of each limit a second in "
             "keys_file, this one allows as large a part; burst and in_progress are its own" },
    { FIELD(cors_origins, KEY_TEXT), .text = "", .fits = origins_are_a_list,
      .format = "nothing, *, or origins as browsers send them: https://a.example,http://b:8080",
      .why = "web sites whose pages may call burin and read its answers (CORS): lower case, "
             "without a path or the scheme's default port, 1023 bytes at most; *: every site; "
             "empty: only the page that burin serves" },
    { FIELD(trusted_proxies, KEY_TEXT), .text = "", .fits = are_networks,
      .format = "nothing, or networks and unix: 10.0.0.0/8,::1,unix",
      .why = "proxies whose X-Forwarded-For is believed: the client is the last address in it "
             "that is not in this list; unix: every client of a unix socket; empty: the client is "
             "the one that connects" },
    { FIELD(prefer, KEY_TEXT), .text = "", .fits = are_types,
      .format = "nothing, or types of images, each once: webp,jpeg",
      .why = "types that come first when a client's Accept likes several types equally and names "
             "them in full; empty: the input's type. A WebP or AVIF takes 20 to 60 times as long "
             "as a JPEG" },

    { FIELD(body_bytes_max, KEY_SIZE), .def = 64 * MIB, .min = 1, .max = 4 * GIB, .unit = "bytes",
      .why = "the largest upload, all parts together; checked against Content-Length before the "
             "body is read" },
    { FIELD(pixels_max, KEY_INTEGER), .def = 67108864, .min = 1, .max = PIXELS_LIMIT,
      .unit = "pixels",
      .why = "the largest image in or out, width x height; a pixel takes 8 bytes at most" },
    { FIELD(frames_max, KEY_INTEGER), .def = 1000, .min = 1, .max = 65535, .unit = "frames",
      .why = "the most frames that animation=keep keeps; together they have pixels_max pixels" },
    { FIELD(side_max, KEY_INTEGER), .def = IMAGE_SIDE_MAX, .min = 1, .max = IMAGE_SIDE_MAX,
      .unit = "pixels",
      .why = "the largest width and height; of a JPEG 65500 at most" },
    { FIELD(encode_still_ms, KEY_INTEGER), .def = 15000, .min = 1, .max = HOUR_MS, .unit = "ms",
      .why = "the longest time an encoder may run without being able to stop; processing_ms at "
             "most: a WebP takes 0.1 us a pixel, with alpha and effort=6 1.1 us" },
    { FIELD(scans_max, KEY_INTEGER), .def = 100, .min = 1, .max = 10000, .unit = "scans",
      .why = "the most scans of a progressive JPEG; editors write about 10, attackers thousands" },
    { FIELD(scan_pixels_max, KEY_INTEGER), .def = 1500000000, .min = 1, .max = 1000000000000000,
      .unit = "scans x pixels",
      .why = "the most scans x pixels of a progressive JPEG: seconds of decoding on a core" },
    { FIELD(codec_memory_bytes, KEY_SIZE), .def = 512 * MIB, .min = 64 * KIB, .max = 1024 * GIB,
      .unit = "bytes",
      .why = "memory that a decoder may use beside the pixels: a progressive JPEG keeps its "
             "coefficients, a lossless WebP its pixels, an animation a frame" },
    { FIELD(profile_bytes_max, KEY_SIZE), .def = MIB, .min = 0, .max = 64 * MIB, .unit = "bytes",
      .why = "the largest ICC profile that is kept; a larger one is dropped, with a note" },
    { FIELD(metadata_bytes_max, KEY_SIZE), .def = 63 * KIB, .max = 63 * KIB, .unit = "bytes",
      .why = "the most EXIF, and the most XMP, carried along: what a JPEG's segment holds" },
    { FIELD(header_bytes, KEY_SIZE), .def = 16 * KIB, .min = KIB, .max = MIB, .unit = "bytes",
      .why = "the longest request line and headers, together; longer ones are answered 431, "
             "or 414 where the first line alone is longer" },
    { FIELD(parts_max, KEY_INTEGER), .def = 8, .min = 1, .max = 64, .unit = "parts",
      .why = "the most parts of a multipart upload: image, masks, and parameters as fields" },
    { FIELD(part_headers_bytes, KEY_SIZE), .def = 4 * KIB, .min = 256, .max = 64 * KIB,
      .unit = "bytes",
      .why = "the longest headers of one part; browsers send a few hundred bytes" },

    { FIELD(queue_jobs, KEY_INTEGER), .def = 256, .min = 1, .max = 100000, .unit = "jobs",
      .why = "the most jobs that wait for a worker; when the queue is full, a further job is "
             "answered 503 with Retry-After at once, or takes the place of the newest job of a "
             "client that has more jobs waiting" },
    { FIELD(refusals_percent, KEY_INTEGER), .def = 1, .min = 1, .max = 100, .unit = "%",
      .why = "the share of all cores' time that may be spent on refusing requests when there is "
             "no room; when it is used up, requests wait in their sockets until there is room" },
    { FIELD(queue_bytes, KEY_SIZE), .def = 512 * MIB, .min = 1, .max = 1024 * GIB, .unit = "bytes",
      .why = "the most bytes of request bodies held at the same time, from their arrival until "
             "their work is done, so that large uploads cannot take all memory" },
    { FIELD(answer_bytes, KEY_SIZE), .def = 2 * GIB, .min = 1, .max = 1024 * GIB, .unit = "bytes",
      .why = "the most bytes of finished answers and their request bodies held until clients "
             "have received them, plus one answer; beyond that no work is accepted; the default "
             "holds four of the largest" },

    { FIELD(slots, KEY_INTEGER), .def = 384, .min = 1, .max = 16384, .unit = "slots",
      .why = "pieces of shared memory, one for each request from its upload's first byte to its "
             "answer's last, and 128 more for each GPU; each has 128 KiB from the start and keeps "
             "more after a larger upload: all together up to twice queue_bytes, a quarter of that "
             "without a GPU" },
    { FIELD(slot_idle_ms, KEY_INTEGER), .def = 10000, .min = 10, .max = HOUR_MS, .unit = "ms",
      .why = "a slot that is not used for this long frees what it kept beyond 128 KiB; if there "
             "are GPUs, only while none has a job, or once a job lacks room" },

    { FIELD(header_ms, KEY_INTEGER), .def = 10000, .min = 10, .max = HOUR_MS, .unit = "ms",
      .why = "the time from the first byte of a request to the end of its headers; a "
             "connection's first request counts from its opening" },
    { FIELD(body_ms, KEY_INTEGER), .def = 30000, .min = 10, .max = HOUR_MS, .unit = "ms",
      .why = "the time to receive a body, or as long as body_rate_bytes allows if that is longer" },
    { FIELD(body_rate_bytes, KEY_SIZE), .def = 64 * KIB, .min = 1, .max = GIB,
      .unit = "bytes a second",
      .why = "the slowest upload that is accepted: 0.5 Mbit/s" },
    { FIELD(body_pressed_ms, KEY_INTEGER), .def = 2000, .min = 10, .max = HOUR_MS, .unit = "ms",
      .why = "while requests are refused for lack of slots, queue_bytes or answer_bytes: a "
             "client that holds any is disconnected when its upload or answer has not moved for "
             "this long; every client gets at least this long" },
    { FIELD(pressed_rate_bytes, KEY_SIZE), .def = 4 * MIB, .min = 1, .max = GIB,
      .unit = "bytes a second",
      .why = "if that frees too little, the rate demanded of uploads and answers doubles ten "
             "times a second, from body_rate_bytes and write_rate_bytes up to this one, and the "
             "slowest clients are disconnected until others get through; 34 Mbit/s" },
    { FIELD(write_ms, KEY_INTEGER), .def = 30000, .min = 10, .max = HOUR_MS, .unit = "ms",
      .why = "the time to send an answer, or as long as write_rate_bytes allows for what the "
             "client has received if that is longer; also how long a client may receive nothing" },
    { FIELD(write_rate_bytes, KEY_SIZE), .def = 64 * KIB, .min = 1, .max = GIB,
      .unit = "bytes a second",
      .why = "the slowest download that is accepted: 0.5 Mbit/s" },
    { FIELD(processing_ms, KEY_INTEGER), .def = 30000, .min = 1, .max = HOUR_MS, .unit = "ms",
      .why = "the time from the complete body to the encoded answer, waiting in the queue "
             "included; then 504" },
    { FIELD(refuse_times, KEY_INTEGER), .def = 2, .min = 0, .max = 1000, .unit = "times",
      .why = "how wrong predictions may be: a job predicted to take this many times "
             "processing_ms is refused at once (422), and so is one that would be late even if "
             "it took this many times less than predicted (503); 0: every job is tried" },
    { FIELD(keep_alive_ms, KEY_INTEGER), .def = 15000, .min = 1, .max = HOUR_MS, .unit = "ms",
      .why = "how long an idle connection is kept open; a proxy in front should give up sooner" },
    { FIELD(idle_pressed_ms, KEY_INTEGER), .def = 500, .min = 10, .max = HOUR_MS, .unit = "ms",
      .why = "when connections_max are open and further clients wait: connections without a "
             "request for this long are closed, first the oldest of the client with most" },

    { FIELD(devices, KEY_TEXT), .text = "all", .fits = are_devices,
      .format = "all, or a list of cpu and cuda:N, each once",
      .why = "where the work is done; all: every GPU; there is always a CPU worker, named or "
             "not: it takes jobs that ask for it and jobs that it is predicted to answer before "
             "the GPUs" },
    { FIELD(lanes, KEY_INTEGER), .def = 0, .min = 0, .max = 64, .unit = "threads",
      .why = "threads of a worker that run jobs side by side; on the CPU this many each for "
             "short, medium and long jobs; 0: one per core on the CPU, 4 on a GPU" },
    { FIELD(many_lanes, KEY_INTEGER), .def = 8, .min = 0, .max = 16, .unit = "threads",
      .why = "further threads of a GPU's worker for carves, of which a GPU does many at once, and "
             "for HEICs, which wait for its video engines; fewer where arena_bytes for each would "
             "take over a quarter of the GPU's memory, none if batch is 1; 0: others run them" },
    { FIELD(codec_threads, KEY_INTEGER), .def = 0, .min = 0, .max = 1024, .unit = "threads",
      .why = "threads of a GPU worker that decode and encode what the GPU cannot; 0: one per "
             "core" },
    { FIELD(batch, KEY_INTEGER), .def = 32, .min = 1, .max = RUN_BATCH_MAX, .unit = "images",
      .why = "the most images that a lane runs at once on a GPU; a lane takes the jobs that wait "
             "and never waits for more" },
    { FIELD(staging_bytes, KEY_SIZE), .def = 64 * MIB, .min = 64 * KIB, .max = 16 * GIB,
      .unit = "bytes",
      .why = "pinned memory per lane, in each direction, allocated at start: pinning costs about "
             "0.4 ms a MiB, an eighth for each of many_lanes; on a CPU the most that a lane keeps "
             "for input, work and output each, as long as its batches need it" },
    { FIELD(idle_bytes, KEY_SIZE), .def = 8 * MIB, .min = 64 * KIB, .max = 16 * GIB,
      .unit = "bytes",
      .why = "memory that a CPU lane keeps for input, work and output each, once no batch has "
             "needed more for 2 s; the rest goes back to the system; the default holds a picture "
             "of 1080p" },
    { FIELD(cpu_memory_bytes, KEY_SIZE), .def = 4 * GIB, .min = MIB, .max = 1024 * GIB,
      .unit = "bytes",
      .why = "the most memory of the CPU worker for jobs that need more than idle_bytes: pixels, "
             "scratch, codecs; other such jobs wait, and one that needs more is answered 422; 64 "
             "megapixels of 16 bits and alpha take 1 to 3.4 GiB; codecs of cells take a quarter" },
    { FIELD(arena_bytes, KEY_SIZE), .def = 0, .min = 0, .max = 256 * GIB, .unit = "bytes",
      .why = "device memory per lane, allocated at start; it limits how many JPEGs a GPU decodes "
             "and encodes at once; a larger job borrows from "
             "device_pool_bytes; 0: a 64th of the device's memory, 512 MiB at least" },
    { FIELD(pinned_pool_bytes, KEY_SIZE), .def = 2 * GIB, .min = 16 * MIB, .max = 64 * GIB,
      .unit = "bytes",
      .why = "the most pinned memory of a worker for images larger than staging_bytes, pinned "
             "when first needed and then kept; the default holds two of 64 megapixels, 16 bits "
             "and alpha" },
    { FIELD(device_pool_bytes, KEY_SIZE), .def = 8 * GIB, .min = 64 * KIB, .max = 256 * GIB,
      .unit = "bytes",
      .why = "the most device memory of a worker for jobs larger than arena_bytes, allocated when "
             "first needed and then kept; carving 64 megapixels of RGB takes 1.5 GiB" },
    { FIELD(worker_start_ms, KEY_INTEGER), .def = 60000, .min = 100, .max = HOUR_MS, .unit = "ms",
      .why = "how long a new worker may take to open its device and pass its first self-test "
             "before it is replaced; 0.3 s on a GPU, longer where the driver must be loaded "
             "first" },
    { FIELD(self_test_ms, KEY_INTEGER), .def = 5000, .min = 10, .max = HOUR_MS, .unit = "ms",
      .why = "how often a worker runs its self-test, a job with a known answer, and a GPU is "
             "read for /metrics" },
    { FIELD(worker_still_ms, KEY_INTEGER), .def = 500, .min = 100, .max = HOUR_MS, .unit = "ms",
      .why = "how long a worker may stand still before it is replaced and its jobs run "
             "elsewhere: stopped, frozen or locked up although nothing prevents it from running; "
             "a worker that computes, waits for a core or is held by a debugger does not stand "
             "still" },
    { FIELD(launcher_still_ms, KEY_INTEGER), .def = 5000, .min = 100, .max = HOUR_MS, .unit = "ms",
      .why = "how long the process that starts workers may leave requests unanswered while a "
             "worker is to be replaced or ended; then it is killed, and the daemon exits with 1 "
             "so that the service manager starts it again" },
    { FIELD(no_worker_ms, KEY_INTEGER), .def = 3000, .min = 100, .max = HOUR_MS, .unit = "ms",
      .why = "how long jobs wait for a healthy worker before they are answered 503; a worker that "
             "died is back in 0.3 s on a GPU" },
    { FIELD(cells, KEY_INTEGER), .def = 0, .min = 0, .max = 64, .unit = "processes",
      .why = "the most processes that read AVIF, HEIC and TIFF and write AVIF, a file each, and do "
             "nothing else; started while files wait; short jobs come first; 0: one for every "
             "core" },
    { FIELD(cell_idle_ms, KEY_INTEGER), .def = 60000, .min = 0, .max = HOUR_MS, .unit = "ms",
      .why = "how long each of these is kept without a job; to start one takes some 50 ms" },

    { FIELD(overlays_dir, KEY_TEXT), A_PATH("a folder"),
      .why = "pictures that requests name by overlay=FILE; read again on SIGHUP; empty: none" },
    { FIELD(overlays_bytes_max, KEY_SIZE), .def = 16 * MIB, .min = 1, .max = GIB, .unit = "bytes",
      .why = "the most bytes of all these files, which are kept in memory; a request's copy counts "
             "in queue_bytes too; a logo has some 50 KiB" },

    { FIELD(operators_dir, KEY_TEXT), A_PATH("a folder"),
      .why = "each .c file in it becomes operators, which run in separate workers; anyone with "
             "write access to it can run code here; empty: no users' operators" },
    { FIELD(operators_cache_dir, KEY_TEXT), A_PATH("a folder"),
      .why = "where compiled operators are kept, so that a restart does not compile; empty: "
             "$CACHE_DIRECTORY, $XDG_CACHE_HOME/burin or ~/.cache/burin" },
    { FIELD(operators_source_bytes_max, KEY_SIZE), .def = 64 * KIB, .min = 1, .max = MIB,
      .unit = "bytes",
      .why = "the longest file of operators; hand-written ones have a few KiB" },
    { FIELD(operators_compile_ms, KEY_INTEGER), .def = 30000, .min = 1000, .max = HOUR_MS,
      .unit = "ms",
      .why = "how much processor time the C compiler gets for a file, in whole seconds; it is "
             "waited for twice as long; a file of 16 operators takes 5 s" },
    { FIELD(operators_compile_bytes, KEY_SIZE), .def = GIB, .min = 256 * MIB, .max = 64 * GIB,
      .unit = "bytes",
      .why = "the address space of the C compiler for a file; at start as many compilers run at "
             "a time as there are cores" },

    { FIELD(sandbox, KEY_CHOICE), .text = "on", .choices = { "on", "off" },
      .why = "once started, the daemon's processes give up privileges, files and system calls "
             "that their work does not need, as far as the kernel supports it; off: for a "
             "debugger, or a driver that needs more" },

    { FIELD(drain_delay_ms, KEY_INTEGER), .def = 0, .min = 0, .max = HOUR_MS, .unit = "ms",
      .why = "how long connections are still accepted after SIGTERM, while /readyz already "
             "answers 503; use 5000 behind a load balancer" },
    { FIELD(drain_timeout_ms, KEY_INTEGER), .def = 30000, .min = 0, .max = HOUR_MS, .unit = "ms",
      .why = "the time to finish accepted requests; below the orchestrator's grace period" },
    { FIELD(drain_client_ms, KEY_INTEGER), .def = 1000, .min = 10, .max = HOUR_MS, .unit = "ms",
      .why = "after SIGTERM an upload or answer is ended that moves slower than body_rate_bytes "
             "or write_rate_bytes for this long; after each such time the demanded rate doubles, "
             "up to pressed_rate_bytes, so that no client delays the end for long" },

    { FIELD(log_format, KEY_CHOICE), .text = "json", .choices = { "json", "text" },
      .why = "how log lines on stderr look: json, or text: logfmt, with the same names" },
    { FIELD(log_level, KEY_CHOICE), .text = "info", .choices = { "info", "error", "off" },
      .why = "info: one line per request; error: only errors of the daemon itself; off: nothing" },
    { FIELD(log_buffer_bytes, KEY_SIZE), .def = MIB, .min = 16 * KIB, .max = GIB, .unit = "bytes",
      .why = "log lines of a process, some 2000, that wait while nobody reads stderr; no request "
             "waits for the log: further lines are lost and counted" },
};
/* clang-format on */
enum { KEY_COUNT = sizeof keys / sizeof *keys };

int keys_count(void) {
    return KEY_COUNT;
}

const struct key *keys_at(int index) {
    return &keys[index];
}

int keys_find(const char *name) {
    for (int i = 0; i < KEY_COUNT; i++)
        if (strcmp(keys[i].name, name) == 0) return i;
    return -1;
}

const char *keys_nearest(const char *name) {
    const char *names[KEY_COUNT];
    for (int i = 0; i < KEY_COUNT; i++) names[i] = keys[i].name;
    return nearest_name(name, names, KEY_COUNT);
}

static void *field(const struct key *key, const struct config *config) {
    return (char *)config + key->offset;
}

static bool is_text(const struct key *key) {
    return key->type == KEY_TEXT || key->type == KEY_CHOICE;
}

void keys_defaults(struct config *config) {
    memset(config, 0, sizeof *config); /* it is handed on as bytes, padding too */
    for (int i = 0; i < KEY_COUNT; i++) {
        const struct key *key = &keys[i];
        if (is_text(key))
            snprintf(field(key, config), key->size, "%s", key->text);
        else if (key->type == KEY_BOOL)
            *(bool *)field(key, config) = key->def;
        else
            *(long *)field(key, config) = key->def;
    }
}

/* ---- sizes */

static const struct {
    const char *name;
    long bytes;
} units[] = { { "TiB", 1024 * GIB }, { "GiB", GIB },          { "MiB", MIB },
              { "KiB", KIB },        { "TB", 1000000000000 }, { "GB", 1000000000 },
              { "MB", 1000000 },     { "KB", 1000 },          { "B", 1 } };
enum { UNIT_COUNT = sizeof units / sizeof *units, UNITS_BINARY = 4 };

bool key_read_size(const char *text, long *bytes) {
    char digits[24];
    size_t length = strspn(text, "0123456789");
    if (!length || length >= sizeof digits) return false;
    memcpy(digits, text, length);
    digits[length] = '\0';
    if (!param_integer(digits, bytes)) return false;
    const char *unit = text + length + strspn(text + length, " ");
    if (!text[length]) return true;
    for (int i = 0; i < UNIT_COUNT; i++)
        if (strcasecmp(unit, units[i].name) == 0)
            return !__builtin_mul_overflow(*bytes, units[i].bytes, bytes);
    return false;
}

/* 67108864 as 64MiB; what is no whole KiB stays a plain number. */
static void print_size(long bytes, char *text, size_t size) {
    for (int i = 0; i < UNITS_BINARY; i++) {
        if (!bytes || bytes % units[i].bytes) continue;
        snprintf(text, size, "%ld%s", bytes / units[i].bytes, units[i].name);
        return;
    }
    snprintf(text, size, "%ld", bytes);
}

/* ---- values */

void key_flag(const char *name, char *text, size_t size) {
    snprintf(text, size, "--%s", name);
    for (char *c = text + 2; *c; c++)
        if (*c == '_') *c = '-';
}

void key_range(const struct key *key, char *text, size_t size) {
    char least[24], most[24];
    switch (key->type) {
    case KEY_TEXT: snprintf(text, size, "%s", key->format); break;
    case KEY_BOOL: snprintf(text, size, "true | false"); break;
    case KEY_INTEGER: snprintf(text, size, "%ld..%ld %s", key->min, key->max, key->unit); break;
    case KEY_SIZE:
        print_size(key->min, least, sizeof least);
        print_size(key->max, most, sizeof most);
        snprintf(text, size, "%s..%s %s", least, most, key->unit);
        break;
    case KEY_CHOICE:
        *text = '\0';
        for (int i = 0; i < KEY_CHOICES_MAX && key->choices[i]; i++) {
            size_t used = strlen(text);
            snprintf(text + used, size - used, "%s%s", i ? " | " : "", key->choices[i]);
        }
        break;
    }
}

static enum status refuse(const struct key *key, const char *text, const char *where,
                          struct failure *failure) {
    char range[80], shown[PARAM_SHOWN_MAX];
    key_range(key, range, sizeof range);
    return fail(failure, STATUS_BAD_PARAM, "%.80s: %s must be %s%s, not \"%s\"", where, key->name,
                key->type == KEY_INTEGER ? "an integer " : "", range, param_shown(text, shown));
}

static bool set_text(const struct key *key, struct config *config, const char *text) {
    bool known = key->type == KEY_TEXT && key->fits(text);
    for (int i = 0; !known && i < KEY_CHOICES_MAX && key->choices[i]; i++)
        known = strcmp(key->choices[i], text) == 0;
    if (!known || strlen(text) >= key->size) return false;
    for (const char *c = text; *c; c++)
        if (iscntrl((unsigned char)*c)) return false;
    memset(field(key, config), 0, key->size);
    memcpy(field(key, config), text, strlen(text));
    return true;
}

enum status key_set(const struct key *key, struct config *config, const char *text,
                    const char *where, struct failure *failure) {
    bool good = false, yes = false;
    long number = 0;
    if (is_text(key)) {
        good = set_text(key, config, text);
    } else if (key->type == KEY_BOOL) {
        good = param_bool(text, &yes);
        if (good) *(bool *)field(key, config) = yes;
    } else {
        good = key->type == KEY_SIZE ? key_read_size(text, &number) : param_integer(text, &number);
        good = good && number >= key->min && number <= key->max;
        if (good) *(long *)field(key, config) = number;
    }
    return good ? STATUS_OK : refuse(key, text, where, failure);
}

long key_number(const struct key *key, const struct config *config) {
    return key->type == KEY_BOOL ? *(bool *)field(key, config) : *(long *)field(key, config);
}

void key_print(const struct key *key, const struct config *config, char text[KEY_VALUE_MAX]) {
    if (is_text(key))
        snprintf(text, KEY_VALUE_MAX, "%s", (const char *)field(key, config));
    else if (key->type == KEY_BOOL)
        snprintf(text, KEY_VALUE_MAX, "%s", key_number(key, config) ? "true" : "false");
    else if (key->type == KEY_SIZE)
        print_size(key_number(key, config), text, KEY_VALUE_MAX);
    else
        snprintf(text, KEY_VALUE_MAX, "%ld", key_number(key, config));
}
