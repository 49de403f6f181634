// SPDX-License-Identifier: Apache-2.0
/* How it works. The header is read here (isobmff.h), and nothing of libavif sees a file before
 * that. libavif then finds the same picture in the file and has dav1d decode it, on this thread;
 * neither can be stopped, or reports how far it is. */
#include "pipeline/codecs/avif/codec.h"
#include "pipeline/codecs/avif/library.h"
#include "pipeline/codecs/common/isobmff_pixels.h"

#include <string.h>

/* av1C: a marker, the profile and level, and a byte of bits. */
enum { CONFIGURATION_BYTES = 3, HIGH_DEPTH = 1 << 6, TWELVE = 1 << 5, MONOCHROME = 1 << 4 };
enum { HALVED_X = 1 << 3, HALVED_Y = 1 << 2 };

/* A block of 128 x 128 in one colour takes some symbols, each of which may come to a two-hundredth
 * of a bit. libaom needs four times this for a picture of one colour. */
enum { PIXELS_A_BYTE = 1 << 20 };

bool is_avif(const uint8_t *bytes, size_t length) {
    return isobmff_is(bytes, length, "avifavis", "av01");
}

/* The probe keeps less than decoding needs. */
struct header {
    struct isobmff_picture picture;
    unsigned bits, quarters; /* a sample; samples of four pixels */
    bool gray;
};

static const char *read_avif_header(const uint8_t *bytes, size_t length, struct header *header) {
    const struct isobmff_picture *picture = &header->picture;
    const char *fault = isobmff_read(bytes, length, &header->picture);
    if (fault) return fault;
    if (strcmp(picture->codec, "av01") != 0) return "its picture is not coded as AV1";
    if (picture->configuration.length < CONFIGURATION_BYTES) return "its picture has no av1C";
    const uint8_t flags = bytes[picture->configuration.at + 2];
    header->bits = !(flags & HIGH_DEPTH) ? 8 : flags & TWELVE ? 12 : 10;
    header->gray = flags & MONOCHROME;
    header->quarters = 4 + (picture->alpha ? 4 : 0);
    if (!header->gray) header->quarters += flags & HALVED_Y ? 2 : flags & HALVED_X ? 4 : 8;
    if (picture->bits && picture->bits != header->bits)
        return "its pixi and its av1C differ in the bits of a sample";
    return NULL;
}

enum status avif_probe(const uint8_t *bytes, size_t length, struct probe *probe,
                       struct failure *failure) {
    struct header header;
    const struct isobmff_picture *picture = &header.picture;
    const char *fault = read_avif_header(bytes, length, &header);
    if (fault)
        return fail(failure, STATUS_CORRUPT,
                    "the AVIF is broken or cut off: %s; send an intact "
                    "file",
                    fault);
    const uint64_t least = (uint64_t)picture->width * picture->height / PIXELS_A_BYTE;
    probe->width = picture->across;
    probe->height = picture->down;
    probe->orientation = picture->orientation;
    probe->bits = (uint8_t)header.bits;
    probe->components = (uint8_t)((header.gray ? 1 : 3) + picture->alpha);
    probe->animated = picture->animated;
    probe->profile = picture->profile.length > 0;
    strcpy(probe->space, header.gray ? "gray" : "ycbcr");
    probe->shape.channels = probe->components;
    probe->shape.depth = header.bits > 8 ? 16 : 8;
    probe->data_bytes = picture->there_bytes;
    probe->data_bytes_least = picture->stated_bytes > least ? picture->stated_bytes : least;
    return STATUS_OK;
}

/* Heap bytes that PIXELS take, of which four have BYTES, measured with libavif 0.11 and dav1d 1.0
 * and rounded up. Tiles are copied. */
static uint64_t memory_of(uint64_t pixels, unsigned bytes, bool tiled) {
    return pixels * (5 * bytes + 8) / 16 * (tiled ? 2 : 1);
}

/* A crop has left half of the pixels, at least. */
uint64_t avif_decode_memory(const struct probe *probe) {
    const unsigned bytes = probe->bits > 8 ? 2 : 1;
    return memory_of(2 * image_pixels(&probe->shape), 4 * bytes * probe->components, true);
}

#ifdef BURIN_WITH_AVIF

static enum status broken(const struct decoding *decoding, const char *why) {
    return fail(decoding->failure, STATUS_CORRUPT,
                "the AVIF is broken or cut off (%s); send an intact file", why);
}

/* ---- pixels */

/* False: the picture that was decoded is not the one that the header describes. */
static bool describe(const avifImage *image, const struct header *header,
                     struct ycbcr_planes *planes) {
    const bool gray = image->yuvFormat == AVIF_PIXEL_FORMAT_YUV400;
    *planes = (struct ycbcr_planes){
        .width = image->width,
        .height = image->height,
        .bits = image->depth,
        .halved_x = image->yuvFormat == AVIF_PIXEL_FORMAT_YUV420 ||
                    image->yuvFormat == AVIF_PIXEL_FORMAT_YUV422,
        .halved_y = image->yuvFormat == AVIF_PIXEL_FORMAT_YUV420,
        .limited = image->yuvRange == AVIF_RANGE_LIMITED,
        .premultiplied = header->picture.premultiplied,
        .matrix = image->matrixCoefficients,
    };
    for (int p = 0; p < 3; p++) {
        if (p && gray) continue;
        planes->planes[p] = image->yuvPlanes[p];
        planes->strides[p] = image->yuvRowBytes[p];
    }
    if (header->picture.alpha) {
        planes->planes[3] = image->alphaPlane;
        planes->strides[3] = image->alphaRowBytes;
    }
    return image->width == header->picture.width && image->height == header->picture.height &&
           image->depth == header->bits && gray == header->gray && image->yuvPlanes[0] &&
           (gray || (image->yuvPlanes[1] && image->yuvPlanes[2])) &&
           !header->picture.alpha == !image->alphaPlane;
}

static enum status take_pixels(const struct decoding *decoding, const struct header *header,
                               const avifImage *image) {
    struct ycbcr_planes planes;
    if (!describe(image, header, &planes)) return broken(decoding, "its header contradicts it");
    return isobmff_pixels(decoding, &header->picture, &planes);
}

/* ---- libavif */

/* Its limits are those of the header, so it allocates no more than the picture takes. A file
 * without pixi is what older encoders write. */
static void configure(avifDecoder *decoder, const struct isobmff_picture *picture) {
    const uint64_t pixels = (uint64_t)picture->width * picture->height;
    decoder->codecChoice = avif_reads_by_dav1d() ? AVIF_CODEC_CHOICE_DAV1D : AVIF_CODEC_CHOICE_AUTO;
    decoder->maxThreads = 1;
    decoder->ignoreExif = decoder->ignoreXMP = AVIF_TRUE;
    if (pixels < decoder->imageSizeLimit) decoder->imageSizeLimit = (uint32_t)pixels;
    decoder->imageCountLimit = 1;
    decoder->strictFlags = AVIF_STRICT_DISABLED;
    avif.set_source(decoder, AVIF_DECODER_SOURCE_PRIMARY_ITEM);
}

static enum status read_avif(const struct decoding *decoding, const struct header *header,
                             avifDecoder *decoder) {
    configure(decoder, &header->picture);
    avifResult result = avif.set_memory(decoder, decoding->bytes, decoding->length);
    if (result == AVIF_RESULT_OK) result = avif.parse(decoder);
    const enum status stopped = progress_check(decoding->progress);
    if (stopped) return codec_stopped(stopped, decoding->failure);
    if (result == AVIF_RESULT_OK) result = avif.next_image(decoder);
    if (result != AVIF_RESULT_OK) return broken(decoding, avif.result_text(result));
    return take_pixels(decoding, header, decoder->image);
}

enum status avif_decode(const struct decoding *decoding) {
    const struct probe *probe = decoding->probe;
    const char *missing = avif_reading_missing();
    struct header header;
    if (missing) return fail(decoding->failure, STATUS_NOT_AN_IMAGE, "%s", missing);
    const char *fault = read_avif_header(decoding->bytes, decoding->length, &header);
    if (fault) return broken(decoding, fault);
    if (header.picture.across != probe->width || header.picture.down != probe->height ||
        (header.gray ? 1 : 3) + header.picture.alpha != probe->shape.channels ||
        (header.bits > 8 ? 16 : 8) != probe->shape.depth ||
        header.picture.orientation != probe->orientation)
        return broken(decoding, "its header contradicts itself");
    const uint64_t pixels = (uint64_t)header.picture.width * header.picture.height;
    const uint64_t memory =
        memory_of(pixels, header.quarters * (header.bits > 8 ? 2 : 1), header.picture.tiled);
    if (memory > decoding->limits->memory_max)
        return fail(decoding->failure, STATUS_TOO_LARGE,
                    "this AVIF takes %llu bytes to decode and %zu are allowed "
                    "(codec_memory_bytes); send a smaller one",
                    (unsigned long long)memory, decoding->limits->memory_max);
    avifDecoder *decoder = avif.decoder_create();
    if (!decoder) return fail(decoding->failure, STATUS_NO_MEMORY, "no memory for the AVIF codec");
    const enum status status = read_avif(decoding, &header, decoder);
    avif.decoder_destroy(decoder);
    return status;
}

#else

enum status avif_decode(const struct decoding *decoding) {
    return fail(decoding->failure, STATUS_NOT_AN_IMAGE, "%s", avif_reading_missing());
}

#endif
