// A decoded picture: tiles of its pixels and of smaller copies, drawn at any scale. Its histograms
// and its copy for previews come later.

const LAST_PARTS = ['end', 'error', 'digest', 'plan']; // no more messages follow

class Decoder {
    constructor() {
        this.waiting = new Map();
        this.count = 0;
    }

    start() {
        this.worker = new Worker(new URL('./decoder.js', import.meta.url), { type: 'module' });
        this.worker.onmessage = ({ data }) => this.waiting.get(data.id)?.(data);
    }

    /** PART is called with each message about the work. */
    ask(message, part) {
        const id = ++this.count;
        this.waiting.set(id, (data) => {
            if (LAST_PARTS.includes(data.part)) this.waiting.delete(id);
            part(data);
        });
        if (!this.worker) this.start();
        const given = Object.values(message).filter((value) => value instanceof ArrayBuffer);
        this.worker.postMessage({ ...message, id }, given);
    }
}

// A worker for each kind of pictures, so that none delays the others.
const decoders = { input: new Decoder(), result: new Decoder(), preview: new Decoder() };
decoders.input.start(); // is needed first

export class Picture {
    constructor({ width, height, levels }) {
        this.width = width;
        this.height = height;
        this.levels = levels;
        this.unit = [1, 1]; // width and height of a pixel, in pixels of the full picture
    }

    close() {
        closeAll(this.levels);
        this.levels = [];
    }

    addLevels(levels) {
        if (this.levels.length) this.levels.push(...levels);
        else closeAll(levels);
    }

    /** The size in pixels of the full picture. */
    get fullWidth() {
        return this.width * this.unit[0];
    }

    get fullHeight() {
        return this.height * this.unit[1];
    }

    /**
     * Draws the visible part, with its corner at LEFT, TOP, and each pixel of the full picture ACROSS
     * wide and DOWN high on the screen.
     */
    draw(context, place) {
        const scale = Math.min(place.across * this.unit[0], place.down * this.unit[1]);
        const wanted = Math.max(0, Math.floor(Math.log2(1 / scale) + 0.001));
        const level = this.levels[Math.min(wanted, this.levels.length - 1)];
        if (!level) return;
        const across = place.across * this.unit[0] * (this.width / level.width),
            down = place.down * this.unit[1] * (this.height / level.height);
        setSmoothing(context, place, across);
        const { width, height } = context.canvas;
        level.tiles.forEach((tile, i) => {
            const left = place.left + (i % level.columns) * level.tile * across,
                top = place.top + Math.floor(i / level.columns) * level.tile * down;
            const right = left + tile.width * across,
                bottom = top + tile.height * down;
            if (right < 0 || bottom < 0 || left > width || top > height) return;
            const size = { width: tile.width, height: tile.height };
            drawPart(context, tile, { ...size, left, top, across, down });
        });
    }

    /** The four samples of the pixel at X, Y of the full picture; null: outside. */
    pixel(x, y) {
        const level = this.levels[0];
        const column = Math.floor(x / this.unit[0]),
            row = Math.floor(y / this.unit[1]);
        if (!level || column < 0 || row < 0 || column >= this.width || row >= this.height)
            return null;
        const tile =
            level.tiles[
                Math.floor(row / level.tile) * level.columns + Math.floor(column / level.tile)
            ];
        probe.clearRect(0, 0, 1, 1);
        probe.drawImage(tile, -(column % level.tile), -(row % level.tile));
        return probe.getImageData(0, 0, 1, 1).data;
    }
}

/** ACROSS: the width of a stored pixel on the screen. BLOCKS: pixels are to be seen as such. */
export function setSmoothing(context, { blocks }, across) {
    context.imageSmoothingEnabled = across !== 1 && !(blocks && across > 1);
    context.imageSmoothingQuality = 'medium';
}

function closeAll(levels) {
    for (const level of levels) for (const tile of level.tiles) tile.close();
}

/**
 * Draws only the visible part of a tile's WIDTH x HEIGHT pixels: from LEFT and TOP on, each ACROSS
 * wide and DOWN high on the canvas.
 */
export function drawPart(context, tile, { width, height, left, top, across, down }) {
    const { canvas } = context;
    const x0 = Math.max(0, Math.floor(-left / across)),
        y0 = Math.max(0, Math.floor(-top / down));
    const x1 = Math.min(width, Math.ceil((canvas.width - left) / across)),
        y1 = Math.min(height, Math.ceil((canvas.height - top) / down));
    if (x1 <= x0 || y1 <= y0) return;
    context.drawImage(
        tile,
        x0,
        y0,
        x1 - x0,
        y1 - y0,
        left + x0 * across,
        top + y0 * down,
        (x1 - x0) * across,
        (y1 - y0) * down,
    );
}

const probe = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true });

/**
 * Decodes BLOB, or an ArrayBuffer, which is transferred. ROLE: input, result or preview. PREVIEW:
 * the number of pixels of the copy for previews. Returns the picture; later LATER is called with
 * { counts } and with the preview { bytes, type, scale, width, height }.
 */
export function openPicture(blob, { role = 'result', preview = 0, later } = {}) {
    let picture = null;
    return new Promise((resolve, reject) => {
        decoders[role].ask({ kind: 'open', blob, preview, once: role === 'preview' }, (data) => {
            if (data.part === 'picture') resolve((picture = new Picture(data)));
            else if (data.part === 'error') reject(new Error(data.text));
            else if (data.part === 'end') picture.addLevels(data.levels);
            else later?.(data);
        });
    });
}

/** A picture of only the seams: see the decoder's `seams`. */
export function openSeams(images, colours) {
    return new Promise((resolve, reject) => {
        decoders.result.ask({ kind: 'seams', images, colours }, (data) => {
            if (data.part === 'picture') resolve(new Picture(data));
            else if (data.part === 'error') reject(new Error(data.text));
        });
    });
}

/** A plan of retarget.js, from two PNGs of the daemon: ArrayBuffers, which are transferred. */
export function openPlan(source, map) {
    return new Promise((resolve, reject) => {
        decoders.result.ask({ kind: 'plan', source, map }, (data) =>
            data.part === 'plan' ? resolve(data.plan) : reject(new Error(data.text)),
        );
    });
}

/** A SHA-256 in hexadecimal; null if the browser gives digests only to secure pages. */
export function digestOf(blob) {
    return new Promise((resolve, reject) => {
        decoders.result.ask({ kind: 'digest', blob }, (data) =>
            data.part === 'digest' ? resolve(data.text) : reject(new Error(data.text)),
        );
    });
}
