// Writes a PNG of one channel of 8 bits, for masks. A canvas would write four.
import { crcOf } from './zip.js';

const SIGNATURE = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];
const GRAY = 0;

function wordOf(value) {
    const bytes = new Uint8Array(4);
    new DataView(bytes.buffer).setUint32(0, value);
    return bytes;
}

async function chunk(name, body) {
    const content = new Blob([name, body]);
    return new Blob([wordOf(content.size - 4), content, wordOf(await crcOf(content))]);
}

/** The rows, each after the number of its filter: none. */
function plainRows(width, height, samples) {
    const rows = new Uint8Array((width + 1) * height);
    for (let y = 0; y < height; y++)
        rows.set(samples.subarray(y * width, (y + 1) * width), y * (width + 1) + 1);
    return rows;
}

/** Returns a Blob. SAMPLES may change as soon as this function has returned its promise. */
export async function writeGrayPng({ width, height, samples }) {
    const rows = new Blob([plainRows(width, height, samples)]);
    const packed = rows.stream().pipeThrough(new CompressionStream('deflate'));
    const head = [wordOf(width), wordOf(height), new Uint8Array([8, GRAY, 0, 0, 0])];
    const chunks = await Promise.all([
        chunk('IHDR', new Blob(head)),
        chunk('IDAT', await new Response(packed).blob()),
        chunk('IEND', new Blob([])),
    ]);
    return new Blob([new Uint8Array(SIGNATURE), ...chunks], { type: 'image/png' });
}
