// SPDX-License-Identifier: Apache-2.0
/* resize_scene.cuh - pictures for the ladder of resize: drawn, in sets that no cache holds, with
 * the result that the CPU's operator gives.
 *
 * Used by:  resize.cu; to be included behind the operator and measure.cuh.
 * Owns:     device memory that main() has asked for; reference() the host's.
 * Fails:    the program ends with a sentence.
 */
#ifndef BURIN_RESIZE_SCENE_CUH
#define BURIN_RESIZE_SCENE_CUH

#include <cstring>

enum { SETS_MAX = 64, BATCH_MOST = 32 };

struct kind {
    const char *name;
    uint32_t width, height;
    unsigned channels, depth;
    const char *text; /* of the plan */
    bool plain;       /* the textbook has it */
};

static const struct kind kinds[] = {
    { "4K to 320x180", 3840, 2160, 3, 8, "resize:width=320,height=180", true },
    { "1080p to 320x180", 1920, 1080, 3, 8, "resize:width=320,height=180", true },
    { "1080p to 960x540", 1920, 1080, 3, 8, "resize:width=960,height=540", true },
    { "12 MP to 1024x768", 4000, 3000, 3, 8, "resize:width=1024,height=768", true },
    { "67 MP to 1024x1024", 8192, 8192, 3, 8, "resize:width=1024,height=1024", true },
    { "540p to 1080p", 960, 540, 3, 8, "resize:width=1920,height=1080", true },
    { "gray 1080p to 320", 1920, 1080, 1, 8, "resize:width=320", true },
    { "RGBA 4K to 320", 3840, 2160, 4, 8, "resize:width=320", false },
    { "RGBA 1080p to 960", 1920, 1080, 4, 8, "resize:width=960", false },
    { "RGBA 1080p to 320", 1920, 1080, 4, 8, "resize:width=320", false },
    { "RGBA 12 MP", 4000, 3000, 4, 8, "resize:width=1024,height=768", false },
    { "LA 1080p to 320", 1920, 1080, 2, 8, "resize:width=320", false },
    { "RGB 16 bit to 320", 1920, 1080, 3, 16, "resize:width=320", false },
    { "linear 1080p to 320", 1920, 1080, 3, 8, "resize:width=320,linear=true", false },
    { "cubic 1080p to 320", 1920, 1080, 3, 8, "resize:width=320,kernel=cubic", true },
    { "nearest to 320", 1920, 1080, 3, 8, "resize:width=320,kernel=nearest", false },
    { "smart to 300x300", 1920, 1080, 3, 8, "resize:width=300,height=300,position=smart", false },
    { "contain 500x500", 1920, 1080, 3, 8, "resize:width=500,height=500,fit=contain", false },
};

/* Noise, a gradient, and black and white stripes. */
static void draw(const struct image &image, uint32_t seed) {
    uint32_t state = seed;
    const size_t row = image_row_bytes(&image);
    for (uint32_t y = 0; y < image.height; y++)
        for (size_t i = 0; i < row; i++) {
            const uint32_t noise = noise_next(&state) >> 24;
            const uint8_t striped = (i / 97 + y / 41) % 2 ? 255 : 0;
            image_row(&image, y)[i] = (uint8_t)((i + y) % 1000 < 300 ? noise
                                                : y % 300 < 100      ? striped
                                                                     : i * 3 / 8 + y);
        }
}

struct scene {
    struct cuda_context context;
    const struct kind *kind;
    struct plan plan;
    struct image in, out; /* shapes */
    int batch, sets;      /* images of a batch; sets of `batch` images */
    uint8_t *memory, *scratch, *expected;
    size_t in_bytes, out_bytes, scratch_bytes, memory_bytes;
    uint32_t *wrong;
};

static uint8_t *in_of(const struct scene &scene, int set, int i) {
    return scene.memory + ((size_t)set * scene.batch + i) * (scene.in_bytes + scene.out_bytes);
}

static uint8_t *out_of(const struct scene &scene, int set, int i) {
    return in_of(scene, set, i) + scene.in_bytes;
}

static size_t rounded(size_t bytes) {
    return (bytes + 255) / 256 * 256;
}

static std::vector<uint8_t> reference(const struct scene &scene, const struct image &in) {
    std::vector<uint8_t> result(image_bytes(&scene.out));
    struct failure failure = {};
    struct op_call call = {};
    call.op = &op_resize;
    call.params = &scene.plan.steps[0].params;
    call.in = in;
    call.out = scene.out;
    call.out.pixels = result.data();
    call.failure = &failure;
    call.scratch = aligned_alloc(256, rounded(op_resize.scratch(&call) + 1));
    if (op_resize.run(&call)) fprintf(stderr, "reference: %s\n", failure.message);
    free(call.scratch);
    return result;
}

/* Shapes, and the same picture in every place. */
static bool prepare(struct scene &scene, const struct kind &kind, int batch) {
    struct failure failure = {};
    scene.kind = &kind;
    scene.batch = batch;
    scene.plan = {};
    scene.in = image_shape(kind.width, kind.height, kind.channels, kind.depth);
    if (plan_parse(&scene.plan, kind.text, &failure) ||
        op_resize.size(&scene.plan.steps[0].params, &scene.in, &scene.out, &failure)) {
        fprintf(stderr, "%s: %s\n", kind.text, failure.message);
        exit(1);
    }
    scene.in_bytes = rounded(image_bytes(&scene.in));
    scene.out_bytes = rounded(image_bytes(&scene.out));
    const size_t set = batch * (scene.in_bytes + scene.out_bytes);
    if (set > scene.memory_bytes) return false;
    scene.sets = (int)std::min<size_t>(SETS_MAX, 1 + COLD_BYTES / set);
    scene.sets = (int)std::min<size_t>(scene.sets, scene.memory_bytes / set);
    std::vector<uint8_t> memory(scene.in_bytes);
    struct image in = scene.in;
    in.pixels = memory.data();
    draw(in, 1);
    for (int s = 0; s < scene.sets; s++)
        for (int i = 0; i < batch; i++)
            TRY(cudaMemcpy(in_of(scene, s, i), memory.data(), scene.in_bytes,
                           cudaMemcpyHostToDevice));
    const std::vector<uint8_t> result = reference(scene, in);
    TRY(cudaMemcpy(scene.expected, result.data(), result.size(), cudaMemcpyHostToDevice));
    return true;
}

static void make_calls(const struct scene &scene, int set, struct op_call *calls,
                       struct failure *failure) {
    for (int i = 0; i < scene.batch; i++) {
        calls[i] = {};
        calls[i].op = &op_resize;
        calls[i].params = &scene.plan.steps[0].params;
        calls[i].in = scene.in, calls[i].in.pixels = in_of(scene, set, i);
        calls[i].out = scene.out, calls[i].out.pixels = out_of(scene, set, i);
        calls[i].failure = failure;
    }
    calls[0].scratch = scene.scratch;
    calls[0].scratch_bytes = scene.scratch_bytes;
}

#endif
