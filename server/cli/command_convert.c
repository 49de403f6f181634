// SPDX-License-Identifier: Apache-2.0
/* burin convert: makes a stand-alone program from a file of operators. */
#include "cuda/skeletons/convert_gpu.h"
#include "pipeline/skeletons/convert.h"
#include "pipeline/skeletons/reader.h"
#include "server/cli/command.h"
#include "server/user_operators.h"

#include <stdio.h>
#include <string.h>

static int usage(FILE *out, int code) {
    fputs("usage: burin convert FILE.c -o FOLDER\n\n"
          "Writes sources that do what the operators of FILE.c do, on a CPU and in CUDA, with a\n"
          "main program that reads a PGM or PPM, runs them, compares and prints the times:\n\n"
          "  cd FOLDER && make && ./op in.pgm\n",
          out);
    return code;
}

int command_convert(int argc, char **argv) {
    const struct operators_options options = user_operators_options();
    struct failure failure;
    const char *folder = NULL, *source = NULL;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) return usage(stdout, 0);
        if (strcmp(argv[i], "-o") == 0 && i + 1 < argc)
            folder = argv[++i];
        else if (argv[i][0] == '-' || source)
            return usage(stderr, 2);
        else
            source = argv[i];
    }
    if (!folder || !source) return usage(stderr, 2);
    struct user_file *file = operators_dir_read(source, &options, NULL);
    if (!file) return 1;
    enum status status = convert_write(file, folder, &failure);
    if (status == STATUS_OK) status = convert_gpu_write(file, folder, &failure);
    if (status != STATUS_OK) fprintf(stderr, "burin convert: %s\n", failure.message);
    reader_destroy(file);
    return status != STATUS_OK;
}
