// SPDX-License-Identifier: Apache-2.0
/* blurhash against the published encoders, and by hand. tests/reference/test_placeholders.py has
 * photographs, and both encoders themselves.
 * covers: pipeline/ops/placeholder.h */
#include "tests/pipeline/ops/hashes.h"

/* One component is the mean: 16777215 = ((29 83 + 28) 83 + 30) 83 + 10, digits T, S, U, A; 0 and 0
 * before it are one component each way, and no variation. */
static void by_hand(void **state) {
    (void)state;
    uint8_t gray[HASH_SIDE * 3];
    memset(gray, 255, sizeof gray);
    check_hash_gray("blurhash:components=1x1", HASH_SIDE, 3, gray, "00TSUA");
    /* 1 + 9 2 = 19 is J; a variation of none is 9 361 + 9 19 + 9 = 3429 = 41 83 + 26: f, Q. */
    memset(gray, 0, sizeof gray);
    check_hash_gray("blurhash:components=2x3", HASH_SIDE, 3, gray, "J00000fQfQfQfQfQ");
    check_hash_gray("blurhash:components=1x1", 3, HASH_SIDE, gray, "000000");
    /* Black and white columns: half of the light is 187.516 of 255, rounded to 188: 188 65793 =
     * ((21 83 + 52) 83 + 40) 83 + 9, digits L, q, e, 9. */
    for (int i = 0; i < HASH_SIDE * 3; i++) gray[i] = i % 2 ? 255 : 0;
    check_hash_gray("blurhash:components=1x1", HASH_SIDE, 3, gray, "00Lqe9");
}

/* Debian's python3-blurhash 1.1.4, which is the published C: encode(file, across, down). */
static void as_published(void **state) {
    (void)state;
    check_hash("blurhash", 32, 32, 3, "LbHxd51KIa#FRmIX+xJ9Ntw]W-bX");
    check_hash("blurhash:components=9x9", 32, 32, 3,
               "|bHxd51KIa#FIqs.Xko{VuRmIX+xJ9t4kkS|rIVvNtw]W-bXs+NtrsR+oukEjbWVsCS1slW?k9n$WDj]"
               "jbbYjck9WYo3R*s.WUf5k7jFbEoIWnj=a$ayoKa$k9e.bujHjYogbHa#j]fSaxjdbIj?adbEj=aefhk8"
               "axjZa{");
    check_hash("blurhash:components=2x5", 32, 32, 3, "bbHxd51KRmIXNtw]kEjbWDj]");
    check_hash("blurhash", 32, 20, 3, "LpHUw#10m?nBS5V[r?SeS4soWoob");
    check_hash("blurhash", 13, 32, 3, "LPBOXIDIaxt*8%rtk*VenNk$eTkj");
}

/* The same encoder's texts of the picture laid over white, or over another colour, by numpy. */
static void as_published_over_a_background(void **state) {
    (void)state;
    check_hash("blurhash", 32, 32, 4, "LtL;dL0fItrdRRM}w1WDWUo0fhbX");
    check_hash("blurhash:components=2x5", 32, 32, 4, "btL;dL0fRRM}WUo0ogafayfR");
    check_hash("blurhash", 32, 20, 4, "L*LEB50fRUnAWYRknjWoWXjubFj?");
    check_hash("blurhash", 13, 32, 4, "LTE;4X4bRkt+8$n7pBVeiwk%iwf|");
    check_hash("blurhash:background=1080f0", 32, 32, 4, "LM9Sc8j8Ibm]RQR7n7aNWTjrk8bW");
}

/* The npm package blurhash 2.0.5, encode(pixels, width, height, across, down), agrees with the C
 * where the largest variation is positive. */
static void as_published_for_node(void **state) {
    (void)state;
    check_hash("blurhash:components=1x1", 32, 32, 3, "00Hxd5");
    check_hash("blurhash", 32, 1, 3, "L~E{O=9wrYWC_49wrYWC_49wrYWC");
    check_hash("blurhash:components=2x5", 1, 32, 3, "b~6Ss?t:R8R8k3k3a%a%fUfU");
}

/* Dark on the left: the largest variation is negative. The npm package finds a smaller one, and
 * says LDH2cr00~qM{%MM{ofayfQfQfQfQ; the C says this. */
static void a_negative_variation_may_be_the_largest(void **state) {
    (void)state;
    uint8_t gray[32 * 20];
    for (int i = 0; i < 32 * 20; i++) gray[i] = (uint8_t)(8 * (i % 32));
    check_hash_gray("blurhash", 32, 20, gray, "LxH2cr00xuWBt7WBj[fQfQfQfQfQ");
}

static void every_shape(void **state) {
    (void)state;
    check_values_against("blurhash", hash_expected);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_hand),
        cmocka_unit_test(as_published),
        cmocka_unit_test(as_published_over_a_background),
        cmocka_unit_test(as_published_for_node),
        cmocka_unit_test(a_negative_variation_may_be_the_largest),
        cmocka_unit_test(every_shape),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
