// Small pictures in the palette: what an operator, with the parameters that it is added with, does
// to the open picture. One request for all of them, once for each picture whose user comes there.
import { page, palette } from './page.js';
import { neededParts, newStep, operations } from './plan.js';
import { runOutputs } from './service.js';

const SIDE = 80; // pixels of the longer side
const OUTPUTS_MAX = 32; // results of a request; one is the picture as it is

/** Whether a sample is of use and harmless: a user's operator, which has no title, may never end. */
const hasSample = (operator) =>
    operator.title &&
    !operator.values &&
    !neededParts({ operator }).length &&
    !operator.parameters.some(({ required, example }) => required || example);

/** A copy of the picture as a PNG; null while its smaller copies are being made. */
async function smallCopy({ levels, width, height }) {
    const level = levels.at(-1);
    if (level?.tiles.length !== 1) return null;
    const scale = Math.min(1, SIDE / Math.max(width, height));
    const canvas = new OffscreenCanvas(
        Math.max(1, Math.round(width * scale)),
        Math.max(1, Math.round(height * scale)),
    );
    const context = canvas.getContext('2d');
    context.imageSmoothingQuality = 'high';
    context.drawImage(level.tiles[0], 0, 0, canvas.width, canvas.height);
    return canvas.convertToBlob();
}

async function sameBytes(one, other) {
    if (one.size !== other.size) return false;
    const [a, b] = await Promise.all(
        [one, other].map(async (blob) => new Uint8Array(await blob.arrayBuffer())),
    );
    return a.every((byte, i) => byte === b[i]);
}

async function canvasOf(blob) {
    const bitmap = await createImageBitmap(blob);
    const canvas = document.createElement('canvas');
    Object.assign(canvas, { width: bitmap.width, height: bitmap.height, ariaHidden: 'true' });
    canvas.getContext('2d').drawImage(bitmap, 0, 0);
    bitmap.close();
    return canvas;
}

/** The samples by name, without those that show the picture as it is. */
async function samplesOf(image) {
    const operators = page.operators.filter(hasSample).slice(0, OUTPUTS_MAX - 1);
    const outputs = operators.map((operator) => ({
        operations: operations([newStep(operator, null)]),
    }));
    const [plain, ...blobs] = await runOutputs(image, [{}, ...outputs]);
    const samples = new Map();
    for (const [i, blob] of blobs.entries())
        if (!(await sameBytes(plain, blob)))
            samples.set(operators[i].name, await canvasOf(blob));
    return samples;
}

/** Shows the samples of INPUT as soon as somebody comes to the palette. */
export function offerSamples(input) {
    let asked = false;
    palette.setSamples(new Map());
    palette.approached = async () => {
        if (asked || page.input !== input) return;
        asked = true;
        const image = await smallCopy(input.picture);
        asked = image !== null;
        if (!image) return;
        const samples = await samplesOf(image).catch(() => new Map()); // the next run says why
        if (page.input === input) palette.setSamples(samples);
    };
}
