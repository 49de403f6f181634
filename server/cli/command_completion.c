// SPDX-License-Identifier: Apache-2.0
/* burin completion: what a shell needs to complete a command line of burin.
 *
 * How it works. The script of each shell asks the program itself for every word: `burin completion
 * words -- WORD...` prints what the last word may become, a line each, with a description behind a
 * tab, and the line ":files" where the shell should add names of files. Commands, operators, their
 * parameters and their values come from the records; flags come from what --help of their command
 * prints. Values that are words are found in the range that an error would name. */
#include "config/keys.h"
#include "pipeline/registry.h"
#include "server/cli/command.h"
#include "server/cli/options.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the scripts */

/* bash ends words also at : and =; the part before them must not be repeated. */
static const char bash[] =
    "_burin() {\n"
    "    local line=${COMP_LINE:0:COMP_POINT} words word cut\n"
    "    read -ra words <<<\"$line\"\n"
    "    [[ $line == *[[:blank:]] ]] && words+=('')\n"
    "    cut=${words[-1]%\"${words[-1]##*[:=]}\"}\n"
    "    COMPREPLY=()\n"
    "    while IFS=$'\\t' read -r word _; do\n"
    "        if [[ $word == :files ]]; then\n"
    "            compopt -o filenames -o default 2>/dev/null\n"
    "            mapfile -t -O ${#COMPREPLY[@]} COMPREPLY \\\n"
    "                < <(compgen -f -- \"${words[-1]#\"$cut\"}\")\n"
    "        else\n"
    "            [[ $word == *= ]] && compopt -o nospace 2>/dev/null\n"
    "            COMPREPLY+=(\"${word#\"$cut\"}\")\n"
    "        fi\n"
    "    done < <(\"${words[0]/#\\~/$HOME}\" completion words -- \"${words[@]:1}\" 2>/dev/null)\n"
    "}\n"
    "complete -F _burin burin\n";

static const char zsh[] =
    "#compdef burin\n"
    "_burin() {\n"
    "    local -a names shown end\n"
    "    local line files\n"
    "    local -a asked=(\"${(@)words[2,CURRENT-1]}\" \"$PREFIX\")\n"
    "    for line in \"${(@f)$(${~words[1]} completion words -- \"$asked[@]\" 2>/dev/null)}\"; do\n"
    "        if [[ $line == :files ]]; then\n"
    "            files=1\n"
    "        elif [[ -n $line ]]; then\n"
    "            names+=(\"${line%%$'\\t'*}\")\n"
    "            shown+=(\"${${line/$'\\t'/ -- }% -- }\")\n"
    "        fi\n"
    "    done\n"
    "    [[ $names[1] == *= ]] && end=(-S '')\n"
    "    (( $#names )) && compadd \"$end[@]\" -Q -l -d shown -a names\n"
    "    [[ -n $files ]] && _files\n"
    "}\n"
    "if [[ $funcstack[1] == _burin ]]; then\n"
    "    _burin \"$@\"\n"
    "else\n"
    "    compdef _burin burin\n"
    "fi\n";

static const char fish[] =
    "function __burin_words\n"
    "    set -l before (commandline -opc)\n"
    "    set -l current (commandline -ct | string replace -r '^[\"\\']' '')\n"
    "    test -n \"$current\"; or set current ''\n"
    "    set -l program (string replace -r '^~' $HOME $before[1])\n"
    "    $program completion words -- $before[2..-1] $current 2>/dev/null\n"
    "end\n"
    "complete -c burin -f -a '(__burin_words | string match -v :files)'\n"
    "complete -c burin -n '__burin_words | string match -q :files' -F\n";

static const struct shell {
    const char *name, *script, *install;
} shells[] = {
    { "bash", bash, "eval \"$(burin completion bash)\"        # in ~/.bashrc" },
    { "zsh", zsh, "eval \"$(burin completion zsh)\"         # in ~/.zshrc, after compinit" },
    { "fish", fish, "burin completion fish >~/.config/fish/completions/burin.fish" },
};
enum { SHELLS = sizeof shells / sizeof *shells };

/* ---- what a word may become */

/* Prints the first KEPT bytes of WORD and NAME, if that begins as the rest of WORD. */
static void offer(const char *word, size_t kept, const char *name, const char *end,
                  const char *summary) {
    if (strncmp(name, word + kept, strlen(word + kept)) == 0)
        printf("%.*s%s%s\t%s\n", (int)kept, word, name, end, summary ? summary : "");
}

/* The words of a range such as "refuse or accept"; false: it has others than plain words. */
static bool offer_range(const char *word, size_t kept, const char *range) {
    char copy[FORMAT_LIST_MAX], *at = copy;
    snprintf(copy, sizeof copy, "%s", range);
    for (char * or ; (or = strstr(copy, " or "));) memcpy(or, ",   ", 4);
    for (char *bar; (bar = strstr(copy, " | "));) memcpy(bar, ",  ", 3);
    for (char *c = copy; *c; c++)
        if (*c == ' ' && c[1] != ' ' && c > copy && c[-1] != ' ' && c[-1] != ',') return false;
    for (char *item; (item = strsep(&at, ","));) {
        item += strspn(item, " ");
        if (islower((unsigned char)*item) &&
            strspn(item, "abcdefghijklmnopqrstuvwxyz0123456789_-") == strlen(item))
            offer(word, kept, item, "", NULL);
    }
    return true;
}

static void offer_operators(const char *word, size_t kept) {
    for (int i = 0; i < registry_count(); i++)
        offer(word, kept, registry_at(i)->name, "", registry_at(i)->summary);
}

static void offer_files(void) {
    puts(":files");
}

/* A value of PARAM; WORD is complete up to KEPT. */
static void offer_value(const char *word, size_t kept, const struct param *param) {
    char range[128];
    if (param->type != PARAM_CHOICE && param->type != PARAM_BOOL) return;
    param_range(param, range, sizeof range);
    offer_range(word, kept, range);
}

/* WORD is a step, or steps with ';' between them. */
static void offer_step(const char *word) {
    char name[64];
    const char *semicolon = strrchr(word, ';'), *step = semicolon ? semicolon + 1 : word;
    const char *colon = strchr(step, ':');
    if (!colon) {
        offer_operators(word, (size_t)(step - word));
        if (step == word) offer_files();
        return;
    }
    snprintf(name, sizeof name, "%.*s", (int)(colon - step), step);
    const struct op *op = registry_find(name);
    const char *comma = strrchr(colon, ','), *setting = (comma ? comma : colon) + 1;
    const char *equals = strchr(setting, '=');
    for (const struct param *p = op ? op->params : NULL; p && p->type != PARAM_NONE; p++) {
        if (!equals)
            offer(word, (size_t)(setting - word), p->name, "=", p->summary);
        else if (strlen(p->name) == (size_t)(equals - setting) &&
                 strncmp(p->name, setting, strlen(p->name)) == 0)
            offer_value(word, (size_t)(equals + 1 - word), p);
    }
}

/* ---- flags */

/* The flag at the beginning of LINE, of --help. */
static void offer_flag_of(const char *word, const char *line) {
    char flag[64];
    const char *start = line + strspn(line, " ");
    const size_t length = strcspn(start, " ,=\n");
    if (start == line || strncmp(start, "--", 2) != 0 || length >= sizeof flag) return;
    snprintf(flag, sizeof flag, "%.*s", (int)length, start);
    const char *gap = strstr(start, "  "), *summary = gap ? gap + strspn(gap, " ") : "";
    char text[128];
    snprintf(text, sizeof text, "%.*s", (int)strcspn(summary, "\n"), summary);
    offer(word, 0, flag, "", text);
}

/* The text of `burin COMMAND --help`; heap. NULL: nothing, or no memory. */
static char *help_of(const struct command *command) {
    char *text = NULL, *argv[] = { (char *)command->name, (char *)"--help", NULL };
    size_t length = 0;
    FILE *standard = stdout, *memory = open_memstream(&text, &length);
    if (!memory) return NULL;
    stdout = memory;
    command->run(2, argv);
    stdout = standard;
    fclose(memory);
    return text;
}

static void offer_flags(const char *word, const struct command *command) {
    /* Both are started by other programs, and one is another program. */
    if (strcmp(command->name, "bench") == 0 || strcmp(command->name, "worker") == 0) return;
    char *text = help_of(command);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        offer_flag_of(word, line);
    }
    free(text);
}

/* Whether FLAG of COMMAND takes the word behind it; RANGE gets its values. */
static bool takes_value(const char *command, const char *flag, char range[FORMAT_LIST_MAX]) {
    const bool run = strcmp(command, "run") == 0;
    if (run) {
        const char *found = options_range(flag, range);
        if (found && found != range) snprintf(range, FORMAT_LIST_MAX, "%s", found);
        return found || (strncmp(flag, "--", 2) == 0 && registry_aux(flag + 2));
    }
    for (int i = 0; i < keys_count(); i++) {
        char name[KEY_FLAG_MAX];
        key_flag(keys_at(i)->name, name, sizeof name);
        if (strcmp(name, flag) == 0) return key_range(keys_at(i), range, FORMAT_LIST_MAX), true;
    }
    return strcmp(flag, "--config") == 0 || strcmp(flag, "--operators-dir") == 0;
}

static void complete(int count, char **words) {
    const char *word = words[count - 1], *before = count > 2 ? words[count - 2] : "";
    const char *equals = *word == '-' ? strchr(word, '=') : NULL;
    const size_t kept = equals ? (size_t)(equals + 1 - word) : 0;
    char flag[KEY_FLAG_MAX], range[FORMAT_LIST_MAX] = "a file";
    if (equals) snprintf(flag, sizeof flag, "%.*s", (int)kept - 1, word), before = flag;
    for (int i = 0; count == 1 && command_at(i); i++)
        offer(word, 0, command_at(i)->name, "", command_at(i)->summary);
    const struct command *command = count > 1 ? command_find(words[0]) : NULL;
    if (!command) return;
    if (takes_value(command->name, before, range)) {
        if (!offer_range(word, kept, range)) offer_files();
    } else if (*word == '-') {
        offer_flags(word, command);
    } else if (strcmp(command->name, "run") == 0) {
        offer_step(word);
    } else if (strcmp(command->name, "ops") == 0) {
        offer_operators(word, 0);
    } else if (strcmp(command->name, "completion") == 0) {
        for (int i = 0; i < SHELLS; i++) offer(word, 0, shells[i].name, "", NULL);
    } else {
        offer_files();
    }
}

/* ---- the command */

static int usage(FILE *out, int code) {
    fputs("usage: burin completion bash|zsh|fish\n\n"
          "Prints a script with which the shell completes commands, flags, operators, their\n"
          "parameters and values.\n\n",
          out);
    for (int i = 0; i < SHELLS; i++) fprintf(out, "  %s\n", shells[i].install);
    return code;
}

int command_completion(int argc, char **argv) {
    if (argc > 3 && strcmp(argv[1], "words") == 0 && strcmp(argv[2], "--") == 0)
        return complete(argc - 3, argv + 3), 0;
    if (argc != 2) return usage(stderr, 2);
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) return usage(stdout, 0);
    for (int i = 0; i < SHELLS; i++)
        if (strcmp(argv[1], shells[i].name) == 0) return fputs(shells[i].script, stdout), 0;
    return usage(stderr, 2);
}
