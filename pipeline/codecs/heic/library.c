// SPDX-License-Identifier: Apache-2.0
#include "pipeline/codecs/heic/library.h"

#ifdef BURIN_WITH_HEIC

#include "pipeline/shared_library.h"

#include <pthread.h>

#define SONAME "libde265.so.0"

struct de265_library de265;

static const char *missing;
static pthread_once_t loaded = PTHREAD_ONCE_INIT;

static void load(void) {
    static const char *const names[] = { SONAME };
    const struct shared_symbol symbols[] = {
        { "de265_init", &de265.init },
        { "de265_new_decoder", &de265.new_decoder },
        { "de265_free_decoder", &de265.free_decoder },
        { "de265_set_image_allocation_functions", &de265.set_allocation },
        { "de265_set_image_plane", &de265.set_plane },
        { "de265_set_parameter_bool", &de265.set_parameter },
        { "de265_push_NAL", &de265.push_unit },
        { "de265_flush_data", &de265.flush },
        { "de265_decode", &de265.decode },
        { "de265_get_warning", &de265.warning },
        { "de265_get_error_text", &de265.error_text },
        { "de265_get_next_picture", &de265.next_picture },
        { "de265_get_image_plane", &de265.plane },
        { "de265_get_image_width", &de265.width },
        { "de265_get_image_height", &de265.height },
        { "de265_get_bits_per_pixel", &de265.bits },
        { "de265_get_chroma_format", &de265.chroma },
        { "de265_get_image_full_range_flag", &de265.full_range },
        { "de265_get_image_colour_primaries", &de265.primaries },
        { "de265_get_image_matrix_coefficients", &de265.matrix },
    };
    void *library = shared_library_open(names, 1);
    if (!library)
        missing = "there is no " SONAME " on this machine, which reads HEIC: install libde265-0, "
                  "or send another type";
    else if (!shared_library_find(library, symbols, sizeof symbols / sizeof *symbols) ||
             de265.init() != DE265_OK) /* tables that all decoders share */
        missing = "the " SONAME " of this machine cannot read HEIC; send another type";
}

const char *heic_reading_missing(void) {
    pthread_once(&loaded, load);
    return missing;
}

#else

const char *heic_reading_missing(void) {
    return "this Burin was built without HEIC: install libde265-dev and build it again, or send "
           "another type";
}

#endif
