// SPDX-License-Identifier: Apache-2.0
/* Runs a fuzz target over the files of folders, without a fuzzer: every input once found stays a
 * test.
 *
 *     build/cpu/tests/replay/png tests/fuzz/corpus/png
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static int replay(const char *folder, const char *name) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END) != 0) return 0;
    const size_t length = (size_t)ftell(file);
    rewind(file);
    uint8_t *bytes = malloc(length ? length : 1); /* exactly as long: a read past it is found */
    if (bytes && fread(bytes, 1, length, file) == length) LLVMFuzzerTestOneInput(bytes, length);
    free(bytes);
    fclose(file);
    return 1;
}

int main(int argc, char **argv) {
    int count = 0;
    for (int i = 1; i < argc; i++) {
        DIR *folder = opendir(argv[i]);
        if (!folder) {
            fprintf(stderr, "replay: %s cannot be opened\n", argv[i]);
            return 1;
        }
        for (struct dirent *entry; (entry = readdir(folder));)
            if (entry->d_name[0] != '.') count += replay(argv[i], entry->d_name);
        closedir(folder);
    }
    printf("replayed %d inputs\n", count);
    return count ? 0 : 1;
}
