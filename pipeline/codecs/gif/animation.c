// SPDX-License-Identifier: Apache-2.0
/* How it works. A frame is a still file of gif/encoder.c, whose parts come in another order: its
 * control with a delay, its descriptor with a palette of its own, its codes. Frames are whole
 * canvases; where pixels may be transparent, each is removed before the next. A delay is counted in
 * hundredths of a second from the beginning, so that rounding does not add up. */
#include "pipeline/animation_file.h"
#include "pipeline/codecs/gif/codec.h"

enum { CONTROL = 8, LOOP = 19, DELAY_MAX = 65535, REPEATS_MAX = 65535 };

bool gif_begin_animation(struct animation_file *file) {
    const uint32_t width = file->canvas->width, height = file->canvas->height;
    const uint32_t repeats = file->plays ? file->plays - 1 : 0;
    const uint8_t head[] = { 'G',
                             'I',
                             'F',
                             '8',
                             '9',
                             'a',
                             (uint8_t)width,
                             (uint8_t)(width >> 8),
                             (uint8_t)height,
                             (uint8_t)(height >> 8),
                             7 << 4,
                             0,
                             0 };
    uint8_t *at = animation_room(file, sizeof head);
    if (codec_carried(file->metadata, file->options, 0, file->notes).profile_length)
        *file->notes |= NOTE_PROFILE_DROPPED;
    if (!at) return false;
    memcpy(at, head, sizeof head);
    if (file->plays == 1) return true;
    at = animation_room(file, LOOP);
    if (!at) return false;
    memcpy(at, "!\xff\x0bNETSCAPE2.0\3\1", LOOP - 3);
    write_le16(at + LOOP - 3, repeats < REPEATS_MAX ? repeats : REPEATS_MAX);
    at[LOOP - 1] = 0;
    return true;
}

/* The hundredths of a second that begin after SHOWN_MS and last MS. */
static uint32_t delay_of(uint64_t shown_ms, uint32_t ms) {
    const uint64_t delay = (shown_ms + ms + 5) / 10 - (shown_ms + 5) / 10;
    return delay < DELAY_MAX ? (uint32_t)delay : DELAY_MAX;
}

bool gif_add_frame(struct animation_file *file, const uint8_t *frame, size_t length, uint32_t ms) {
    const unsigned size = frame[10] & 7;
    const uint8_t *behind = frame + GIF_FILE_HEAD + ((size_t)6 << size); /* its palette */
    const bool transparent = *behind == '!';
    const uint8_t *descriptor = behind + (transparent ? CONTROL : 0);
    const uint8_t *codes = descriptor + GIF_FRAME_HEAD;
    const size_t palette_bytes = (size_t)6 << size;
    const size_t code_bytes = (size_t)(frame + length - 1 - codes); /* without the trailer */
    uint8_t *at = animation_room(file, CONTROL + GIF_FRAME_HEAD + palette_bytes + code_bytes);
    if (!at) return false;
    const unsigned disposal = image_has_alpha(file->canvas) ? GIF_DISPOSE_TO_NOTHING : 1;
    memcpy(at, "!\xf9\4", 3);
    at[3] = (uint8_t)(disposal << 2 | transparent);
    write_le16(at + 4, delay_of(file->shown_ms, ms));
    at[6] = transparent ? behind[6] : 0;
    at[7] = 0;
    at += CONTROL;
    memcpy(at, descriptor, GIF_FRAME_HEAD);
    at[GIF_FRAME_HEAD - 1] = (uint8_t)(GIF_HAS_PALETTE | size);
    at += GIF_FRAME_HEAD;
    memcpy(at, frame + GIF_FILE_HEAD, palette_bytes);
    memcpy(at + palette_bytes, codes, code_bytes);
    return true;
}

bool gif_end_animation(struct animation_file *file) {
    uint8_t *at = animation_room(file, 1);
    if (at) *at = ';';
    return at != NULL;
}
