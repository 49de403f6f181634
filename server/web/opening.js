// Opens a picture, saves a result.
import { outputName } from './commands.js';
import { failed, gone } from './connection.js';
import { byId, element, milliseconds, whole } from './element.js';
import { askUnsaved, saveBlob } from './files.js';
import { hideNotice, showNotice, showProblem } from './notice.js';
import { histograms, mark, page, say, stepList, unsaved, viewer } from './page.js';
import { offerSamples } from './palette_samples.js';
import { openPicture } from './picture.js';
import { dropResult, showBusy } from './results.js';
import { fullRun } from './runner.js';
import { Problem } from './service.js';
import { fillStrip, forgetBetween, showPictures } from './stages.js';

export const JPEG_QUALITY = 85; // the daemon's default

const PREVIEW_PIXELS = 500000;
const BUSY_MS = 200;

const magics = [
    ['jpeg', 0xff, 0xd8],
    ['png', 0x89, 0x50],
    ['pnm', 0x50, 0x35],
    ['pnm', 0x50, 0x36],
];

async function typeOf(blob) {
    const head = new Uint8Array(await blob.slice(0, 2).arrayBuffer());
    return magics.find(([, a, b]) => head[0] === a && head[1] === b)?.[0] ?? 'png';
}

/** Returns false if the user wants to keep the current picture. */
async function mayReplace() {
    if (!unsaved()) return true;
    const answer = await askUnsaved('Opening another picture loses it.');
    return answer === 'discard' || (answer === 'save' && (await save()));
}

/** The steps run at once, while the browser still decodes the picture. */
export async function open(file) {
    if (!(await mayReplace())) return;
    const start = performance.now();
    const input = {
        name: file.name || 'pasted.png',
        blob: file,
        type: await typeOf(file),
        picture: null,
        counts: null,
        preview: null,
    };
    takeIn(input);
    const loading = setTimeout(() => showBusy(null), BUSY_MS);
    input.opened = openPicture(file, {
        role: 'input',
        preview: PREVIEW_PIXELS,
        later: (part) => later(input, part),
    });
    page.changed(false);
    try {
        input.picture = await input.opened;
    } catch (error) {
        await unreadable(input, error);
        return;
    } finally {
        clearTimeout(loading);
        if (!page.runner.full) byId('busy').hidden = true;
    }
    if (page.input === input) showOpened(input, performance.now() - start);
    else input.picture.close();
}

/** Replaces the input and everything made from it by INPUT. */
function takeIn(input) {
    page.runner.stop();
    mark('shown', null);
    mark('opened', null);
    mark('live', null);
    dropResult();
    forgetBetween();
    const old = page.input;
    page.input = input;
    page.live.leave();
    viewer.clear();
    old?.picture?.close();
    histograms.clear();
    if (!page.gone) hideNotice();
    byId('empty').hidden = true;
    byId('file').textContent = input.name;
    byId('save-type').value = input.type;
}

function later(input, part) {
    if (part.counts) input.counts = part.counts;
    if (part.bytes) input.preview = part;
    if (input !== page.input) return;
    if (part.counts) histograms.set('before', part.counts);
    if (!part.bytes) return;
    mark('live', '');
    page.live.refresh();
    if (page.result) fillStrip();
}

function showOpened(input, ms) {
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
    if (!stepList.steps.length) say(`Opened in ${milliseconds(ms)}. Add a step.`);
}

/** Returns to the state without a picture. */
export function closeInput() {
    page.input = null;
    page.live.leave();
    page.runner.stop();
    dropResult();
    byId('file').textContent = 'No picture';
}

/** The browser cannot read the file: the daemon's message explains more. */
async function unreadable(input, error) {
    if (page.input !== input) return;
    closeInput();
    const headers = { 'Content-Type': 'application/octet-stream' };
    const answer = await fetch('/info', { method: 'POST', body: input.blob, headers }).catch(
        () => null,
    );
    if (!answer) return void gone();
    if (answer.ok)
        showNotice(
            'This browser cannot show the picture',
            `${error.message}. Burin can read it: use the curl line.`,
        );
    else showProblem(new Problem(answer.status, await answer.json().catch(() => null)));
    say('Not opened.');
}

/** Returns true if it is saved. */
export async function save() {
    const { result, input, device } = page;
    if (!result?.blob) return false;
    const type = byId('save-type').value;
    try {
        const done = { input, steps: result.steps, device };
        const { blob } =
            type === 'png' ? result : await fullRun(done, { type, quality: JPEG_QUALITY });
        const name = outputName(input.name, result.steps, type);
        saveBlob(blob, name);
        result.saved = true;
        say(`Saved as ${name}.`);
        return true;
    } catch (error) {
        failed(error);
        return false;
    }
}
