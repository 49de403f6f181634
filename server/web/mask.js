// A mask of a picture: a sample for each pixel, 255 where it is set and 0 elsewhere. Strokes set or
// clear it; files are read into it at any size, and it is written as one.
import { writeGrayPng } from './png_write.js';
import { decode } from './pnm.js';

export const SET = 255;
const HALF = 128; // the daemon takes a sample from here on as set
const STRIP_PIXELS = 1 << 20;

/** The place where a row Y cuts the line from P to Q; null: nowhere. */
function crossing([x0, y0], [x1, y1], y) {
    if (y0 === y1 || (y - y0) * (y - y1) > 0) return null;
    return x0 + ((x1 - x0) * (y - y0)) / (y1 - y0);
}

/** The ends of all points on row Y that are within RADIUS of the line from P to Q: least and most. */
function spanOf(p, q, radius, y) {
    const ends = [];
    for (const [x, centre] of [p, q]) {
        const half = Math.sqrt(radius * radius - (y - centre) ** 2);
        if (half >= 0) ends.push(x - half, x + half);
    }
    const length = Math.hypot(q[0] - p[0], q[1] - p[1]);
    if (length) {
        const across = [(radius * (p[1] - q[1])) / length, (radius * (q[0] - p[0])) / length];
        const moved = ([x, y0], by) => [x + by * across[0], y0 + by * across[1]];
        const corners = [moved(p, 1), moved(q, 1), moved(q, -1), moved(p, -1)];
        const cuts = corners.map((corner, i) => crossing(corner, corners[(i + 1) % 4], y));
        ends.push(...cuts.filter((x) => x !== null));
    }
    return [Math.min(...ends), Math.max(...ends)];
}

export class Mask {
    constructor({ width, height }) {
        Object.assign(this, { width, height });
        this.samples = new Uint8Array(width * height);
    }

    get isEmpty() {
        return !this.samples.includes(SET);
    }

    /**
     * Gives all pixels whose centre is within RADIUS of the line from P to Q the VALUE. Returns
     * whether one had the other value.
     */
    stroke(p, q, radius, value) {
        const { width, height, samples } = this;
        const top = Math.max(0, Math.ceil(Math.min(p[1], q[1]) - radius - 0.5)),
            bottom = Math.min(height - 1, Math.floor(Math.max(p[1], q[1]) + radius - 0.5));
        let changed = false;
        for (let y = top; y <= bottom; y++) {
            const [least, most] = spanOf(p, q, radius, y + 0.5);
            const from = Math.max(0, Math.ceil(least - 0.5)),
                to = Math.min(width, Math.floor(most - 0.5) + 1);
            if (from >= to) continue;
            const row = samples.subarray(y * width + from, y * width + to);
            changed ||= row.includes(SET - value);
            row.fill(value);
        }
        return changed;
    }

    /** The mask now, as a file. */
    async file(name) {
        return new File([await writeGrayPng(this)], name, { type: 'image/png' });
    }
}

const luma = (data, i) => (77 * data[i] + 150 * data[i + 1] + 29 * data[i + 2] + 128) >> 8;

const ownSizes = new WeakMap(); // by file that was read: its picture's { width, height }
const frames = new WeakMap(); // by file: the frame that it was made for
const fits = new WeakMap(); // by file: { frame, made }, the one of another frame that was made last
const ALL = [0, 0, 1, 1];

const isSame = (one, other) => one?.every((share, i) => Math.abs(share - other?.[i]) < 1e-6) ?? !other;

/** FRAMES: a size, and a part of the input: see frameOf. */
export const isSameFrame = (one, other) =>
    one.width === other.width && one.height === other.height && isSame(one.part, other.part);

/** FILE is a mask for what a step gets now. */
export function madeFor(file, frame) {
    if (frame) frames.set(file, frame);
}

/** The part of a file's picture that FRAME shows, in shares; all of it if that is not known. */
function partIn(file, { part }) {
    const own = frames.get(file)?.part;
    if (!own || !part) return ALL;
    return part.map((share, i) => (i < 2 ? share - own[i] : share) / own[2 + (i % 2)]);
}

/** Reads FILE as a mask for FRAME: it stays where it is on the input. */
export async function readMask(file, frame) {
    const { bitmap } = await decode(file);
    const { width, height } = frame;
    ownSizes.set(file, { width: bitmap.width, height: bitmap.height });
    const [left, top, across, down] = partIn(file, frame);
    const place = [(-left / across) * width, (-top / down) * height];
    const mask = new Mask(frame);
    const rows = Math.max(1, Math.min(height, Math.floor(STRIP_PIXELS / width)));
    const context = new OffscreenCanvas(width, rows).getContext('2d', { willReadFrequently: true });
    context.imageSmoothingQuality = 'high';
    for (let y = 0; y < height; y += rows) {
        context.clearRect(0, 0, width, rows);
        context.drawImage(bitmap, place[0], place[1] - y, width / across, height / down);
        const { data } = context.getImageData(0, 0, width, Math.min(rows, height - y));
        for (let i = 0, to = y * width; i < data.length; i += 4)
            mask.samples[to++] = luma(data, i) >= HALF ? SET : 0;
    }
    bitmap.close();
    return mask;
}

const isFit = (file, frame) => {
    const own = ownSizes.get(file);
    const alike = own?.width === frame.width && own.height === frame.height;
    return alike && isSame(partIn(file, frame), ALL);
};

/** FILE, or if it does not fit FRAME, a promise of one made from it. */
export async function fitted(file, frame) {
    if (isFit(file, frame)) return file;
    const last = fits.get(file);
    if (last && isSameFrame(last.frame, frame)) return last.made;
    const write = (mask) => (isFit(file, frame) ? file : mask.file(file.name));
    const made = readMask(file, frame).then(write).catch(() => file); // the daemon will say why
    fits.set(file, { frame, made });
    return made;
}

const scaled = new WeakMap(); // by file: { scale, made }

/** FILE's picture at SCALE, at most 1, as a PNG; FILE itself at 1. */
export async function scaledFile(file, scale) {
    if (scale === 1) return file;
    const last = scaled.get(file);
    if (last?.scale === scale) return last.made;
    const draw = ({ bitmap }) => {
        const sides = [bitmap.width, bitmap.height].map((side) => Math.max(1, Math.round(side * scale)));
        const canvas = new OffscreenCanvas(...sides);
        const context = canvas.getContext('2d');
        context.imageSmoothingQuality = 'high';
        context.drawImage(bitmap, 0, 0, ...sides);
        bitmap.close();
        return canvas.convertToBlob();
    };
    const made = decode(file)
        .then(draw)
        .catch(() => file); // the daemon will say why
    scaled.set(file, { scale, made });
    return made;
}

/** A remark on a file for FRAME; '': none. */
export function noteOn(file, frame) {
    const own = ownSizes.get(file);
    if (!own || !frame || isFit(file, frame)) return '';
    return `Fitted from ${own.width} × ${own.height}.`;
}
