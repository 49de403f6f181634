// SPDX-License-Identifier: Apache-2.0
#include "pipeline/codecs/avif/library.h"

#ifdef BURIN_WITH_AVIF

#include "pipeline/shared_library.h"

#include <pthread.h>

/* The version whose header the program was built with; its interface may differ from later ones. */
#if AVIF_VERSION < 1000000
#define SONAME  "libavif.so.15"
#define PACKAGE "libavif15"
#else
#define SONAME  "libavif.so.16"
#define PACKAGE "libavif16"
#endif

struct avif_library avif;

static const char *missing, *missing_to_read;
static bool reads_by_dav1d;
static pthread_once_t loaded = PTHREAD_ONCE_INIT;

static void load(void) {
    static const char *const names[] = { SONAME };
    const struct shared_symbol symbols[] = {
        { "avifCodecName", &avif.codec_name },
        { "avifImageCreateEmpty", &avif.image_create },
        { "avifImageDestroy", &avif.image_destroy },
        { "avifImageSetProfileICC", &avif.set_profile },
        { "avifEncoderCreate", &avif.encoder_create },
        { "avifEncoderSetCodecSpecificOption", &avif.set_option },
        { "avifEncoderWrite", &avif.encoder_write },
        { "avifEncoderDestroy", &avif.encoder_destroy },
        { "avifRWDataFree", &avif.data_free },
        { "avifResultToString", &avif.result_text },
        { "avifDecoderCreate", &avif.decoder_create },
        { "avifDecoderDestroy", &avif.decoder_destroy },
        { "avifDecoderSetSource", &avif.set_source },
        { "avifDecoderSetIOMemory", &avif.set_memory },
        { "avifDecoderParse", &avif.parse },
        { "avifDecoderNextImage", &avif.next_image },
    };
    void *library = shared_library_open(names, 1);
    const bool found =
        library && shared_library_find(library, symbols, sizeof symbols / sizeof *symbols);
    reads_by_dav1d = found && avif.codec_name(AVIF_CODEC_CHOICE_DAV1D, AVIF_CODEC_FLAG_CAN_DECODE);
    if (!library) {
        missing = "there is no " SONAME " on this machine, which writes AVIF: install " PACKAGE
                  ", or ask for another type";
        missing_to_read =
            "there is no " SONAME " on this machine, which reads AVIF: install " PACKAGE
            ", or send another type";
        return;
    }
    if (!found || !avif.codec_name(AVIF_CODEC_CHOICE_AOM, AVIF_CODEC_FLAG_CAN_ENCODE))
        missing =
            "the " SONAME " of this machine cannot write AVIF by libaom; ask for another type";
    if (!found || !avif.codec_name(AVIF_CODEC_CHOICE_AUTO, AVIF_CODEC_FLAG_CAN_DECODE))
        missing_to_read = "the " SONAME " of this machine cannot read AVIF; send another type";
}

const char *avif_library_missing(void) {
    pthread_once(&loaded, load);
    return missing;
}

const char *avif_reading_missing(void) {
    pthread_once(&loaded, load);
    return missing_to_read;
}

bool avif_reads_by_dav1d(void) {
    pthread_once(&loaded, load);
    return reads_by_dav1d;
}

#else

const char *avif_library_missing(void) {
    return "this Burin was built without AVIF: install libavif-dev and build it again, or ask for "
           "another type";
}

const char *avif_reading_missing(void) {
    return "this Burin was built without AVIF: install libavif-dev and build it again, or send "
           "another type";
}

bool avif_reads_by_dav1d(void) {
    return false;
}

#endif
