// SPDX-License-Identifier: Apache-2.0
/* burin info: what the headers of files say. */
#include "server/api/info_json.h"
#include "server/cli/command.h"
#include "server/cli/run_report.h"
#include "server/files.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static int usage(FILE *out, int code) {
    fputs("usage: burin info [--json] FILE...\n\n"
          "Prints type, size, channels, bits a sample, EXIF orientation (the size is that of the\n"
          "upright picture), frames, and whether there is a colour profile. No pixel is decoded.\n"
          "FILE may be - for standard input. A file that is no image is reported, and the exit\n"
          "status is 1.\n\n"
          "  --json   a line of JSON for each file, as POST /info answers\n",
          out);
    return code;
}

static enum status look(const char *path, uint8_t **bytes, size_t *length, struct probe *probe,
                        struct failure *failure) {
    const struct probe_limits limits = { .pixels_max = UINT64_MAX, .side_max = UINT32_MAX };
    enum status status = files_read(path, bytes, length, failure);
    if (!status) status = probe_image(*bytes, *length, &limits, probe, failure);
    return status ? status : info_count_frames(*bytes, *length, probe, failure);
}

static void print_line(const char *path, const struct probe *probe, size_t length) {
    json_t *json = info_json(probe, length);
    run_report_members(path, json, stdout);
    json_decref(json);
}

static void print_row(const char *path, const struct probe *probe, size_t length) {
    char size[32];
    snprintf(size, sizeof size, "%ux%u", probe->shape.width, probe->shape.height);
    printf("%-5s %-12s %8u %5u %11u %6" PRIu32 " %-7s %11zu  %s\n", format_name(probe->format),
           size, probe->shape.channels, probe->shape.depth, probe->orientation,
           probe->frames ? probe->frames : 1, probe->profile ? "yes" : "no", length, path);
}

/* Prints what PATH is, or why not; HEAD is printed before the first row. */
static bool describe(const char *path, bool json, const char **head) {
    struct probe probe = { .format = FORMAT_NONE };
    struct failure failure = { 0 };
    uint8_t *bytes = NULL;
    size_t length = 0;
    const enum status status = look(path, &bytes, &length, &probe, &failure);
    if (status) {
        run_report_failure(path, status, &failure, json ? stdout : NULL);
    } else if (json) {
        print_line(path, &probe, length);
    } else {
        fputs(*head, stdout);
        *head = "";
        print_row(path, &probe, length);
    }
    free(bytes);
    return status == STATUS_OK;
}

int command_info(int argc, char **argv) {
    const char *head =
        "type  size         channels depth orientation frames profile       bytes  file\n";
    bool json = false, options = true, all = true;
    int files = 0;
    for (int i = 1; i < argc; i++) {
        if (options && (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0))
            return usage(stdout, 0);
        if (options && strcmp(argv[i], "--json") == 0)
            json = true;
        else if (options && strcmp(argv[i], "--") == 0)
            options = false;
        else if (options && argv[i][0] == '-' && argv[i][1])
            return usage(stderr, 2);
        else
            argv[files++] = argv[i];
    }
    if (!files) return usage(stderr, 2);
    for (int i = 0; i < files; i++) all &= describe(argv[i], json, &head);
    return all ? 0 : 1;
}
