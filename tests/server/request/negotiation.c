// SPDX-License-Identifier: Apache-2.0
/* Accept headers and their answers: by RFC 9110, and as real clients send them. */
#include "server/request/negotiation.h"

#include "pipeline/codec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define PNM  "image/x-portable-anymap"
#define PAGE "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"

/* TYPES: the result's type for an input of JPEG, PNG and PNM; '-': the input's type. */
static const struct {
    const char *accept;
    enum answer answer;
    const char *types;
} cases[] = {
    { NULL, ANSWER_IMAGE, "---" },
    { "", ANSWER_IMAGE, "---" },
    { " , ,", ANSWER_IMAGE, "---" },
    { "*/*", ANSWER_IMAGE, "---" },
    { "image/*", ANSWER_IMAGE, "---" },
    { "IMAGE/PNG", ANSWER_IMAGE, "p-p" },
    { "image/jpeg", ANSWER_IMAGE, "-jj" },
    { PNM, ANSWER_IMAGE, "nn-" },
    { "image/webp", ANSWER_IMAGE, "www" },
    { "image/webp, image/*;q=0.9", ANSWER_IMAGE, "www" },
    { "image/webp;q=0.9, image/*;q=0.8", ANSWER_IMAGE, "www" },
    { "image/webp;q=0.7, image/*;q=0.8", ANSWER_IMAGE, "---" },
    { "image/webp, image/png", ANSWER_IMAGE, "p-p" },
    { "image/webp, " PNM, ANSWER_IMAGE, "ww-" },
    { "image/x-portable-graymap", ANSWER_IMAGE, "nn-" },
    { "application/json", ANSWER_JSON, "---" },
    { "application/*", ANSWER_JSON, "---" },
    { "Application/JSON; charset=utf-8", ANSWER_JSON, "---" },
    { "multipart/mixed", ANSWER_MULTIPART, "---" },
    { "multipart/*", ANSWER_MULTIPART, "---" },
    /* types that are unknown or always refused: as if there were no header */
    { "text/html", ANSWER_IMAGE, "---" },
    { "image/bmp", ANSWER_IMAGE, "---" },
    { "application/json;q=0", ANSWER_IMAGE, "---" },
    { "multipart/mixed;q=0", ANSWER_IMAGE, "---" },
    { "*/*;q=0", ANSWER_IMAGE, "---" },
    { "*/png", ANSWER_IMAGE, "---" },
    { "image", ANSWER_IMAGE, "---" },
    { "/", ANSWER_IMAGE, "---" },
    { "application/jsonp, text/application/json, image/pngx", ANSWER_IMAGE, "---" },
    /* JSON alone only if the client accepts no image */
    { "application/json, text/plain, */*", ANSWER_IMAGE, "---" },
    { "application/json, */*;q=0.001", ANSWER_IMAGE, "---" },
    { "image/*, application/json;q=0.1", ANSWER_IMAGE, "---" },
    { "image/png, application/json", ANSWER_IMAGE, "p-p" },
    { "application/json, image/png;q=0", ANSWER_JSON, "---" },
    { "application/json, */*;q=0", ANSWER_JSON, "---" },
    { "application/json;q=0.1, text/html", ANSWER_JSON, "---" },
    { "*/*, image/*;q=0", ANSWER_JSON, "---" },
    { "application/*, application/json;q=0", ANSWER_IMAGE, "---" },
    /* weights among images; the input's type if no other weighs more */
    { "image/png, image/jpeg;q=0.5", ANSWER_IMAGE, "p-p" },
    { "image/png;q=0.5, image/jpeg;q=0.6", ANSWER_IMAGE, "-jj" },
    { "image/jpeg, image/png", ANSWER_IMAGE, "--p" },
    { "image/png;q=0.001, image/*;q=0.002", ANSWER_IMAGE, "-j-" },
    { "image/jpeg;q=0, */*", ANSWER_IMAGE, "p--" },
    { "image/png;q=0, image/jpeg;q=0, image/*", ANSWER_IMAGE, "ww-" },
    { "image/png;q=0, image/jpeg;q=0, image/webp;q=0.9, image/*", ANSWER_IMAGE, "nn-" },
    { "image/png;level=1;q=0.2, image/png;q=0.7, image/jpeg;q=0.5", ANSWER_IMAGE, "p-p" },
    { "image/avif,image/webp,image/png,image/*;q=0.8", ANSWER_IMAGE, "p-p" },
    { "image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8", ANSWER_IMAGE, "---" },
    /* a browser opens a page: the types that it can show are no preference */
    { "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8", ANSWER_IMAGE,
      "---" },
    { PAGE, ANSWER_IMAGE, "---" },
    { "text/html,image/webp", ANSWER_IMAGE, "---" },
    { "text/html;q=0.1,image/png;q=0.5,image/webp", ANSWER_IMAGE, "p-p" },
    { "text/htmlx,image/webp", ANSWER_IMAGE, "www" },
    /* parts, and the image within them */
    { "multipart/mixed, image/png", ANSWER_MULTIPART, "p-p" },
    { "multipart/mixed, */*", ANSWER_MULTIPART, "---" },
    { "multipart/mixed;q=0.5, */*;q=0.4", ANSWER_MULTIPART, "---" },
    { "multipart/mixed;q=0.5, */*", ANSWER_IMAGE, "---" },
    { "image/jpeg, multipart/mixed;q=0", ANSWER_IMAGE, "-jj" },
    { "image/jpeg, multipart/mixed;q=0.9", ANSWER_IMAGE, "-jj" },
    { "multipart/mixed, application/json", ANSWER_MULTIPART, "---" },
    { "multipart/mixed;q=0.5, application/json", ANSWER_JSON, "---" },
    { "multipart/mixed;q=0.5, application/json, image/png;q=0.1", ANSWER_MULTIPART, "p-p" },
    { "multipart/form-data, application/json", ANSWER_JSON, "---" },
    /* how weights are written */
    { "image/png ; q=0.5 , image/jpeg ; Q=0.4", ANSWER_IMAGE, "p-p" },
    { "image/png;q=0.50, image/jpeg;q=0.499", ANSWER_IMAGE, "p-p" },
    { "image/png;q=1.000, image/jpeg;q=0.999", ANSWER_IMAGE, "p-p" },
    { "image/png;q=0., image/jpeg;q=0.001", ANSWER_IMAGE, "-jj" },
    { "image/png;q=0.0001, image/jpeg;q=0.001", ANSWER_IMAGE, "-jj" },
    { "image/png;q=0x, image/jpeg;q=0.9", ANSWER_IMAGE, "p-p" },
    { "image/png;q=, image/jpeg;q=0.9", ANSWER_IMAGE, "p-p" },
    { "image/png;q=7, image/jpeg", ANSWER_IMAGE, "--p" },
    { "image/png;quick=0, image/jpeg;q=0.9", ANSWER_IMAGE, "p-p" },
    { "image/png;q", ANSWER_IMAGE, "p-p" },
    { "image/png;", ANSWER_IMAGE, "p-p" },
    /* a quoted comma ends nothing, an open quote ends with the header */
    { "text/plain;x=\"a,image/png\", application/json", ANSWER_JSON, "---" },
    { "text/plain;x=\"a\\\",image/png\", application/json", ANSWER_JSON, "---" },
    { "application/json;x=\", image/png", ANSWER_JSON, "---" },
    { "application/json;x=\"\\", ANSWER_JSON, "---" },
};

/* If the values are a full answer, clients get them unless they name an image type or multipart, or
 * refuse JSON. */
static const struct {
    const char *accept;
    enum answer answer;
} values_cases[] = {
    { NULL, ANSWER_JSON },
    { "*/*", ANSWER_JSON },
    { "text/html", ANSWER_JSON },
    { "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8",
      ANSWER_JSON },
    { "application/json", ANSWER_JSON },
    { "application/json, */*", ANSWER_JSON },
    { "*/*;q=0.1", ANSWER_JSON },
    { "text/html,image/webp", ANSWER_JSON },
    { "image/webp", ANSWER_IMAGE },
    { "image/png", ANSWER_IMAGE },
    { "image/*", ANSWER_IMAGE },
    { "*/*, image/jpeg;q=0.1", ANSWER_IMAGE },
    { "application/json, image/png;q=0.5", ANSWER_IMAGE },
    { PNM ", application/json", ANSWER_IMAGE },
    { "image/png;q=0, */*", ANSWER_JSON },
    { "application/json;q=0, */*", ANSWER_IMAGE },
    { "*/*, application/*;q=0", ANSWER_IMAGE },
    { "multipart/mixed", ANSWER_MULTIPART },
    { "multipart/mixed, image/png", ANSWER_MULTIPART },
    { "multipart/mixed;q=0.5, */*", ANSWER_JSON },
    { "multipart/mixed;q=0.5, image/png", ANSWER_IMAGE },
    { "multipart/mixed;q=0", ANSWER_JSON },
};

static void values_go_to_who_names_no_image(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof values_cases / sizeof *values_cases; i++) {
        const char *line = values_cases[i].accept;
        struct negotiation accept = { 0 };
        if (line) negotiation_add(&accept, line);
        const enum answer answer = negotiation_answer(&accept, true);
        if (answer != values_cases[i].answer)
            fail_msg("%s: %d, not %d", line ? line : "none", answer, values_cases[i].answer);
    }
}

static void each_gets_what_it_likes_best(void **state) {
    (void)state;
    static const char letters[FORMAT_COUNT] = { [FORMAT_NONE] = '-',
                                                [FORMAT_JPEG] = 'j',
                                                [FORMAT_PNG] = 'p',
                                                [FORMAT_PNM] = 'n',
                                                [FORMAT_WEBP] = 'w' };
    const struct types none = { .count = 0 };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *line = cases[i].accept;
        struct negotiation accept = { 0 };
        if (line) negotiation_add(&accept, line);
        const char types[] = { letters[negotiation_type(&accept, FORMAT_JPEG, &none)],
                               letters[negotiation_type(&accept, FORMAT_PNG, &none)],
                               letters[negotiation_type(&accept, FORMAT_PNM, &none)], '\0' };
        const enum answer answer = negotiation_answer(&accept, false);
        if (answer != cases[i].answer || strcmp(types, cases[i].types) != 0)
            fail_msg("%s: %d %s, not %d %s", line ? line : "none", answer, types, cases[i].answer,
                     cases[i].types);
    }
}

/* Cuts every case at its commas: two header lines mean the same as one line with the comma. */
static void lines_are_one_list(void **state) {
    (void)state;
    int cut = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *line = cases[i].accept, *comma = line ? strchr(line, ',') : NULL;
        if (!comma || strchr(line, '"')) continue;
        char first[200] = "";
        memcpy(first, line, (size_t)(comma - line));
        for (int turned = 0; turned < 2; turned++) {
            struct negotiation whole = { 0 }, parts = { 0 };
            negotiation_add(&whole, line);
            negotiation_add(&parts, turned ? comma + 1 : first);
            negotiation_add(&parts, turned ? first : comma + 1);
            if (memcmp(&whole, &parts, sizeof whole) != 0) fail_msg("%s is cut in two", line);
        }
        cut++;
    }
    assert_true(cut > 20);
}

/* PREFER decides between types that are named and liked equally, and between them alone. */
static void an_order_of_types_decides_ties(void **state) {
    (void)state;
    static const struct {
        const char *prefer, *accept;
        enum format input, type;
    } orders[] = {
        { "webp", "image/webp,image/png,*/*;q=0.8", FORMAT_JPEG, FORMAT_WEBP },
        { "webp", "image/avif,image/webp,image/apng,image/*,*/*;q=0.8", FORMAT_JPEG, FORMAT_WEBP },
        { "webp", "image/webp,image/*", FORMAT_WEBP, FORMAT_NONE },
        { "webp", "image/webp;q=0.9,image/jpeg", FORMAT_JPEG, FORMAT_NONE },
        { "webp", "image/webp;q=0.9,image/jpeg", FORMAT_PNG, FORMAT_JPEG },
        { "webp", "image/*", FORMAT_JPEG, FORMAT_NONE }, /* not named */
        { "webp", "*/*", FORMAT_JPEG, FORMAT_NONE },
        { "webp", "image/webp;q=0,*/*", FORMAT_JPEG, FORMAT_NONE },
        { "webp", "text/html", FORMAT_JPEG, FORMAT_NONE },
        { "webp", PAGE, FORMAT_JPEG, FORMAT_WEBP },
        { "png", PAGE, FORMAT_JPEG, FORMAT_NONE },
        { "jpeg,webp", "image/webp,image/jpeg", FORMAT_PNG, FORMAT_JPEG },
        { "webp,jpeg", "image/webp,image/jpeg", FORMAT_PNG, FORMAT_WEBP },
        { "webp,jpeg", "image/webp,image/jpeg", FORMAT_JPEG, FORMAT_WEBP },
        { "pnm", PNM ",image/png,image/jpeg", FORMAT_JPEG, FORMAT_PNM },
        { "", "image/webp,image/jpeg", FORMAT_JPEG, FORMAT_NONE },
    };
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        struct negotiation accept = { 0 };
        struct types prefer;
        assert_true(types_read(orders[i].prefer, &prefer));
        negotiation_add(&accept, orders[i].accept);
        const enum format type = negotiation_type(&accept, orders[i].input, &prefer);
        if (type != orders[i].type)
            fail_msg("\"%s\" before %s of %s: %s, not %s", orders[i].prefer, orders[i].accept,
                     format_name(orders[i].input), format_name(type), format_name(orders[i].type));
    }
}

/* AVIF is the last choice among equals; a build that cannot write AVIF ignores its name. */
static void avif_is_for_who_can_write_it(void **state) {
    (void)state;
    static const struct {
        const char *prefer, *accept;
        enum format with, without;
    } wishes[] = {
        { "", "image/avif", FORMAT_AVIF, FORMAT_NONE },
        { "", "image/avif,image/webp;q=0.9", FORMAT_AVIF, FORMAT_WEBP },
        { "", "image/avif,image/webp", FORMAT_WEBP, FORMAT_WEBP },
        { "", "image/avif," PNM, FORMAT_PNM, FORMAT_PNM },
        { "", "image/avif,image/*", FORMAT_NONE, FORMAT_NONE },
        { "", PAGE, FORMAT_NONE, FORMAT_NONE },
        { "avif,webp", "image/avif,image/webp", FORMAT_AVIF, FORMAT_WEBP },
        { "avif,webp", PAGE, FORMAT_AVIF, FORMAT_WEBP },
    };
    const bool there = !codec_missing(FORMAT_AVIF);
    for (size_t i = 0; i < sizeof wishes / sizeof *wishes; i++) {
        struct negotiation accept = { 0 };
        struct types prefer;
        assert_true(types_read(wishes[i].prefer, &prefer));
        negotiation_add(&accept, wishes[i].accept);
        assert_int_equal(negotiation_type(&accept, FORMAT_JPEG, &prefer),
                         there ? wishes[i].with : wishes[i].without);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_gets_what_it_likes_best),
        cmocka_unit_test(values_go_to_who_names_no_image),
        cmocka_unit_test(lines_are_one_list),
        cmocka_unit_test(an_order_of_types_decides_ties),
        cmocka_unit_test(avif_is_for_who_can_write_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
