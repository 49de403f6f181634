// Reads the samples of a PNG that the daemon wrote: 8 or 16 bits, not interlaced, without a
// palette. A canvas would return 8 bits, multiplied by alpha. Does not depend on the page:
// decoder.js and the tests use it.

const CHANNELS = { 0: 1, 2: 3, 4: 2, 6: 4 }; // by colour type
const text = new TextDecoder('latin1');

/**
 * Returns { width, height, channels, depth } from IHDR, the first chunk. BUFFER: an ArrayBuffer.
 */
export function pngHead(buffer) {
    const view = new DataView(buffer);
    const [depth, colour, , , interlaced] = new Uint8Array(buffer, 24, 5);
    if (view.getUint32(0) !== 0x89504e47 || !CHANNELS[colour] || depth < 8 || interlaced)
        throw new Error('this PNG is not as the daemon writes them');
    return {
        width: view.getUint32(16),
        height: view.getUint32(20),
        channels: CHANNELS[colour],
        depth,
    };
}

/** Returns the bodies of all IDAT chunks. */
function packedParts(buffer) {
    const view = new DataView(buffer);
    const parts = [];
    for (let at = 8; at + 12 <= buffer.byteLength;) {
        const length = view.getUint32(at);
        const body = new Uint8Array(buffer, at + 8, length);
        if (text.decode(new Uint8Array(buffer, at + 4, 4)) === 'IDAT') parts.push(body);
        at += 12 + length;
    }
    return parts;
}

async function inflated(parts) {
    const stream = new Blob(parts).stream().pipeThrough(new DecompressionStream('deflate'));
    return new Uint8Array(await new Response(stream).arrayBuffer());
}

function paeth(left, above, corner) {
    const toLeft = Math.abs(above - corner);
    const toAbove = Math.abs(left - corner);
    const toCorner = Math.abs(left + above - 2 * corner);
    if (toLeft <= toAbove && toLeft <= toCorner) return left;
    return toAbove <= toCorner ? above : corner;
}

/** The filters: the number to add to a byte, from the bytes LEFT, ABOVE, and above the left one. */
const filters = [
    () => 0,
    (left) => left,
    (_left, above) => above,
    (left, above) => (left + above) >> 1,
    paeth,
];

/** Reads rows of LENGTH bytes, each after the number of its filter; SIZE: bytes per pixel. */
function unfiltered(bytes, height, length, size) {
    const out = new Uint8Array(height * length);
    for (let y = 0, from = 0, to = 0; y < height; y++) {
        const add = filters[bytes[from++]];
        if (!add) throw new Error('this PNG is damaged');
        unfilterRow({ bytes, from, out, to, length, size, above: y > 0 ? length : 0 }, add);
        from += length;
        to += length;
    }
    return out;
}

/** ABOVE: the distance from TO back to the row above; 0: there is none. */
function unfilterRow({ bytes, from, out, to, length, size, above }, add) {
    for (let i = 0; i < length; i++) {
        const left = i >= size ? out[to + i - size] : 0;
        const up = above ? out[to + i - above] : 0;
        const corner = above && i >= size ? out[to + i - above - size] : 0;
        out[to + i] = bytes[from + i] + add(left, up, corner);
    }
}

function wideSamples(bytes) {
    const samples = new Uint16Array(bytes.length / 2);
    for (let i = 0; i < samples.length; i++) samples[i] = (bytes[2 * i] << 8) | bytes[2 * i + 1];
    return samples;
}

/** Returns { width, height, channels, depth, samples }, by rows, with interleaved channels. */
export async function readPng(buffer) {
    const head = pngHead(buffer);
    const size = (head.channels * head.depth) / 8;
    const bytes = await inflated(packedParts(buffer));
    if (bytes.length < head.height * (head.width * size + 1)) throw new Error('this PNG is damaged');
    const plain = unfiltered(bytes, head.height, head.width * size, size);
    return { ...head, samples: head.depth === 16 ? wideSamples(plain) : plain };
}
