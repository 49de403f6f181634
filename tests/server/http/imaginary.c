// SPDX-License-Identifier: Apache-2.0
/* Imaginary's names, translated to the text of a plan; random names and values give either a plan
 * that can be printed and parsed, or an error message.
 * covers: server/http/imaginary_steps.c server/http/imaginary_values.c */
#include "server/http/imaginary.h"
#include "pipeline/registry.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct settings settings;
static struct imaginary imaginary;
static struct failure failure;

/* GIVEN: "width=3&height=4". */
static enum status read_request(const char *op, bool whole, const char *given) {
    char copy[512], *rest = copy;
    failure = (struct failure){ 0 };
    snprintf(copy, sizeof copy, "%s", given);
    enum status status =
        imaginary_begin(&imaginary, &settings, NULL, op ? op : "pipeline", whole, &failure);
    for (char *name; !status && (name = strsep(&rest, "&")) && *name;) {
        char *value = strchr(name, '=');
        *value++ = '\0';
        status = settings_set(&settings, name, value, &failure);
    }
    if (!status) status = settings_complete(&settings, &failure);
    settings_release(&settings);
    return status;
}

static void check(const char *op, bool whole, const char *given, const char *wanted) {
    char text[PLAN_TEXT_MAX];
    if (read_request(op, whole, given)) fail_msg("%s?%s: %s", op, given, failure.message);
    assert_int_equal(plan_print(&settings.plan, text, sizeof text, &failure), STATUS_OK);
    if (strcmp(text, wanted) != 0) fail_msg("%s?%s is %s, should be %s", op, given, text, wanted);
}

static void operations_are_plans(void **state) {
    (void)state;
    check("fit", false, "width=3&height=4", "resize:width=3,height=4,fit=inside,enlarge=false");
    check("enlarge", false, "height=4&width=3", "resize:width=3,height=4");
    check("thumbnail", false, "width=3", "resize:width=3,fit=fill");
    check("convert", false, "type=png", "");
    check("autorotate", false, "", "");
    check("zoom", false, "factor=2", "zoom:times=3");
    check("rotate", false, "rotate=270", "rotate:angle=270");
    check("crop", false, "width=3&height=4&gravity=north", "crop:width=3,height=4,gravity=north");
    check("crop", true, "width=3&height=4&gravity=north",
          "resize:width=3,height=4,position=north,enlarge=false");
    check("smartcrop", false, "width=3&height=4", "smartcrop:width=3,height=4");
    check("smartcrop", true, "width=3&height=4",
          "resize:width=3,height=4,position=smart,enlarge=false");
    check("resize", false, "width=3&height=4", "resize:width=3,height=4");
    check("resize", true, "width=3&height=4&extend=black",
          "resize:width=3,height=4,fit=contain,enlarge=false,background=000000");
    check("resize", true, "width=3&height=4.5&palette=1&nonsense=2",
          "resize:width=3,height=5,fit=contain,enlarge=false,around=edge");
    check("resize", false, "width=3&height=4&extend=mirror",
          "resize:width=3,height=4,fit=contain,enlarge=false,around=mirror");
    check("resize", true, "width=3&height=4&gravity=smart",
          "resize:width=3,height=4,fit=inside,enlarge=false");
    check("extract", false, "areawidth=3&areaheight=4&top=9", "extract:top=9,width=3,height=4");
}

/* The steps have imaginary's order, for any order of the parameters. */
static void steps_stand_in_its_order(void **state) {
    (void)state;
    check("zoom", false,
          "colorspace=bw&sigma=2.5&areawidth=3&areaheight=4&left=1&width=8&flop=1&flip=1&rotate=90&"
          "factor=1",
          "rotate;flip;flop;zoom;resize:width=8,fit=inside,enlarge=false;"
          "extract:left=1,width=3,height=4;blur:sigma=2.5;grayscale");
    check("blur", false, "width=8&sigma=2&flip=true", "flip;resize:width=8,fit=fill;blur:sigma=2");
    check("rotate", false, "flip=true&rotate=180", "rotate:angle=180;flip");
    check("flop", false, "flip=true&flop=false", "flip;flop");
}

/* In whole numbers: 100 / 16 * 9, and 50 / 9 * 16. */
static void a_ratio_is_the_other_side(void **state) {
    (void)state;
    check("crop", false, "width=100&aspectratio=16:9", "crop:width=100,height=54");
    check("enlarge", false, "aspectratio=16:9&height=50", "resize:width=80,height=50");
    check("flip", false, "width=9&aspectratio=16:9", "flip;resize:width=9,fit=fill");
    assert_int_equal(read_request("fit", false, "width=60000&aspectratio=1:9"), STATUS_BAD_PARAM);
    assert_int_equal(read_request("flip", false, "width=60000&aspectratio=1:99999"),
                     STATUS_BAD_PARAM);
    assert_non_null(strstr(failure.message, "height"));
}

/* ---- at random */

static const char *const names[] = {
    "width",     "height",  "top",        "left",        "areawidth",  "areaheight",  "factor",
    "force",     "nocrop",  "embed",      "extend",      "gravity",    "rotate",      "flip",
    "flop",      "sigma",   "colorspace", "interlace",   "field",      "norotation",  "noprofile",
    "stripmeta", "palette", "minampl",    "aspectratio", "background", "compression", "type",
    "quality",   "fit",     "position",   "angle",       "times",      "key",
};
static const char *const values[] = {
    "1",
    "30",
    "0",
    "65535",
    "true",
    "false",
    "white",
    "background",
    "smart",
    "north",
    "bw",
    "90",
    "16:9",
    "1:99999",
    "250,20,10",
    "6",
    "png",
    "file",
    "fill",
    "copy",
    "2.5",
    "",
    "99999999999999999999",
    "1,2,3,4,5,6,7,8,9,10,11,12",
};
static const char *const operations[] = { "resize", "fit",     "enlarge",   "thumbnail", "crop",
                                          "zoom",   "extract", "rotate",    "flip",      "flop",
                                          "blur",   "convert", "smartcrop", "autorotate" };

static unsigned chance = 1;

static const char *any(const char *const *list, size_t count) {
    chance = chance * 1103515245 + 12345;
    return list[(chance >> 16) % count];
}

static void whatever_comes_ends_well(void **state) {
    (void)state;
    int plans = 0;
    for (int i = 0; i < 200000; i++) {
        char given[512] = "", text[PLAN_TEXT_MAX];
        struct plan again;
        size_t used = 0;
        for (int n = i % 5; n > 0; n--)
            used += (size_t)snprintf(given + used, sizeof given - used, "%s%s=%s", used ? "&" : "",
                                     any(names, sizeof names / sizeof *names),
                                     any(values, sizeof values / sizeof *values));
        if (read_request(any(operations, sizeof operations / sizeof *operations), i & 8, given)) {
            assert_true(strlen(failure.message) > 10);
            continue;
        }
        plans++;
        assert_int_equal(plan_print(&settings.plan, text, sizeof text, &failure), STATUS_OK);
        if (plan_parse(&again, text, &failure)) fail_msg("%s: %s", text, failure.message);
        assert_true(plan_is_same(&again, &settings.plan));
    }
    assert_true(plans > 5000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operations_are_plans),
        cmocka_unit_test(steps_stand_in_its_order),
        cmocka_unit_test(a_ratio_is_the_other_side),
        cmocka_unit_test(whatever_comes_ends_well),
    };
    if (!registry_find("resize") || !registry_find("zoom")) return 0; /* OPS_SKIP */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
