// Makes every width of a picture from its map of seams: map[i] is n if the n-th seam contains pixel
// i, and 0 if none does. k columns fewer: the pixels of the first k seams are left out. k more:
// each pixel of the first k seams is followed by the rounded mean of its left neighbour, itself and
// its right neighbour, where colours weigh by alpha, as in the daemon (carve_mean_weighed() in
// pipeline/ops/carve/definition.h). Pixels are words of 32 bits whose bytes are red, green, blue,
// alpha in memory. Does not depend on the page: decoder.js makes plans, live_picture.js rows.

const NEVER = 0xffff; // later than any seam

/** The index of CHANNEL (red, green, blue, alpha) among CHANNELS; -1: the picture is opaque. */
function placeOf(channel, channels) {
    if (channel === 3) return channels % 2 ? -1 : channels - 1;
    return channels < 3 ? 0 : channel;
}

/** The mean of three samples, weighed by those TOALPHA behind them; 0: all the same. */
function mean(samples, left, at, right, toAlpha) {
    let a = 1, b = 1, c = 1;
    if (toAlpha) [a, b, c] = [samples[left + toAlpha], samples[at + toAlpha], samples[right + toAlpha]];
    if (a + b + c === 0) a = b = c = 1;
    const weight = a + b + c;
    return Math.floor(
        (samples[left] * a + samples[at] * b + samples[right] * c + (weight >> 1)) / weight);
}

/** Fills in one of the four samples of all pixels, and of all that may be inserted. */
function fillChannel({ width, height, channels, depth, samples }, channel, { pixels, inserted }) {
    const place = placeOf(channel, channels);
    const shift = depth - 8;
    const toAlpha = channels % 2 ? 0 : channels - 1 - place;
    for (let y = 0, i = 0; y < height; y++) {
        for (let x = 0; x < width; x++, i++) {
            const at = i * channels + place;
            const left = x ? at - channels : at, right = x + 1 < width ? at + channels : at;
            pixels[4 * i + channel] = place < 0 ? 255 : samples[at] >> shift;
            inserted[4 * i + channel] = place < 0 ? 255 : mean(samples, left, at, right, toAlpha) >> shift;
        }
    }
}

/**
 * SOURCE and MAP are of png.js, and have the same size. Of 16 bits the upper eight are shown.
 * Returns the plan { width, height, most, pixels, inserted, order }; most: the number of seams.
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
 * Writes the picture in WIDTH, which differs by at most `most`, into OUT, which has room for one
 * more word. Without a branch, since it could not be predicted whether a pixel stays.
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
