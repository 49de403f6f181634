// Decodes files. PNM, which no browser reads: P5 and P6, 8 and 16 bits, of which the upper eight are
// shown.

/** Keeps the file's samples: no colour management, and no multiplication by alpha. */
export const asItIs = { colorSpaceConversion: 'none', premultiplyAlpha: 'none' };

const isPnm = (bytes) => bytes[0] === 0x50 && (bytes[1] === 0x35 || bytes[1] === 0x36);

const isSpace = (byte) => byte === 32 || (byte >= 9 && byte <= 13);

/** Reads the three numbers after the magic, and the offset of the samples. */
function readHead(bytes) {
    const numbers = [];
    let at = 2;
    while (numbers.length < 3) {
        while (isSpace(bytes[at]) || bytes[at] === 35) {
            if (bytes[at] === 35) while (at < bytes.length && bytes[at] !== 10) at++;
            else at++;
        }
        let number = 0;
        const start = at;
        while (bytes[at] >= 48 && bytes[at] <= 57) number = number * 10 + bytes[at++] - 48;
        if (at === start) throw new Error('the head of this PNM is damaged');
        numbers.push(number);
    }
    return { width: numbers[0], height: numbers[1], maximum: numbers[2], start: at + 1 };
}

/** Copies samples of 8 bits unchanged, for previews. */
function expand(to, bytes, at, channels) {
    for (let i = 0; i < to.length; i += 4, at += channels) {
        to[i] = bytes[at];
        to[i + 1] = channels === 3 ? bytes[at + 1] : bytes[at];
        to[i + 2] = channels === 3 ? bytes[at + 2] : bytes[at];
        to[i + 3] = 255;
    }
}

/** ImageData of the whole picture. */
export function pnmPixels(bytes) {
    const { width, height, maximum, start } = readHead(bytes);
    const wide = maximum > 255 ? 2 : 1;
    const channels = bytes[1] === 0x36 ? 3 : 1;
    const pixels = new ImageData(width, height);
    const to = pixels.data;
    const count = width * height;
    const factor = maximum === 65535 ? 0 : 255 / maximum;
    const sample = (at) =>
        factor
            ? Math.round((wide === 2 ? bytes[at] * 256 + bytes[at + 1] : bytes[at]) * factor)
            : bytes[at];
    if (bytes.length < start + count * channels * wide) throw new Error('this PNM ends too early');
    if (maximum === 255) return (expand(to, bytes, start, channels), pixels);
    const green = channels === 3 ? wide : 0;
    const blue = channels === 3 ? 2 * wide : 0;
    for (let i = 0, at = start; i < 4 * count; i += 4, at += channels * wide) {
        to[i] = sample(at);
        to[i + 1] = sample(at + green);
        to[i + 2] = sample(at + blue);
        to[i + 3] = 255;
    }
    return pixels;
}

/** Returns { bitmap, pixels }; pixels only for a PNM. */
export async function decode(file) {
    const blob = file instanceof Blob ? file : null; // else an ArrayBuffer
    const head = new Uint8Array(blob ? await blob.slice(0, 2).arrayBuffer() : file, 0, 2);
    if (!isPnm(head)) return { bitmap: await createImageBitmap(blob ?? new Blob([file]), asItIs) };
    const pixels = pnmPixels(new Uint8Array(blob ? await blob.arrayBuffer() : file));
    return { bitmap: await createImageBitmap(pixels, asItIs), pixels };
}

/** Writes a P6, or a P5 for a gray picture. */
export function writePnm({ width, height, data }, gray) {
    const channels = gray ? 1 : 3;
    const head = new TextEncoder().encode(`P${gray ? 5 : 6}\n${width} ${height}\n255\n`);
    const bytes = new Uint8Array(head.length + width * height * channels);
    bytes.set(head);
    for (let from = 0, to = head.length; from < data.length; from += 4) {
        bytes[to++] = data[from];
        if (gray) continue;
        bytes[to++] = data[from + 1];
        bytes[to++] = data[from + 2];
    }
    return bytes;
}
