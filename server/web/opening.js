// Opens a picture: it is read first, and then replaces the one that is open.
import { failed } from './connection.js';
import { byId, element, milliseconds, whole } from './element.js';
import { writtenFormats } from './formats.js';
import { hideNotice } from './notice.js';
import { histograms, mark, page, say, stepList, viewer } from './page.js';
import { offerSamples } from './palette_samples.js';
import { openPicture } from './picture.js';
import { dropResult, showBusy } from './results.js';
import { Gone, headOf, run } from './service.js';
import { fillStrip, forgetBetween, showPictures, updateSeams } from './stages.js';

const PREVIEW_PIXELS = 500000;
const BUSY_MS = 300; // what is read sooner shows no bar
const HEAD_BYTES = 4096; // enough to know the type

// ---- the type

const starts = (...bytes) => (head) => bytes.every((byte, i) => head[i] === byte);
const letters = (text, at) => (head) => [...text].every((c, i) => head[at + i] === c.charCodeAt(0));

const magics = [
    ['jpeg', starts(0xff, 0xd8)],
    ['png', starts(0x89, 0x50)],
    ['pnm', (head) => starts(0x50, 0x35)(head) || starts(0x50, 0x36)(head)],
    ['webp', letters('WEBP', 8)],
    ['gif', letters('GIF8', 0)],
    ['bmp', letters('BM', 0)],
    ['tiff', (head) => ['II*\0', 'MM\0*', 'II+\0', 'MM\0+'].some((m) => letters(m, 0)(head))],
];

async function typeOf(blob) {
    const head = new Uint8Array(await blob.slice(0, 12).arrayBuffer());
    return magics.find(([, fits]) => fits(head))?.[0] ?? null;
}

/** Throws the daemon's refusal of a type that the page does not know. */
async function askForType(file) {
    const problem = await headOf(file.slice(0, HEAD_BYTES)).catch((error) => error);
    if (problem?.status === 415) throw problem;
}

// ---- reading

/**
 * Reads a file; the counts of its picture and its preview come later. ORIGINAL: the user's file, if
 * FILE is what the daemon has read of it.
 */
async function read(file, type, { damaged = false, original = file } = {}) {
    const name = file.name || 'pasted.png';
    const blobs = { blob: file, file: original };
    const input = { name, ...blobs, type, damaged, counts: null, preview: null };
    input.picture = await openPicture(file, {
        role: 'input',
        preview: PREVIEW_PIXELS,
        later: (part) => later(input, part),
    });
    return input;
}

/**
 * The daemon reads what the browser does not: as a PNG, or with DAMAGED what can be read of a
 * damaged picture.
 */
async function readByDaemon(file, type, damaged) {
    const { blob } = await run({ operations: [], image: file, type: 'png', damaged });
    const facts = { damaged: Boolean(damaged), original: file };
    return read(new File([blob], file.name), type, facts);
}

async function readAnyhow(file, damaged) {
    const type = await typeOf(file);
    if (!type) await askForType(file);
    const saved = writtenFormats.some(({ name }) => name === type) ? type : 'png';
    if (damaged) return readByDaemon(file, saved, 'accept');
    try {
        return await read(file, saved);
    } catch (error) {
        return readByDaemon(file, saved).catch((problem) => {
            throw problem instanceof Gone ? error : problem;
        });
    }
}

// ---- opening

/** Opens FILE; DAMAGED: what can be read of it. */
export async function open(file, damaged = false) {
    const reading = (page.reading = { file });
    const start = performance.now();
    const loading = setTimeout(() => reading === page.reading && showBusy(null), BUSY_MS);
    hideNotice();
    try {
        const input = await readAnyhow(file, damaged);
        if (reading === page.reading) takeIn(input, performance.now() - start);
        else input.picture.close();
    } catch (error) {
        if (reading === page.reading) refuse(file, error);
    } finally {
        clearTimeout(loading);
        if (reading === page.reading) stopReading();
    }
}

/** A picture that is being read is not opened any more. */
export function stopReading() {
    page.reading = null;
    byId('busy').hidden = !page.runner.full;
}

/** The picture that is open stays. */
function refuse(file, error) {
    const kept = page.input ? ` ${page.input.name} is still open.` : '';
    const said = `Not opened: ${file.name}.${kept}`;
    failed(error, { name: file.name, action: recovery(file, error), said });
}

/** The notice's button for a damaged picture. */
export const recovery = (file, error) =>
    error.code === 'corrupt' && { text: 'Open what can be read', run: () => open(file, true) };

/** Replaces the input and everything made from it by INPUT. */
function takeIn(input, ms) {
    page.runner.stop();
    for (const name of ['shown', 'opened', 'live']) mark(name, null);
    dropResult();
    forgetBetween();
    const old = page.input;
    page.input = input;
    page.live.leave();
    viewer.clear();
    old?.picture.close();
    histograms.clear();
    byId('empty').hidden = true;
    showOpened(input);
    if (input.counts) later(input, { counts: input.counts });
    if (input.preview) later(input, input.preview);
    page.changed(false);
    if (!stepList.active.length) say(`Opened in ${milliseconds(ms)}. Add a step.`);
}

function showOpened(input) {
    const { width, height } = input.picture;
    byId('file').replaceChildren(
        element('strong', {}, input.name),
        ` ${whole(width)} × ${whole(height)}`,
    );
    stepList.setPicture({ width, height });
    showPictures();
    document.title = `${input.name} – Burin`;
    mark('opened', input.name);
    offerSamples(input);
}

/** PART: counts, or the preview. */
function later(input, part) {
    if (part.counts) input.counts = part.counts;
    if (part.bytes) input.preview = part;
    if (input !== page.input) return;
    if (part.counts) histograms.set('before', part.counts);
    if (!part.bytes) return;
    mark('live', '');
    page.live.refresh();
    if (!page.result) return;
    fillStrip();
    updateSeams();
}
