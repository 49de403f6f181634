// SPDX-License-Identifier: Apache-2.0
/* traceparent and tracestate by W3C's Trace Context: what is taken over, and what begins anew. */
#include "server/trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define ID   "4bf92f3577b34da6a3ce929d0e0e4736"
#define SPAN "00f067aa0ba902b7"

static bool is_new(const struct trace *trace) {
    return !trace->continued && !trace->sampled && strcmp(trace->id, ID) != 0 &&
           strlen(trace->id) == 32 && strspn(trace->id, "0123456789abcdef") == 32;
}

static void parents(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int flags; /* of the answer; -1: a new trace */
    } cases[] = {
        { "00-" ID "-" SPAN "-00", 0 },
        { "00-" ID "-" SPAN "-01", 1 },
        { "00-" ID "-" SPAN "-02", 0 },
        { "00-" ID "-" SPAN "-03", 1 },
        { "00-" ID "-" SPAN "-ff", 1 },
        { "00-" ID "-" SPAN "-fe", 0 },
        { "cc-" ID "-" SPAN "-01", 1 },
        { "01-" ID "-" SPAN "-01-what-the-future-will-be-like", 1 },
        { "cc-" ID "-" SPAN "-01.what", -1 },
        { "00-" ID "-" SPAN "-01-", -1 },
        { "00-" ID "-" SPAN "-0", -1 },
        { "00-" ID "-" SPAN "-0g", -1 },
        { "00-" ID "-" SPAN "-g0", -1 },
        { "00-" ID "-" SPAN, -1 },
        { "ff-" ID "-" SPAN "-01", -1 },
        { "0g-" ID "-" SPAN "-01", -1 },
        { "0-" ID "-" SPAN "-01", -1 },
        { "00-00000000000000000000000000000000-" SPAN "-01", -1 },
        { "00-" ID "-0000000000000000-01", -1 },
        { "00-4BF92F3577B34DA6A3CE929D0E0E4736-" SPAN "-01", -1 },
        { "00-" ID "-00F067AA0BA902B7-01", -1 },
        { "00-" ID "-" SPAN "_01", -1 },
        { "00_" ID "-" SPAN "-01", -1 },
        { "00-" ID "0-0f067aa0ba902b7-01", -1 },
        { " 00-" ID "-" SPAN "-01", -1 },
        { "", -1 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct trace trace;
        char answer[TRACE_PARENT_MAX], wanted[TRACE_PARENT_MAX];
        trace_begin(&trace, &cases[i].text, 1);
        trace_print_parent(&trace, answer);
        assert_int_equal(strspn(trace.span, "0123456789abcdef"), 16);
        assert_string_not_equal(trace.span, SPAN);
        snprintf(wanted, sizeof wanted, "00-%s-%s-0%d", cases[i].flags < 0 ? trace.id : ID,
                 trace.span, cases[i].flags > 0);
        if (is_new(&trace) != (cases[i].flags < 0) || strcmp(answer, wanted) != 0)
            fail_msg("\"%s\" is answered \"%s\"", cases[i].text, answer);
    }
    struct trace trace;
    const char *two[] = { "00-" ID "-" SPAN "-01", "00-" ID "-" SPAN "-01" };
    trace_begin(&trace, two, 2);
    assert_true(is_new(&trace));
    trace_begin(&trace, NULL, 0);
    assert_true(is_new(&trace));
}

static void ids_differ(void **state) {
    (void)state;
    enum { MANY = 2000 };
    static struct trace traces[MANY];
    for (int i = 0; i < MANY; i++) {
        trace_begin(&traces[i], NULL, 0);
        for (int before = 0; before < i; before++) {
            assert_string_not_equal(traces[i].id, traces[before].id);
            assert_string_not_equal(traces[i].span, traces[before].span);
        }
    }
}

#define TEN     "a123456789"
#define HUNDRED TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN
#define K241    HUNDRED HUNDRED TEN TEN TEN TEN "a"
#define V250    HUNDRED HUNDRED TEN TEN TEN TEN TEN

static void states(void **state) {
    (void)state;
    static const char members[] =
        "a=1,b=1,c=1,d=1,e=1,f=1,g=1,h=1,i=1,j=1,k=1,l=1,m=1,n=1,o=1,p=1,"
        "q=1,r=1,s=1,t=1,u=1,v=1,w=1,x=1,y=1,z=1,aa=1,bb=1,cc=1,dd=1,ee=1,"
        "ff=1",
                      more[] =
                          "a=1,b=1,c=1,d=1,e=1,f=1,g=1,h=1,i=1,j=1,k=1,l=1,m=1,n=1,o=1,p=1,q=1,"
                          "r=1,s=1,t=1,u=1,v=1,w=1,x=1,y=1,z=1,aa=1,bb=1,cc=1,dd=1,ee=1,ff=1,"
                          "gg=1";
    static const struct {
        const char *lines[3], *answer;
    } cases[] = {
        { { "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE" },
          "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE" },
        { { "rojo=1", "congo=2" }, "rojo=1,congo=2" },
        { { "a_-*/9=!\"#$%&'()*+-./:;<>?@[]^_`{|}~ x" },
          "a_-*/9=!\"#$%&'()*+-./:;<>?@[]^_`{|}~ x" },
        { { "1tenant@vendor=x , b= y\t,,c=z" }, "1tenant@vendor=x , b= y\t,,c=z" },
        { { K241 "@vendor45678901=x" }, K241 "@vendor45678901=x" },
        { { members }, members },
        { { "a=" V250 ",b=" V250 ",c=1234" }, "a=" V250 ",b=" V250 ",c=1234" }, /* 512 bytes... */
        { { "a=" V250 ",b=" V250 ",c=12345" }, "" },                            /* ... and 513 */
        { { "a=" V250, "b=" V250, "c=12345" }, "" },
        { { K241 "a@vendor=x" }, "" },
        { { "tenant@vendor456789012=x" }, "" },
        { { more }, "" },
        { { "a=1,a=2" }, "" },
        { { "a=1", "a=2" }, "" },
        { { "A=1" }, "" },
        { { "1a=1" }, "" },
        { { "a@1b=1" }, "" },
        { { "@b=1" }, "" },
        { { "a@=1" }, "" },
        { { "a@b@c=1" }, "" },
        { { "a =1" }, "" },
        { { "a" }, "" },
        { { "=1" }, "" },
        { { "a=" }, "" },
        { { "a= " }, "" },
        { { "a=b=c" }, "" },
        { { "a=\x7f" }, "" },
        { { "a=\xc3\xa4" }, "" },
        { { "a=1,b" }, "" },
        { { "" }, "" },
        { { " , " }, "" },
        { { NULL }, "" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct trace trace = { .continued = true };
        char answer[TRACE_STATE_MAX];
        int count = 0;
        while (count < 3 && cases[i].lines[count]) count++;
        trace_join_state(&trace, cases[i].lines, count, answer);
        if (strcmp(answer, cases[i].answer) != 0)
            fail_msg("\"%s\" is answered \"%s\"", cases[i].lines[0], answer);
        trace.continued = false;
        trace_join_state(&trace, cases[i].lines, count, answer);
        assert_string_equal(answer, "");
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parents),
        cmocka_unit_test(ids_differ),
        cmocka_unit_test(states),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
