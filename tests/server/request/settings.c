// SPDX-License-Identifier: Apache-2.0
/* Names and values of a request, in any order: their effect, and which are refused. */
#include "server/request/settings.h"

#include "pipeline/registry.h"
#include "pipeline/skeletons/reader.h"
#include "server/access/grant.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct settings settings;
static struct failure failure;

static enum status set(const char *op, const char *name, const char *value) {
    failure = (struct failure){ 0 };
    assert_int_equal(settings_init(&settings, NULL, op, NULL, &failure), STATUS_OK);
    return settings_set(&settings, name, value, &failure);
}

/* /info describes the input alone, so no setting but the device applies. */
static void info_takes_a_device_alone(void **state) {
    (void)state;
    static const char *const others[] = { "type", "quality", "operations", "bins" };
    settings_init_info(&settings, NULL);
    assert_int_equal(settings_set(&settings, "device", "cpu", &failure), STATUS_OK);
    assert_int_equal(settings_set(&settings, "device", "cpu", &failure), STATUS_BAD_PARAM);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        assert_int_equal(settings_set(&settings, others[i], "png", &failure), STATUS_BAD_PARAM);
        assert_non_null(strstr(failure.message, "/info"));
        assert_non_null(strstr(failure.message, others[i]));
    }
}

static void good_values(void **state) {
    (void)state;
    assert_int_equal(set("histeq", "bins", "64"), STATUS_OK);
    assert_int_equal(settings.plan.steps[0].params.number[0], 64);
    assert_int_equal(set("histeq", "type", "png"), STATUS_OK);
    assert_int_equal(settings.encode.format, FORMAT_PNG);
    assert_int_equal(set("histeq", "type", "auto"), STATUS_OK);
    assert_int_equal(settings.encode.format, FORMAT_NONE);
    assert_int_equal(set("histeq", "background", "#0aFf10"), STATUS_OK);
    assert_memory_equal(settings.encode.background, "\x0a\xff\x10\xff", 4);
    assert_int_equal(set("histeq", "device", "cuda:3"), STATUS_OK);
    assert_int_equal(set("histeq", "quality", "100"), STATUS_OK);
    assert_int_equal(settings.encode.quality, 100);
    assert_int_equal(set("histeq", "damaged", "accept"), STATUS_OK);
    assert_true(settings.accept_damage);
    assert_int_equal(set("histeq", "damaged", "refuse"), STATUS_OK);
    assert_false(settings.accept_damage);
    assert_int_equal(set(NULL, "operations",
                         "[{\"operation\":\"grayscale\"},{\"operation\":\"histeq\","
                         "\"params\":{\"bins\":32,\"scale\":\"maxabs\"}}]"),
                     STATUS_OK);
    assert_int_equal(settings.plan.count, 2);
    assert_int_equal(settings_complete(&settings, &failure), STATUS_OK);
}

static void bad_values_are_refused_with_a_word_that_helps(void **state) {
    (void)state;
    static const struct {
        const char *op, *name, *value, *says;
    } cases[] = {
        { "histeq", "bins", "1", "2..65536" },
        { "histeq", "bins", "70000", "2..65536" },
        { "histeq", "bins", "abc", "bins" },
        { "histeq", "bin", "3", "bins" },
        { "histeq", "operations", "[]", "operations" },
        { "histeq", "type", "bmp", "png" },
        { "histeq", "quality", "0", "1..100" },
        { "histeq", "quality", "85x", "1..100" },
        { "histeq", "quality", "", "1..100" },
        { "histeq", "compression", "4", "0..3" },
        { "histeq", "background", "redd", "RRGGBB" },
        { "histeq", "background", "12345g", "RRGGBB" },
        { "histeq", "damaged", "yes", "refuse or accept" },
        { "histeq", "device", "gpu", "cuda" },
        { "histeq", "device", "cuda:x", "cuda" },
        { "histeq", "device", "cuda:-1", "cuda" },
        { NULL, "operation", "x", "operations" },
        { NULL, "operations", "", "JSON" },
        { NULL, "operations", "{", "JSON" },
        { NULL, "operations", "{}", "JSON" },
        { NULL, "operations", "[]", "JSON" },
        { NULL, "operations", "[1]", "operation" },
        { NULL, "operations", "[{\"operation\":\"histeq\",\"parameters\":{}}]", "parameters" },
        { NULL, "operations", "[{\"operation\":\"histek\"}]", "histeq" },
        { NULL, "operations", "[{\"operation\":\"histeq\",\"params\":[]}]", "params" },
        { NULL, "operations", "[{\"operation\":\"histeq\",\"params\":{\"bins\":1.5}}]", "bins" },
        { NULL, "operations", "[{\"operation\":\"histeq\",\"params\":{\"bins\":1}}]", "2..65536" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (set(cases[i].op, cases[i].name, cases[i].value) != STATUS_BAD_PARAM)
            fail_msg("%s=%s was taken", cases[i].name, cases[i].value);
        if (!strstr(failure.message, cases[i].says))
            fail_msg("%s=%s: \"%s\" does not say %s", cases[i].name, cases[i].value,
                     failure.message, cases[i].says);
    }
}

static uint32_t background_of(int step) {
    const struct step *at = &settings.plan.steps[step];
    for (int i = 0; at->op->params[i].name; i++)
        if (strcmp(at->op->params[i].name, "background") == 0)
            return (uint32_t)at->params.number[i];
    return 0;
}

/* The request's background applies to results without transparency and to every step that has this
 * parameter, except steps that set their own; in any order. */
static void a_background_is_of_the_steps_too(void **state) {
    (void)state;
    static const char operations[] =
        "[{\"operation\":\"resize\",\"params\":{\"width\":9,\"background\":\"00ff0080\"}},"
        "{\"operation\":\"histeq\"},{\"operation\":\"resize\",\"params\":{\"width\":9}}]";
    if (!registry_find("resize")) return;
    assert_int_equal(set("resize", "background", "0a0B0c"), STATUS_OK);
    assert_int_equal(settings_set(&settings, "background", "ffffff", &failure), STATUS_BAD_PARAM);
    assert_int_equal(settings_set(&settings, "width", "9", &failure), STATUS_OK);
    assert_int_equal(settings_complete(&settings, &failure), STATUS_OK);
    assert_int_equal(encode_background(&settings.encode), 0x0a0b0cff);
    assert_int_equal(background_of(0), 0x0a0b0cff);
    for (int first = 0; first < 2; first++) {
        const char *names[] = { "operations", "background" },
                   *values[] = { operations, "#01020304" };
        assert_int_equal(set(NULL, names[first], values[first]), STATUS_OK);
        assert_int_equal(settings_set(&settings, names[!first], values[!first], &failure),
                         STATUS_OK);
        assert_int_equal(settings_complete(&settings, &failure), STATUS_OK);
        assert_int_equal(encode_background(&settings.encode), 0x01020304);
        assert_int_equal(background_of(0), 0x00ff0080);
        assert_int_equal(background_of(2), 0x01020304);
    }
    assert_int_equal(set(NULL, "operations", operations), STATUS_OK);
    assert_int_equal(settings_complete(&settings, &failure), STATUS_OK);
    assert_int_equal(encode_background(&settings.encode), 0xffffffff);
    assert_int_equal(background_of(2), 0xffffffff);
    /* a step cannot set a parameter that its operator lacks */
    assert_int_equal(set(NULL, "operations",
                         "[{\"operation\":\"histeq\",\"params\":{\"background\":\"ffffff\"}}]"),
                     STATUS_BAD_PARAM);
    assert_non_null(strstr(failure.message, "belongs beside operations"));
}

static void twice_is_refused(void **state) {
    (void)state;
    assert_int_equal(set("histeq", "bins", "64"), STATUS_OK);
    assert_int_equal(settings_set(&settings, "bins", "64", &failure), STATUS_BAD_PARAM);
    assert_int_equal(settings_set(&settings, "quality", "80", &failure), STATUS_OK);
    assert_int_equal(settings_set(&settings, "quality", "80", &failure), STATUS_BAD_PARAM);
}

static void a_pipeline_needs_operations_and_at_most_ten(void **state) {
    (void)state;
    assert_int_equal(settings_init(&settings, NULL, NULL, NULL, &failure), STATUS_OK);
    assert_int_equal(settings_complete(&settings, &failure), STATUS_BAD_PARAM);
    char list[1024] = "[";
    for (int i = 0; i < 11; i++)
        strcat(list, i ? ",{\"operation\":\"histeq\"}" : "{\"operation\":\"histeq\"}");
    assert_int_equal(set(NULL, "operations", strcat(list, "]")), STATUS_BAD_PARAM);
}

/* In JSON a decimal is a number; the JSON reader's number prints to the same text. */
static void decimals_in_json(void **state) {
    (void)state;
    static const struct param params[] = {
        { .name = "gain", .type = PARAM_DECIMAL, .min = -5000, .max = 5000 }, { .name = NULL }
    };
    static const struct op op = { .name = "user_gain", .summary = "Tests", .params = params };
    static const struct {
        const char *text;
        long thousandths; /* -1: refused */
    } table[] = { { "0.1", 100 },  { "4.999", 4999 },   { "-2.5", -2500 }, { "3", 3000 },
                  { "3.0", 3000 }, { "\"0.25\"", 250 }, { "0.1234", -1 },  { "5.001", -1 },
                  { "1e-7", -1 },  { "true", -1 } };
    assert_true(registry_add(&op));
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        char text[128];
        snprintf(text, sizeof text, "[{\"operation\":\"user_gain\",\"params\":{\"gain\":%s}}]",
                 table[i].text);
        const enum status status = set(NULL, "operations", text);
        assert_int_equal(status, table[i].thousandths == -1 ? STATUS_BAD_PARAM : STATUS_OK);
        if (status == STATUS_OK)
            assert_int_equal(settings.plan.steps[0].params.number[0], table[i].thousandths);
        else
            assert_non_null(strstr(failure.message, "gain must be a number -5..5"));
    }
}

/* A number is lost only if it is not 0 and reads as 0; digits in a string are no number. */
static void numbers_that_json_cannot_hold(void **state) {
    (void)state;
    static const struct {
        const char *text;
        bool loads;
    } table[] = {
        { "[0, -0, 0.0, -0.0e5, 0e-999, 1e-300, 2E+3, 1e-5]", true },
        { "[\"1e-400\", \"\\\"1e-400\", \"\\\\\", {\"1e-400\": 1}]", true },
        { "[1e-400]", false },
        { "[\"\\\\\", 1e-400]", false },
        { "{\"a\": [0.0, -0.00000001E-330]}", false },
        { "[00]", false },
        { "[1e400]", false },
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        char why[PARAM_SHOWN_MAX];
        json_t *json = operations_load(table[i].text, why);
        assert_int_equal(json != NULL, table[i].loads);
        assert_int_equal(*why == 0, table[i].loads);
        json_decref(json);
    }
}

/* True if the struct of a user's operator may have a field NAME. */
static bool field_may_be(const char *name) {
    char text[256];
    struct diagnostics diagnostics;
    const int length =
        snprintf(text, sizeof text,
                 "#STRUCT\ntypedef struct { int %s; } data;\n#P2P_FUNC\n"
                 "static unsigned char user_f(unsigned char v, int i, data d) { return v; }\n",
                 name);
    struct user_file *file = reader_read("f.c", text, (size_t)length, 0, &diagnostics);
    reader_destroy(file);
    return file != NULL;
}

/* pipeline/ does not include server/, so the reader has its own list. */
static void no_field_of_a_user_hides_a_name_of_every_request(void **state) {
    (void)state;
    assert_true(field_may_be("devices"));
    for (int i = 0; settings_shared_name(i); i++) {
        if (field_may_be(settings_shared_name(i)))
            fail_msg("an operator may have a parameter %s", settings_shared_name(i));
        if (strcmp(settings_shared_name(i), "widths") == 0) continue; /* not in a pipeline */
        assert_int_equal(set(NULL, "nothing_like_it", ""), STATUS_BAD_PARAM);
        assert_non_null(strstr(failure.message, settings_shared_name(i)));
    }
}

/* In a signed address such a name means the signature's, and would never reach an operator. */
static void no_field_hides_a_name_of_a_signed_address(void **state) {
    static const char *const names[] = { "key",        "expires",  "not_before", "body_max",
                                         "pixels_max", "in_types", "free",       "parts",
                                         "origin",     "client",   "digest",     "once",
                                         "signature" };
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_true(grant_owns(&(struct grant){ .is_signed = true }, names[i]));
        if (field_may_be(names[i])) fail_msg("an operator may have a parameter %s", names[i]);
        for (int o = 0; o < registry_count(); o++) {
            const struct op *op = registry_at(o);
            for (const struct param *param = op->params; param && param->type; param++)
                assert_string_not_equal(param->name, names[i]);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_values),
        cmocka_unit_test(no_field_of_a_user_hides_a_name_of_every_request),
        cmocka_unit_test(no_field_hides_a_name_of_a_signed_address),
        cmocka_unit_test(decimals_in_json),
        cmocka_unit_test(numbers_that_json_cannot_hold),
        cmocka_unit_test(info_takes_a_device_alone),
        cmocka_unit_test(bad_values_are_refused_with_a_word_that_helps),
        cmocka_unit_test(a_background_is_of_the_steps_too),
        cmocka_unit_test(twice_is_refused),
        cmocka_unit_test(a_pipeline_needs_operations_and_at_most_ten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
