// SPDX-License-Identifier: Apache-2.0
/* How it works. Options may come anywhere before `--`; each is looked up in a table of name, range
 * and setter, and then among the additional files of the operators' records. The remaining words
 * are steps as long as they name operators, and then INPUT and OUTPUT; further words are reported
 * as one file too many, or as a misspelt operator. OUTPUT may be missing if every step only reports
 * values. The extension of OUTPUT decides the type if no option does. */
#include "server/cli/options.h"

#include "pipeline/registry.h"
#include "server/user_operators.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define WIDTH_PLACE "%w"

static bool number_within(const char *text, long min, long max, long *number) {
    return param_integer(text, number) && *number >= min && *number <= max;
}

static bool set_damaged(struct options *options, const char *value) {
    options->accept_damage = strcmp(value, "accept") == 0;
    return options->accept_damage || strcmp(value, "refuse") == 0;
}

static bool set_device(struct options *options, const char *value) {
    options->device = value; /* device_choose checks it */
    return true;
}

static bool set_threads(struct options *options, const char *value) {
    long number = 0;
    const bool good = number_within(value, 1, 1024, &number);
    options->threads = (int)number;
    return good;
}

static bool set_operators_dir(struct options *options, const char *value) {
    options->operators_dir = value; /* user_operators_load checks it */
    return *value != '\0';
}

static bool set_widths(struct options *options, const char *value) {
    return width_list_read(&options->widths, value);
}

static bool set_out_dir(struct options *options, const char *value) {
    options->out_dir = value;
    return *value != '\0';
}

static bool set_jobs(struct options *options, const char *value) {
    long number = 0;
    const bool good = number_within(value, 1, 1024, &number);
    options->jobs = (int)number;
    return good;
}

/* Only %n, %e and %w stand for something; a name needs %n, or all results would have the same. */
static bool set_name(struct options *options, const char *value) {
    options->name = value;
    for (const char *percent = value; (percent = strchr(percent, '%')); percent += 2)
        if (!percent[1] || !strchr("new", percent[1])) return false;
    return strstr(value, "%n") && value[strlen(value) - 1] != '/';
}

static bool set_pixels_max(struct options *options, const char *value) {
    return number_within(value, 1, (long)IMAGE_SIDE_MAX * IMAGE_SIDE_MAX, &options->pixels_max);
}

static const struct option {
    const char *name, *range;
    bool (*set)(struct options *options, const char *value); /* NULL: takes no value */
    size_t flag; /* if `set` is NULL: its place in struct options */
} table[] = {
    { "--device", "auto, cpu, cuda or cuda:N", set_device, 0 },
    { "--widths", WIDTH_LIST_RANGE, set_widths, 0 },
    { "--damaged", "refuse or accept", set_damaged, 0 },
    { "--threads", "1..1024", set_threads, 0 },
    { "--pixels-max", "1..4294836225", set_pixels_max, 0 },
    { "--operators-dir", "a folder of operators in C", set_operators_dir, 0 },
    { "--out-dir", "a folder for the results of many files", set_out_dir, 0 },
    { "--jobs", "1..1024", set_jobs, 0 },
    { "--name", "a name with %n in it, and perhaps %e and %w", set_name, 0 },
    { "--recursive", "", NULL, offsetof(struct options, recursive) },
    { "--resume", "", NULL, offsetof(struct options, resume) },
    { "--json", "", NULL, offsetof(struct options, json) },
    { "--quiet", "", NULL, offsetof(struct options, quiet) },
    { "--timing", "", NULL, offsetof(struct options, timing) },
    { "--help", "", NULL, offsetof(struct options, help) },
};
enum { OPTION_COUNT = sizeof table / sizeof *table };

enum { OPTION_NAME_MAX = 24, NAMES_MAX = OPTION_COUNT + 24 };

/* Whether ARGUMENT is the setting INDEX of encode_options.h, with dashes in place of underscores.
 */
static bool is_encode_option(const char *argument, size_t length, int index) {
    const char *name = encode_option_name(index);
    if (length != strlen(name) + 2 || strncmp(argument, "--", 2) != 0) return false;
    size_t i = 0;
    while (i < length - 2 && argument[i + 2] == (name[i] == '_' ? '-' : name[i])) i++;
    return i == length - 2;
}

static int encode_option_of(const char *argument, size_t length) {
    for (int i = 0; encode_option_name(i); i++)
        if (is_encode_option(argument, length, i)) return i;
    return -1;
}

const char *options_range(const char *flag, char text[FORMAT_LIST_MAX]) {
    const int encode = encode_option_of(flag, strlen(flag));
    if (encode >= 0) return encode_option_range(encode, text);
    for (int i = 0; i < OPTION_COUNT; i++)
        if (table[i].set && strcmp(table[i].name, flag) == 0) return table[i].range;
    return NULL;
}

static void dashed(const char *name, char text[OPTION_NAME_MAX]) {
    snprintf(text, OPTION_NAME_MAX, "--%s", name);
    for (char *c = text; *c; c++)
        if (*c == '_') *c = '-';
}

static enum status unknown_option(const char *argument, size_t length, struct failure *failure) {
    const char *names[NAMES_MAX];
    char texts[NAMES_MAX][OPTION_NAME_MAX], name[32], shown[PARAM_SHOWN_MAX];
    int count = 0;
    for (; count < OPTION_COUNT; count++) names[count] = table[count].name;
    for (int i = 0; count < NAMES_MAX && encode_option_name(i); i++, count++) {
        dashed(encode_option_name(i), texts[count]);
        names[count] = texts[count];
    }
    snprintf(name, sizeof name, "%.*s", (int)length, argument);
    const char *near = nearest_name(name, names, count);
    if (near)
        return fail(failure, STATUS_BAD_PARAM, "there is no option %s; did you mean %s?",
                    param_shown(name, shown), near);
    return fail(failure, STATUS_BAD_PARAM, "there is no option %s; see burin run --help",
                param_shown(name, shown));
}

static enum status take_aux(struct options *options, const char *name, const char *path,
                            struct failure *failure) {
    int count = 0;
    if (!path || !*path) return fail(failure, STATUS_BAD_PARAM, "--%s needs a file", name);
    for (; count < OP_AUX_MAX && options->aux[count].name; count++)
        if (strcmp(options->aux[count].name, name) == 0)
            return fail(failure, STATUS_BAD_PARAM, "--%s is given twice", name);
    if (count == OP_AUX_MAX)
        return fail(failure, STATUS_BAD_PARAM, "more than %d files besides INPUT", OP_AUX_MAX);
    options->aux[count] = (struct aux_option){ .name = name, .path = path };
    return STATUS_OK;
}

/* The text after the '=' of argv[*I], or else the next argument, over which it moves *I; NULL:
 * there is none. */
static const char *value_of(int argc, char **argv, int *i) {
    const char *equals = strchr(argv[*i], '=');
    return equals ? equals + 1 : *i + 1 < argc ? argv[++*i] : NULL;
}

/* The record's name of the image that "--name" or "--name=..." gives, or NULL. */
static const char *aux_of(const char *argument, size_t length) {
    char name[32];
    if (length < 3 || length >= sizeof name) return NULL;
    snprintf(name, sizeof name, "%.*s", (int)length - 2, argument + 2);
    return registry_aux(name);
}

static enum status take_encode_option(struct options *options, int index, const char *value,
                                      struct failure *failure) {
    char name[OPTION_NAME_MAX], shown[PARAM_SHOWN_MAX], range[FORMAT_LIST_MAX];
    dashed(encode_option_name(index), name);
    if (!value)
        return fail(failure, STATUS_BAD_PARAM, "%s needs a value: %s", name,
                    encode_option_range(index, range));
    if (encode_option_set(&options->encode, index, value)) return STATUS_OK;
    return fail(failure, STATUS_BAD_PARAM, "%s must be %s, not \"%s\"", name,
                encode_option_range(index, range), param_shown(value, shown));
}

/* Takes the option at argv[*i], and moves *I over its value. */
static enum status take_option(struct options *options, int argc, char **argv, int *i,
                               struct failure *failure) {
    const char *argument = argv[*i];
    const size_t length = strcspn(argument, "=");
    const struct option *option = NULL;
    for (int k = 0; k < OPTION_COUNT && !option; k++)
        if (strlen(table[k].name) == length && strncmp(table[k].name, argument, length) == 0)
            option = &table[k];
    const int encode = encode_option_of(argument, length);
    if (encode >= 0) return take_encode_option(options, encode, value_of(argc, argv, i), failure);
    const char *aux = option ? NULL : aux_of(argument, length);
    if (aux) return take_aux(options, aux, value_of(argc, argv, i), failure);
    if (!option) return unknown_option(argument, length, failure);
    if (!option->set) {
        if (argument[length])
            return fail(failure, STATUS_BAD_PARAM, "%s takes no value", option->name);
        *(bool *)((char *)options + option->flag) = true;
        return STATUS_OK;
    }
    const char *value = value_of(argc, argv, i);
    char shown[PARAM_SHOWN_MAX];
    if (!value)
        return fail(failure, STATUS_BAD_PARAM, "%s needs a value: %s", option->name, option->range);
    if (!option->set(options, value))
        return fail(failure, STATUS_BAD_PARAM, "%s must be %s, not \"%s\"", option->name,
                    option->range, param_shown(value, shown));
    return STATUS_OK;
}

/* Whether TEXT begins with an operator's name, up to the first ':' or ';'. */
static bool is_step(const char *text) {
    char name[64];
    const size_t length = strcspn(text, ":;");
    if (length >= sizeof name) return false;
    memcpy(name, text, length);
    name[length] = '\0';
    return registry_find(name) != NULL;
}

static bool is_file(const char *text) {
    const size_t name = strcspn(text, ":;"), plain = strcspn(text, "./");
    return !*text || strcmp(text, "-") == 0 || plain < name || access(text, F_OK) == 0;
}

/* Reports more than two words that are no steps: a misspelt operator, or too many files. */
static enum status one_too_many(int count, char **words, struct failure *failure) {
    struct plan ignored;
    if (!is_file(words[0]) && plan_parse(&ignored, words[0], failure)) return failure->status;
    char first[PARAM_SHOWN_MAX], second[PARAM_SHOWN_MAX];
    return fail(failure, STATUS_BAD_PARAM,
                "one INPUT and one OUTPUT, not %d files (\"%s\", \"%s\"...); --out-dir DIR takes "
                "many",
                count, param_shown(words[0], first), param_shown(words[1], second));
}

/* Many files: a first word that is none was meant as an operator. */
static enum status take_sources(struct options *options, int count, char **words,
                                struct failure *failure) {
    struct plan ignored;
    if (!count) return fail(failure, STATUS_BAD_PARAM, "INPUT is missing; see burin run --help");
    if (!is_file(words[0]) && plan_parse(&ignored, words[0], failure)) return failure->status;
    if (options->timing)
        return fail(failure, STATUS_BAD_PARAM, "--timing is for one file; --json has each file's");
    for (int i = 0; i < count; i++)
        if (!*words[i] || strcmp(words[i], "-") == 0)
            return fail(failure, STATUS_BAD_PARAM, "--out-dir is for files, not standard input");
    if (options->name && strstr(options->name, WIDTH_PLACE) && !options->widths.count)
        return fail(failure, STATUS_BAD_PARAM, "%%w in --name is a width of --widths");
    options->sources = words;
    options->source_count = count;
    if (!options->name) options->name = options->widths.count ? "%n-%w.%e" : "%n.%e";
    return STATUS_OK;
}

/* Reads steps as long as words name operators, then INPUT and, if needed, OUTPUT. */
static enum status read_words(struct options *options, int count, char **words,
                              struct failure *failure) {
    char text[PLAN_TEXT_MAX] = "";
    size_t used = 0;
    int steps = 0;
    for (; steps < count && is_step(words[steps]); steps++) {
        const size_t room = sizeof text - used;
        const int length = snprintf(text + used, room, "%s%s", steps ? ";" : "", words[steps]);
        if ((size_t)length >= room)
            return fail(failure, STATUS_BAD_PARAM, "the steps are longer than %d characters",
                        PLAN_TEXT_MAX - 1);
        used += (size_t)length;
    }
    enum status status = plan_parse(&options->plan, text, failure);
    if (status == STATUS_OK && options->encode.has_background) {
        char background[COLOUR_TEXT_MAX]; /* for steps that have one, and were given none */
        param_colour_print(encode_background(&options->encode), background);
        status = plan_give(&options->plan, "background", background, failure);
    }
    if (status != STATUS_OK) return status;
    if (steps && steps < count && strchr(words[steps], '=') && !is_file(words[steps])) {
        char step[PARAM_SHOWN_MAX], shown[PARAM_SHOWN_MAX];
        param_shown(words[steps - 1], step);
        return fail(failure, STATUS_BAD_PARAM, "a step's parameters follow a colon: %s%c%s", step,
                    strchr(step, ':') ? ',' : ':', param_shown(words[steps], shown));
    }
    if (options->out_dir) return take_sources(options, count - steps, words + steps, failure);
    if (options->name || options->jobs || options->recursive || options->resume)
        return fail(failure, STATUS_BAD_PARAM,
                    "--name, --jobs, --recursive and --resume need --out-dir DIR");
    if (count - steps > 2) return one_too_many(count - steps, words + steps, failure);
    const int least = plan_only_reports(&options->plan) ? 1 : 2;
    if (count - steps < least)
        return fail(failure, STATUS_BAD_PARAM, "%s is missing; see burin run --help",
                    count == steps ? "INPUT" : "OUTPUT");
    options->input = words[steps];
    options->output = count - steps == 2 ? words[steps + 1] : NULL;
    return STATUS_OK;
}

bool options_path(const char *pattern, uint32_t width, char *path, size_t size) {
    const char *place = width ? strstr(pattern, WIDTH_PLACE) : NULL;
    const int length = place ? snprintf(path, size, "%.*s%u%s", (int)(place - pattern), pattern,
                                        width, place + strlen(WIDTH_PLACE))
                             : snprintf(path, size, "%s", pattern);
    return length > 0 && (size_t)length < size;
}

/* Several widths of the last step need several files. */
static enum status check_widths(const struct options *options, struct failure *failure) {
    if (plan_check_widths(&options->plan, failure)) return failure->status;
    const char *pattern = options->out_dir ? options->name : options->output;
    if (pattern && strstr(pattern, WIDTH_PLACE)) return STATUS_OK;
    return fail(failure, STATUS_BAD_PARAM,
                "with --widths %s must contain %%w in place of the width, such as photo-%%w.jpg",
                options->out_dir ? "--name" : "OUTPUT");
}

const char *options_extension(const char *path) {
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    const char *dot = strrchr(name, '.');
    return dot && dot > name ? dot + 1 : "";
}

/* Without an extension the input's type stays. */
static enum status type_by_extension(struct options *options, struct failure *failure) {
    const char *pattern = options->out_dir ? options->name : options->output;
    const char *extension = pattern ? options_extension(pattern) : "";
    char shown[PARAM_SHOWN_MAX], endings[FORMAT_LIST_MAX], names[FORMAT_LIST_MAX];
    if (options->encode.format || !*extension || strchr(extension, '%')) return STATUS_OK;
    options->encode.format = format_from_name(extension);
    if (options->encode.format) return STATUS_OK;
    return fail(failure, STATUS_BAD_PARAM,
                "burin does not write \".%s\": %s must end in %s, or give --type %s",
                param_shown(extension, shown), options->out_dir ? "--name" : "OUTPUT",
                format_list(FORMAT_ENDINGS, FORMAT_WRITTEN, ", ", " or ", endings),
                format_list(FORMAT_NAMES, FORMAT_WRITTEN, ", ", " or ", names));
}

enum status options_read(struct options *options, int argc, char **argv, struct failure *failure) {
    *options = (struct options){ .device = "auto",
                                 .encode = encode_options_default,
                                 .pixels_max = (long)codec_limits_default.probe.pixels_max };
    options->encode.format = FORMAT_NONE;
    int words = 0;
    bool ended = false;
    enum status status = STATUS_OK;
    for (int i = 1; i < argc && status == STATUS_OK && !options->help; i++) {
        if (ended || argv[i][0] != '-' || !argv[i][1])
            argv[words++] = argv[i];
        else if (strcmp(argv[i], "--") == 0)
            ended = true;
        else if (strcmp(argv[i], "-h") == 0)
            options->help = true;
        else if (strcmp(argv[i], "-q") == 0)
            options->quiet = true;
        else
            status = take_option(options, argc, argv, &i, failure);
    }
    if (status != STATUS_OK || options->help) return status;
    status = user_operators_load(options->operators_dir, failure);
    if (status == STATUS_OK) status = read_words(options, words, argv, failure);
    if (status == STATUS_OK && options->widths.count) status = check_widths(options, failure);
    if (status == STATUS_OK) status = type_by_extension(options, failure);
    const char *missing = codec_missing(options->encode.format);
    if (status == STATUS_OK && missing) status = fail(failure, STATUS_BAD_PARAM, "%s", missing);
    return status ? status : encode_options_check(&options->encode, failure);
}

/* ---- the help */

/* The options that say how a result is written, for the formats that have each. */
static void usage_encoding(void) {
    char types[FORMAT_LIST_MAX], quality[FORMAT_LIST_MAX], progressive[FORMAT_LIST_MAX];
    char lossless[FORMAT_LIST_MAX], effort[FORMAT_LIST_MAX], compression[FORMAT_LIST_MAX];
    char palette[FORMAT_LIST_MAX];
    format_list(FORMAT_NAMES, FORMAT_WRITTEN, "|", "|", types);
    format_list(FORMAT_TITLES, FORMAT_QUALITY, ", ", " or ", quality);
    format_list(FORMAT_TITLES, FORMAT_PROGRESSIVE, ", ", " or ", progressive);
    format_list(FORMAT_TITLES, FORMAT_LOSSLESS, ", ", " or ", lossless);
    format_list(FORMAT_TITLES, FORMAT_EFFORT, ", ", " or ", effort);
    format_list(FORMAT_TITLES, FORMAT_COMPRESSION, ", ", " or ", compression);
    format_list(FORMAT_TITLES, FORMAT_PALETTE, ", ", " or ", palette);
    printf("  --type %-24s default by OUTPUT's extension; without one the\n"
           "                                  input's type\n"
           "  --quality 1..100                of a %s, default 85\n"
           "  --progressive true|false        a %s that is shown before all of it is loaded; 6\n"
           "                                  times as slow, a little smaller; default false\n"
           "  --lossless true|false           a %s that keeps every sample; default\n"
           "                                  false\n"
           "  --effort 0..6                   of a %s: more is slower and smaller;\n"
           "                                  default 4\n"
           "  --max-bytes N                   of a %s: lowers the quality until\n"
           "  --min-quality 1..100            the file fits, but not below this; default 10\n"
           "  --compression 0..3              of a %s, default 1\n"
           "  --palette true|false            a %s of at most 256 colours; default false\n"
           "  --colors 2..256                 the most of them; without --palette, too\n"
           "  --dither true|false             colours between two of them become patterns;\n"
           "                                  default false\n",
           types, quality, progressive, lossless, effort, quality, compression, palette);
}

int options_usage(void) {
    fputs("usage: burin run [OPTION]... STEP... INPUT OUTPUT\n"
          "       burin run [OPTION]... STEP... INPUT          if every step reports values\n"
          "       burin run [OPTION]... STEP... INPUT... --out-dir DIR\n\n"
          "A step is an operator, with its parameters after a colon: histeq, or\n"
          "histeq:bins=64,scale=maxabs; resize:300x200, resize:50% and rotate:90 are short\n"
          "forms. `burin ops` lists the operators. Without a step the image is converted.\n"
          "INPUT and OUTPUT are files, or - for standard input and output.\n"
          "Values of steps (histogram, minimum...) are printed on standard output, or on\n"
          "standard error if OUTPUT is -: one line per step with a number for each channel,\n"
          "for lists one line per channel. With --timing or --json they are in the JSON; with\n"
          "--out-dir, they are only there.\n\n"
          "  burin run resize:320x240 *.jpg --out-dir thumbs      as many at a time as cores\n\n"
          "A file that fails is reported, and the rest goes on. Results replace files of the\n"
          "same name in DIR, but never an INPUT.\n\n"
          "  --out-dir DIR                   results of many files; it is made if it is missing\n"
          "  --name PATTERN                  of each: %n is INPUT's name without its ending, %e\n"
          "                                  the ending of the type, %w the width of --widths;\n"
          "                                  default %n.%e\n"
          "  --recursive                     takes folders, and keeps their tree below DIR\n"
          "  --resume                        skips files whose result is newer than they are\n"
          "  --jobs N                        files at a time, default one per core\n"
          "  --quiet, -q                     prints errors and values alone\n"
          "  --json                          a line of JSON for each result, error and summary\n\n",
          stdout);
    fputs("  --device auto|cpu|cuda|cuda:N   default auto: the first GPU, else the CPU\n", stdout);
    usage_encoding();
    fputs("  --background RRGGBB[AA]         the colour under transparency, and for steps that\n"
          "                                  have a background; default ffffff\n"
          "  --widths W,W...                 in place of width, of the last step: a file for\n"
          "                                  each, with the width for %w in OUTPUT's name\n"
          "  --damaged refuse|accept         accept: use the readable part of a damaged image,\n"
          "                                  with a note; default refuse\n"
          "  --timing                        print the time of each stage as JSON on standard\n"
          "                                  output, or on standard error if OUTPUT is -\n"
          "  --threads N                     for a file on the CPU, default one per core\n"
          "  --operators-dir DIR             operators in C, used like built-in ones; `burin\n"
          "                                  check` shows the mistakes in a file\n"
          "  --pixels-max N                  the largest image in and out, default 67108864\n",
          stdout);
    for (int i = 0; i < registry_count(); i++) {
        const struct op *op = registry_at(i);
        for (int p = 0; p < OP_AUX_MAX && op->aux[p].name; p++) {
            char option[48];
            snprintf(option, sizeof option, "--%s FILE", op->aux[p].name);
            printf("  %-31s for %s: %s\n", option, op->name, op->aux[p].summary);
        }
    }
    return 0;
}

enum status options_settle(struct options *options, const struct probe *probe,
                           struct codec_limits *limits, struct failure *failure) {
    enum status status = STATUS_OK;
    if (options->encode.profile == PROFILE_SRGB && probe->profile)
        status = plan_begin_with(&options->plan, "srgb", failure);
    if (options->encode.profile == PROFILE_SRGB) options->encode.profile = PROFILE_KEEP;
    limits->cmyk_to_srgb = plan_converts(&options->plan);
    if (limits->cmyk_to_srgb) options->encode.profile = PROFILE_SRGB;
    return status;
}
