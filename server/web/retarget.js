// A picture in every width, of its map of seams: map[i] is n where the n-th seam takes pixel i,
// and 0 where none does. k seams fewer: the pixels without the first k seams. k more: behind each
// pixel of the first k seams stands the rounded mean of its left neighbour, itself and its right
// one, as the daemon has it (carve_mean() in pipeline/ops/carve/definition.h).
// Pixels are words of 32 bits whose bytes are red, green, blue, alpha, in whatever order this
// machine has bytes. Nothing here is of the page: decoder.js makes plans, live_picture.js rows.

const NEVER = 0xffff; // later than any seam

/** Sample CHANNEL, of red, green, blue, alpha, as a place among CHANNELS; -1: it is opaque. */
function placeOf(channel, channels) {
    if (channel === 3) return channels % 2 ? -1 : channels - 1;
    return channels < 3 ? 0 : channel;
}

/** One of the four samples of all pixels, and of all that may be inserted. */
function fillChannel({ width, height, channels, depth, samples }, channel, { pixels, inserted }) {
    const place = placeOf(channel, channels);
    const shift = depth - 8;
    for (let y = 0, i = 0; y < height; y++) {
        for (let x = 0; x < width; x++, i++) {
            const at = i * channels + place;
            const left = samples[x ? at - channels : at];
            const right = samples[x + 1 < width ? at + channels : at];
            const sum = left + samples[at] + right;
            pixels[4 * i + channel] = place < 0 ? 255 : samples[at] >> shift;
            inserted[4 * i + channel] = place < 0 ? 255 : ((2 * sum + 3) / 6) >> shift;
        }
    }
}

/**
 * SOURCE and MAP as png.js reads them, of the same size. Of 16 bits the upper eight are shown. The
 * plan: { width, height, most, pixels, inserted, order }, where MOST is the number of seams.
 */
export function makePlan(source, map) {
    const { width, height } = source;
    if (map.width !== width || map.height !== height || map.channels !== 1 || map.depth !== 16)
        throw new Error('the map of seams is not of this picture');
    const pixels = new Uint32Array(width * height);
    const inserted = new Uint32Array(width * height);
    const bytes = [pixels, inserted].map((words) => new Uint8Array(words.buffer));
    for (let channel = 0; channel < 4; channel++)
        fillChannel(source, channel, { pixels: bytes[0], inserted: bytes[1] });
    const order = map.samples.map((number) => number || NEVER);
    const most = map.samples.subarray(0, width).reduce((all, number) => Math.max(all, number), 0);
    return { width, height, most, pixels, inserted, order };
}

/**
 * The pixels in WIDTH, which differs by MOST at most, into OUT, which has a word more than they
 * need. No branch: whether a pixel stays is hard to foresee.
 */
export function retarget({ width: whole, pixels, inserted, order }, width, out) {
    const seams = Math.abs(width - whole);
    let to = 0;
    if (width <= whole) {
        for (let i = 0; i < pixels.length; i++) {
            out[to] = pixels[i];
            to += (seams - order[i]) >>> 31;
        }
        return;
    }
    for (let i = 0; i < pixels.length; i++) {
        out[to] = pixels[i];
        out[to + 1] = inserted[i];
        to += 2 - ((seams - order[i]) >>> 31);
    }
}
