// SPDX-License-Identifier: Apache-2.0
/* How it works. Of a profile of curves and a matrix lcms2 reads these, and a second matrix leads to
 * sRGB. Any other's grid is converted by lcms2, corner by corner, to linear light of sRGB's
 * primaries, in floating point without clipping. The numbers are rounded once, and from there on
 * arithmetic is ops/srgb.h's. A camera's pictures have one profile, and so have groups of frames:
 * each thread keeps the last table, with all bytes of its profile, which must be the same. */
#include "pipeline/srgb_table.h"

#include "pipeline/ops/srgb.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <lcms2.h>

enum {
    ROW_BYTES = 4096,
    LIGHT_MAX = 8, /* either way; white is 1 */
    FLAGS = cmsFLAGS_BLACKPOINTCOMPENSATION | cmsFLAGS_NOOPTIMIZE | cmsFLAGS_NOCACHE,
};

static size_t corners(unsigned side) {
    return (size_t)side * side * side;
}

struct image srgb_table_shape(const struct image *shape) {
    const size_t numbers = 3 * ((size_t)image_max(shape) + 1) +
                           (image_colours(shape) == 3 ? 3 * corners(SRGB_SIDE_MAX) : 0);
    const size_t bytes = sizeof(struct srgb_table) + numbers * sizeof(int32_t);
    return image_shape(ROW_BYTES, (uint32_t)((bytes + ROW_BYTES - 1) / ROW_BYTES), 1, 8);
}

/* ---- profiles */

/* Straight curves and sRGB's primaries. */
static cmsHPROFILE linear_srgb(void) {
    const cmsCIExyY white = { 0.3127, 0.3290, 1 };
    const cmsCIExyYTRIPLE primaries = { { 0.64, 0.33, 1 }, { 0.30, 0.60, 1 }, { 0.15, 0.06, 1 } };
    cmsToneCurve *straight = cmsBuildGamma(NULL, 1);
    cmsToneCurve *const curves[3] = { straight, straight, straight };
    cmsHPROFILE profile = straight ? cmsCreateRGBProfile(&white, &primaries, curves) : NULL;
    cmsFreeToneCurve(straight);
    return profile;
}

static cmsHTRANSFORM to_linear(cmsHPROFILE profile, cmsUInt32Number format) {
    cmsHPROFILE linear = linear_srgb();
    cmsHTRANSFORM transform = linear ? cmsCreateTransform(profile, format, linear, TYPE_RGB_FLT,
                                                          INTENT_RELATIVE_COLORIMETRIC, FLAGS)
                                     : NULL;
    if (linear) cmsCloseProfile(linear);
    return transform;
}

/* Floating-point tables may have curves of as many segments as the file has room for, which lcms2
 * walks for each colour: minutes of a core. No other table of a profile takes so long. */
static bool is_slow(cmsHPROFILE profile) {
    return cmsIsTag(profile, cmsSigDToB0Tag) || cmsIsTag(profile, cmsSigDToB1Tag) ||
           cmsIsTag(profile, cmsSigDToB2Tag) || cmsIsTag(profile, cmsSigDToB3Tag);
}

/* Opens a profile of SPACE; NULL: it is none, or not one for colours of images. */
static cmsHPROFILE open_profile(const uint8_t *bytes, size_t length, cmsColorSpaceSignature space) {
    cmsHPROFILE profile =
        bytes && length ? cmsOpenProfileFromMem(bytes, (cmsUInt32Number)length) : NULL;
    if (!profile) return NULL;
    const cmsProfileClassSignature kind = cmsGetDeviceClass(profile);
    const bool shows = kind == cmsSigInputClass || kind == cmsSigDisplayClass ||
                       kind == cmsSigOutputClass || kind == cmsSigColorSpaceClass;
    if (shows && cmsGetColorSpace(profile) == space && !is_slow(profile)) return profile;
    cmsCloseProfile(profile);
    return NULL;
}

/* ---- numbers */

/* Light that is no number is 0. */
static int32_t light_of(double light) {
    const double clipped = fmin(fmax(light, -LIGHT_MAX), LIGHT_MAX);
    return isnan(light) ? 0 : (int32_t)floor(clipped * SRGB_ONE + 0.5);
}

static double within_1(double value) {
    return value > 0 ? fmin(value, 1) : 0; /* 0 where it is no number */
}

static double encoded(double light) {
    return light <= 0.0031308 ? 12.92 * light : 1.055 * pow(light, 1 / 2.4) - 0.055;
}

static void fill_encode(struct srgb_table *table) {
    for (int j = 0; j <= SRGB_ENCODE; j++)
        table->encode[j] = (uint16_t)floor(65535 * encoded((double)j / SRGB_ENCODE) + 0.5);
    table->encode[SRGB_ENCODE + 1] = table->encode[SRGB_ENCODE];
}

/* Places up to CELLS. CURVE: NULL for a straight one. */
static void fill_curve(const cmsToneCurve *curve, uint32_t levels, int cells, int32_t *places) {
    for (uint32_t v = 0; v < levels; v++) {
        const double at = (double)v / (levels - 1);
        const double to = curve ? within_1((double)cmsEvalToneCurveFloat(curve, (float)at)) : at;
        places[v] = (int32_t)floor(to * cells * SRGB_ONE + 0.5);
    }
}

/* A profile of three curves and a matrix needs no transform of lcms2's. */
static bool is_matrix(cmsHPROFILE profile) {
    return cmsIsMatrixShaper(profile) && cmsGetPCS(profile) == cmsSigXYZData &&
           !cmsIsCLUT(profile, INTENT_RELATIVE_COLORIMETRIC, LCMS_USED_AS_INPUT);
}

/* Its columns are the primaries' colours under D50. */
static bool fill_matrix(cmsHPROFILE profile, uint32_t levels, int32_t *numbers) {
    static const cmsTagSignature primaries[3] = { cmsSigRedColorantTag, cmsSigGreenColorantTag,
                                                  cmsSigBlueColorantTag };
    static const cmsTagSignature curves[3] = { cmsSigRedTRCTag, cmsSigGreenTRCTag,
                                               cmsSigBlueTRCTag };
    /* Colours under D50 to light of sRGB: its primaries and D65, adapted by Bradford. */
    static const double to_srgb[3][3] = {
        { 3.13418636423682, -1.6172089589982754, -0.490694064006384 },
        { -0.9787485041906939, 1.9161300967735868, 0.03343339915999548 },
        { 0.07196392780224675, -0.2289938734532032, 1.4057537328964442 }
    };
    int32_t *matrix = numbers + (size_t)3 * levels;
    for (size_t p = 0; p < 3; p++) {
        const cmsCIEXYZ *primary = cmsReadTag(profile, primaries[p]);
        const cmsToneCurve *curve = cmsReadTag(profile, curves[p]);
        if (!primary || !curve) return false;
        fill_curve(curve, levels, 1, numbers + p * levels);
        for (size_t c = 0; c < 3; c++)
            matrix[3 * p + c] = light_of(to_srgb[c][0] * primary->X + to_srgb[c][1] * primary->Y +
                                         to_srgb[c][2] * primary->Z);
    }
    return true;
}

/* A row of corners at a time. */
static bool fill_grid(cmsHPROFILE profile, uint32_t levels, int32_t *numbers) {
    float in[3 * SRGB_SIDE_MAX], out[3 * SRGB_SIDE_MAX];
    const int side = SRGB_SIDE_MAX;
    int32_t *grid = numbers + (size_t)3 * levels;
    cmsHTRANSFORM transform = to_linear(profile, TYPE_RGB_FLT);
    if (!transform) return false;
    for (size_t c = 0; c < 3; c++) fill_curve(NULL, levels, side - 1, numbers + c * levels);
    for (int row = 0; row < side * side; row++, grid += 3 * side) {
        for (int z = 0; z < side; z++) {
            in[3 * z] = (float)(row / side) / (float)(side - 1);
            in[3 * z + 1] = (float)(row % side) / (float)(side - 1);
            in[3 * z + 2] = (float)z / (float)(side - 1);
        }
        cmsDoTransform(transform, in, out, (cmsUInt32Number)side);
        for (int i = 0; i < 3 * side; i++) grid[i] = light_of((double)out[i]);
    }
    cmsDeleteTransform(transform);
    return true;
}

static bool fill_gray(cmsHPROFILE profile, uint32_t levels, int32_t *numbers) {
    cmsHTRANSFORM transform = to_linear(profile, TYPE_GRAY_FLT);
    if (!transform) return false;
    for (uint32_t v = 0; v < levels; v++) {
        const float in = (float)v / (float)(levels - 1);
        float out[3];
        cmsDoTransform(transform, &in, out, 1);
        numbers[v] = (int32_t)floor((levels - 1) * encoded(within_1((double)out[1])) + 0.5);
    }
    cmsDeleteTransform(transform);
    return true;
}

static bool make(const uint8_t *bytes, size_t length, const struct image *shape,
                 const struct image *into) {
    struct srgb_table *table = (void *)into->pixels;
    int32_t *numbers = (void *)(table + 1);
    const bool colour = image_colours(shape) == 3;
    cmsHPROFILE profile = open_profile(bytes, length, colour ? cmsSigRgbData : cmsSigGrayData);
    memset(table, 0, image_bytes(into));
    table->levels = (int32_t)image_max(shape) + 1;
    if (!profile) return false;
    fill_encode(table);
    const uint32_t levels = (uint32_t)table->levels;
    int32_t side = SRGB_GRAY;
    if (colour) side = is_matrix(profile) ? SRGB_MATRIX : SRGB_SIDE_MAX;
    const bool good = side == SRGB_GRAY     ? fill_gray(profile, levels, numbers)
                      : side == SRGB_MATRIX ? fill_matrix(profile, levels, numbers)
                                            : fill_grid(profile, levels, numbers);
    table->side = good ? side : SRGB_VOID;
    cmsCloseProfile(profile);
    return good;
}

/* ---- the last table of a thread */

enum { KEPT_PROFILE_MAX = 1 << 20 };

/* One block of heap, which its thread's end frees. */
struct kept {
    size_t length, table_bytes;
    bool colour, good;
    int32_t levels;
    uint8_t bytes[]; /* of the table as far as it is used, then of the profile */
};

static pthread_key_t kept_key;
static bool keeps; /* there is such a key */

static void make_key(void) {
    keeps = pthread_key_create(&kept_key, free) == 0;
}

static struct kept *kept_here(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_key);
    return keeps ? pthread_getspecific(kept_key) : NULL;
}

static size_t used_bytes(const struct srgb_table *table) {
    const size_t levels = (size_t)table->levels;
    const size_t numbers = table->side == SRGB_VOID     ? 0
                           : table->side == SRGB_GRAY   ? levels
                           : table->side == SRGB_MATRIX ? 3 * levels + 9
                                                        : 3 * levels + 3 * corners(SRGB_SIDE_MAX);
    return sizeof *table + numbers * sizeof(int32_t);
}

void srgb_table_forget(void) {
    free(kept_here());
    if (keeps) pthread_setspecific(kept_key, NULL);
}

static void keep(const uint8_t *profile, size_t length, bool colour, bool good,
                 const struct srgb_table *table) {
    const size_t bytes = used_bytes(table);
    srgb_table_forget();
    struct kept *kept = length <= KEPT_PROFILE_MAX ? malloc(sizeof *kept + bytes + length) : NULL;
    if (!kept) return;
    *kept = (struct kept){ length, bytes, colour, good, table->levels };
    memcpy(kept->bytes, table, bytes);
    memcpy(kept->bytes + bytes, profile, length);
    if (!keeps || pthread_setspecific(kept_key, kept)) free(kept);
}

bool srgb_table_make(const uint8_t *profile, size_t length, const struct image *shape,
                     const struct image *into) {
    const struct kept *kept = kept_here();
    const bool colour = image_colours(shape) == 3;
    if (!profile || !length) return make(NULL, 0, shape, into);
    if (kept && kept->length == length && kept->colour == colour &&
        kept->levels == (int32_t)image_max(shape) + 1 &&
        !memcmp(kept->bytes + kept->table_bytes, profile, length)) {
        memset(into->pixels, 0, image_bytes(into));
        memcpy(into->pixels, kept->bytes, kept->table_bytes);
        return kept->good;
    }
    const bool good = make(profile, length, shape, into);
    keep(profile, length, colour, good, (const void *)into->pixels);
    return good;
}

/* ---- CMYK */

/* The type is incomplete elsewhere: a row's transform is lcms2's handle. */
struct cmyk_rows *cmyk_rows_open(const uint8_t *bytes, size_t length) {
    cmsHPROFILE profile = open_profile(bytes, length, cmsSigCmykData), srgb = NULL;
    cmsHTRANSFORM transform = NULL;
    if (profile) srgb = cmsCreate_sRGBProfile();
    if (srgb)
        transform = cmsCreateTransform(profile, TYPE_CMYK_8_REV, srgb, TYPE_RGB_8,
                                       INTENT_RELATIVE_COLORIMETRIC,
                                       cmsFLAGS_BLACKPOINTCOMPENSATION | cmsFLAGS_NOCACHE);
    if (srgb) cmsCloseProfile(srgb);
    if (profile) cmsCloseProfile(profile);
    return transform;
}

void cmyk_rows_convert(const struct cmyk_rows *rows, const uint8_t *cmyk, uint32_t width,
                       uint8_t *rgb) {
    cmsDoTransform((cmsHTRANSFORM)rows, cmyk, rgb, width);
}

void cmyk_rows_close(struct cmyk_rows *rows) {
    if (rows) cmsDeleteTransform(rows);
}
