// SPDX-License-Identifier: Apache-2.0
/* burin version: this build, and the libraries it was built with and runs with. */
#include "pipeline/device.h"
#include "server/cli/command.h"
#include "server/version.h"

#include <stdio.h>
#include <string.h>

#include <isa-l.h>
#include <jansson.h>
#include <jpeglib.h>
#include <microhttpd.h>
#include <openssl/crypto.h>

#define TEXT_OF(token)  #token
#define VALUE_OF(macro) TEXT_OF(macro)

struct library {
    const char *name;
    char built[32];
    const char *running; /* NULL: the library has no function for it */
};

static void mhd_version(char *text, size_t size) {
    /* Four bytes, each two decimal digits written as hexadecimal ones. */
    snprintf(text, size, "%x.%x.%x", MHD_VERSION >> 24 & 0xff, MHD_VERSION >> 16 & 0xff,
             MHD_VERSION >> 8 & 0xff);
}

enum { LIBRARY_COUNT = 5 };

static void list_libraries(struct library libraries[LIBRARY_COUNT]) {
    const struct library list[LIBRARY_COUNT] = {
        { "libmicrohttpd", "", MHD_get_version() },
        { "libjpeg-turbo", VALUE_OF(LIBJPEG_TURBO_VERSION), NULL },
        { "isa-l",
          VALUE_OF(ISAL_MAJOR_VERSION) "." VALUE_OF(ISAL_MINOR_VERSION) "." VALUE_OF(
              ISAL_PATCH_VERSION),
          NULL },
        { "jansson", JANSSON_VERSION, jansson_version_str() },
        { "libcrypto", OPENSSL_VERSION_STR, OpenSSL_version(OPENSSL_VERSION_STRING) },
    };
    memcpy(libraries, list, sizeof list);
    mhd_version(libraries[0].built, sizeof libraries[0].built);
}

/* Writes the versions of driver and runtime that the first GPU reports; "" without a GPU. */
static void cuda_version(char *text, size_t size) {
    struct device_info facts = { 0 };
    text[0] = '\0';
    if (device_cuda.count() > 0 && device_cuda.describe(0, &facts, NULL) == STATUS_OK)
        snprintf(text, size, "%s", facts.driver);
}

static int print_json(const struct library *libraries, const char *cuda) {
    json_t *list = json_object();
    for (int i = 0; i < LIBRARY_COUNT; i++)
        json_object_set_new(
            list, libraries[i].name,
            json_pack("{s:s, s:s?}", "built", libraries[i].built, "running", libraries[i].running));
    json_t *root = json_pack("{s:s, s:s, s:s?, s:o}", "version", version_text(), "compiler",
                             __VERSION__, "cuda", *cuda ? cuda : NULL, "libraries", list);
    json_dumpf(root, stdout, JSON_INDENT(2));
    putchar('\n');
    json_decref(root);
    return 0;
}

static int usage(FILE *out, int code) {
    fputs("usage: burin version [--json]\n", out);
    return code;
}

int command_version(int argc, char **argv) {
    const bool as_json = argc == 2 && strcmp(argv[1], "--json") == 0;
    if (argc == 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0))
        return usage(stdout, 0);
    if (argc > 1 && !as_json) return usage(stderr, 2);
    struct library libraries[LIBRARY_COUNT];
    char cuda[64];
    list_libraries(libraries);
    cuda_version(cuda, sizeof cuda);
    if (as_json) return print_json(libraries, cuda);
    printf("burin %s\n", version_text());
    printf("  %-14s %s\n", "compiler", __VERSION__);
    for (int i = 0; i < LIBRARY_COUNT; i++)
        printf("  %-14s built with %s, running %s\n", libraries[i].name, libraries[i].built,
               libraries[i].running ? libraries[i].running : "unknown");
    printf("  %-14s %s\n", "CUDA", *cuda ? cuda : "none here");
    return 0;
}
