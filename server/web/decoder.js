// A web worker that decodes files. It returns a picture in tiles, with ever smaller copies, so that
// no canvas has to scale 64 megapixels; then its histograms and its copy for previews.
import { countStrip, newCounts } from './histogram_counts.js';
import { readPng } from './png.js';
import { asItIs, decode, pnmPixels, writePnm } from './pnm.js';
import { makePlan } from './retarget.js';

const TILE = 2048; // pixels: graphics hardware accepts this as one texture
const SMALLEST = 512; // pixels of the longer side of the smallest copy
const STRIP_PIXELS = 1 << 20;

async function cut(bitmap) {
    const tiles = [];
    for (let y = 0; y < bitmap.height; y += TILE)
        for (let x = 0; x < bitmap.width; x += TILE)
            tiles.push(
                await createImageBitmap(
                    bitmap,
                    x,
                    y,
                    Math.min(TILE, bitmap.width - x),
                    Math.min(TILE, bitmap.height - y),
                    asItIs,
                ),
            );
    return {
        width: bitmap.width,
        height: bitmap.height,
        columns: Math.ceil(bitmap.width / TILE),
        tile: TILE,
        tiles,
    };
}

const halved = (bitmap) =>
    createImageBitmap(bitmap, {
        ...asItIs,
        resizeQuality: 'medium',
        resizeWidth: Math.max(1, bitmap.width >> 1),
        resizeHeight: Math.max(1, bitmap.height >> 1),
    });

/** Returns ever smaller copies of BITMAP. */
async function copiesOf(bitmap) {
    const copies = [];
    for (let now = bitmap; Math.max(now.width, now.height) > SMALLEST;) {
        const next = await halved(now);
        if (now !== bitmap) now.close();
        copies.push(await cut(next));
        now = next;
    }
    return copies;
}

/** Counts every level of every channel, in strips, without a buffer for the whole picture. */
function countsOf(bitmap) {
    const counts = newCounts();
    const rows = Math.max(1, Math.min(bitmap.height, Math.floor(STRIP_PIXELS / bitmap.width)));
    const canvas = new OffscreenCanvas(bitmap.width, rows);
    const context = canvas.getContext('2d', { willReadFrequently: true });
    for (let y = 0; y < bitmap.height; y += rows) {
        const height = Math.min(rows, bitmap.height - y);
        context.clearRect(0, 0, bitmap.width, rows);
        context.drawImage(bitmap, 0, y, bitmap.width, height, 0, 0, bitmap.width, height);
        countStrip(counts, context.getImageData(0, 0, bitmap.width, height).data);
    }
    return counts;
}

function smaller(bitmap, scale) {
    const canvas = new OffscreenCanvas(
        Math.max(1, Math.round(bitmap.width * scale)),
        Math.max(1, Math.round(bitmap.height * scale)),
    );
    const context = canvas.getContext('2d', { willReadFrequently: true });
    context.imageSmoothingQuality = 'high';
    context.drawImage(bitmap, 0, 0, canvas.width, canvas.height);
    return { canvas, pixels: context.getImageData(0, 0, canvas.width, canvas.height) };
}

/**
 * Returns a copy of about PIXELS as a file that is fast to read and to send; a PNG if it has alpha.
 */
async function previewOf(bitmap, pixels, { transparent, gray }) {
    const scale = Math.min(1, Math.sqrt(pixels / (bitmap.width * bitmap.height)));
    const small = smaller(bitmap, scale);
    const bytes = transparent
        ? await (await small.canvas.convertToBlob({ type: 'image/png' })).arrayBuffer()
        : writePnm(small.pixels, gray).buffer;
    return {
        bytes,
        type: transparent ? 'png' : 'pnm',
        scale: small.canvas.width / bitmap.width,
        width: small.canvas.width,
        height: small.canvas.height,
    };
}

const channelsOf = (text) => [1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16));

/**
 * Colours seams by their order. IMAGES: a PNM, and the same with more and more seams in red. Each
 * seam gets the colour of the first image that has it.
 */
async function seams({ id, images, colours }) {
    const [base, ...drawn] = images.map((bytes) => pnmPixels(new Uint8Array(bytes)));
    const out = new ImageData(base.width, base.height);
    const RED = new Uint32Array(new Uint8Array([255, 0, 0, 255]).buffer)[0]; // byte order
    const words = (image) => new Uint32Array(image.data.buffer);
    const palette = words({
        data: new Uint8Array(colours.flatMap((text) => [...channelsOf(text), 255])),
    });
    const to = words(out);
    const from = words(base);
    for (let part = drawn.length - 1; part >= 0; part--) {
        const now = words(drawn[part]);
        for (let i = 0; i < to.length; i++)
            if (now[i] === RED && from[i] !== RED) to[i] = palette[part];
    }
    const bitmap = await createImageBitmap(out, asItIs);
    const levels = [await cut(bitmap)];
    postMessage(
        { id, part: 'picture', width: base.width, height: base.height, levels },
        tilesOf(levels),
    );
    postMessage({ id, part: 'end', levels: [] });
}

/** Makes the plan of a picture in every width: see retarget.js. */
async function plan({ id, source, map }) {
    const made = makePlan(await readPng(source), await readPng(map));
    const { pixels, inserted, order } = made;
    postMessage({ id, part: 'plan', plan: made }, [pixels.buffer, inserted.buffer, order.buffer]);
}

/** A SHA-256 in hexadecimal; null if the browser gives digests only to secure pages. */
async function digest({ id, blob }) {
    const bytes =
        globalThis.crypto?.subtle &&
        new Uint8Array(await crypto.subtle.digest('SHA-256', await blob.arrayBuffer()));
    postMessage({
        id,
        part: 'digest',
        text: bytes
            ? Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
            : null,
    });
}

const tilesOf = (levels) => levels.flatMap((level) => level.tiles);

/**
 * Returns the picture as soon as it can be drawn. Its counts, its preview, and the copies of a
 * picture that fits into a tile follow: `rest` waits until no picture has to be opened.
 */
async function open({ id, blob, preview, once }) {
    const { bitmap, pixels } = await decode(blob);
    const { width, height } = bitmap;
    const large = Math.max(width, height) > TILE;
    const levels = [await cut(bitmap), ...(large ? await copiesOf(bitmap) : [])];
    postMessage({ id, part: 'picture', width, height, levels }, tilesOf(levels));
    finish({ id, bitmap, pixels, preview, copies: !large && !once });
}

/** Works in pieces, so that urgent work can come between them. */
function finish({ id, bitmap, pixels, preview, copies }) {
    let counts = null;
    const then = (run) => rest.push({ id, run });
    then(async () => {
        counts = pixels ? countStrip(newCounts(), pixels.data) : countsOf(bitmap);
        postMessage({ id, part: 'counts', counts });
    });
    then(async () => {
        if (!preview) return;
        postMessage({ id, part: 'preview', ...(await previewOf(bitmap, preview, counts)) });
    });
    then(async () => {
        const levels = copies ? await copiesOf(bitmap) : [];
        postMessage({ id, part: 'end', levels }, tilesOf(levels));
        bitmap.close();
    });
}

// ---- the queue: pictures first

const urgent = [];
const rest = [];
let working = false;

const turn = () => new Promise((resolve) => setTimeout(resolve, 0)); // lets messages arrive

async function work() {
    if (working) return;
    working = true;
    for (let next; (next = urgent.shift() ?? rest.shift()); await turn()) {
        try {
            await next.run();
        } catch (error) {
            postMessage({ id: next.id, part: 'error', text: String(error?.message ?? error) });
        }
    }
    working = false;
}

const kinds = { open, seams, plan, digest };

onmessage = ({ data }) => {
    const list = data.kind === 'open' ? urgent : rest;
    list.push({ id: data.id, run: () => kinds[data.kind](data) });
    work();
};
