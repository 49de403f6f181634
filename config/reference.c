// SPDX-License-Identifier: Apache-2.0
#include "config/reference.h"

#include "config/keys.h"

#include <string.h>

/* Prints TEXT from column INDENT on, in lines of at most WIDTH columns. */
static void print_wrapped(FILE *out, const char *text, int indent, int width) {
    int column = indent;
    while (*text) {
        const int word = (int)strcspn(text, " ");
        if (column > indent && column + 1 + word > width) {
            fprintf(out, "\n%*s", indent, "");
            column = indent;
        }
        column += fprintf(out, "%s%.*s", column > indent ? " " : "", word, text);
        text += word + (text[word] == ' ');
    }
    fputc('\n', out);
}

/* The first key of each group, as struct config has them. */
static const struct group {
    const char *first, *title;
} groups[] = {
    { "listen", "addresses and clients" },
    { "body_bytes_max", "limits of one request" },
    { "queue_jobs", "limits of all requests together" },
    { "slots", "shared memory, a slot for each request" },
    { "header_ms", "deadlines" },
    { "devices", "workers" },
    { "overlays_dir", "pictures that the server keeps" },
    { "operators_dir", "users' operators" },
    { "drain_delay_ms", "stop" },
    { "log_format", "log" },
};

static void print_group_of(FILE *out, const char *first) {
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        if (strcmp(groups[i].first, first) == 0) fprintf(out, "\n%s:\n", groups[i].title);
}

enum { HELP_INDENT = 26, HELP_WIDTH = 90 };

void reference_help(FILE *out) {
    fprintf(out, "  %-23s ", "--config FILE");
    print_wrapped(
        out,
        "the file; else BURIN_CONFIG, config/burin.json beside the program or its folder, "
        "/etc/burin/burin.json",
        HELP_INDENT, HELP_WIDTH);
    struct config config;
    keys_defaults(&config);
    for (int i = 0; i < keys_count(); i++) {
        char flag[KEY_FLAG_MAX], value[KEY_VALUE_MAX], range[96];
        char values[sizeof range + sizeof value + 16];
        const struct key *key = keys_at(i);
        key_flag(key->name, flag, sizeof flag);
        key_print(key, &config, value);
        key_range(key, range, sizeof range);
        print_group_of(out, key->name);
        fprintf(out, "  %-23s ", flag);
        print_wrapped(out, key->why, HELP_INDENT, HELP_WIDTH);
        snprintf(values, sizeof values, "%s; default %s", range, *value ? value : "empty");
        fprintf(out, "%*s", HELP_INDENT, "");
        print_wrapped(out, values, HELP_INDENT, HELP_WIDTH);
    }
}

/* The values come first; the explanations follow in "about", since JSON has no comments. */
void reference_file(FILE *out) {
    struct config config;
    keys_defaults(&config);
    fputs("{\n", out);
    for (int i = 0; i < keys_count(); i++) {
        char value[KEY_VALUE_MAX];
        const struct key *key = keys_at(i);
        key_print(key, &config, value);
        bool bare = key->type == KEY_INTEGER || key->type == KEY_BOOL;
        fprintf(out, bare ? "    \"%s\": %s,\n" : "    \"%s\": \"%s\",\n", key->name, value);
    }
    fputs("    \"about\": {\n", out);
    for (int i = 0; i < keys_count(); i++) {
        char range[96];
        key_range(keys_at(i), range, sizeof range);
        fprintf(out, "        \"%s\": \"%s; %s\"%s\n", keys_at(i)->name, range, keys_at(i)->why,
                i + 1 < keys_count() ? "," : "");
    }
    fputs("    }\n}\n", out);
}

/* Escapes '|', which would end the cell. */
static void print_cell(FILE *out, const char *text) {
    for (; *text; text++) fprintf(out, *text == '|' ? "\\|" : "%c", *text);
}

void reference_markdown(FILE *out) {
    struct config config;
    keys_defaults(&config);
    fputs("| key | default | range | what it is for |\n|---|---|---|---|\n", out);
    for (int i = 0; i < keys_count(); i++) {
        char value[KEY_VALUE_MAX], range[96];
        const struct key *key = keys_at(i);
        key_print(key, &config, value);
        key_range(key, range, sizeof range);
        fprintf(out, "| `%s` | %s%s%s | ", key->name, *value ? "`" : "", *value ? value : "empty",
                *value ? "`" : "");
        print_cell(out, range);
        fputs(" | ", out);
        print_cell(out, key->why);
        fputs(" |\n", out);
    }
}
