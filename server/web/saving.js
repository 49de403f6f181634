// The panel of Save. It shows the file as it will be: its size, the picture in the viewer, or why
// it cannot be made. Download hands out these very bytes, and Copy the picture as a PNG.
import { keyWanted } from './access_key.js';
import { outputName } from './commands.js';
import { gone } from './connection.js';
import { byId, byteCount, element, whole } from './element.js';
import { choice, describe, encodingFor, formatOf } from './encoding.js';
import { saveBlob } from './files.js';
import { sizesOf } from './geometry.js';
import { sentenceOf, showNotice, titleOf } from './notice.js';
import { mark, page, say, state } from './page.js';
import { openPicture } from './picture.js';
import { filesOf, planText } from './plan.js';
import { dropPreview } from './results.js';
import { fullRun } from './runner.js';
import { savingFields, showFields } from './saving_fields.js';
import { Gone } from './service.js';
import { showPictures, showViewer } from './stages.js';

const REST_MS = 200; // without a change, until the daemon is asked
const LOOK_PIXELS = 12e6; // a larger picture is not decoded only to be looked at
const ANSWER_MS = 1500; // a button's answer is shown
const AGAIN_MS = 200; // steps that take longer are not run again for another encoding

const panel = byId('saving');
const isOpen = () => panel.matches(':popover-open');

let file = null; // the last one that was asked for: see load()
let looked = null; // its picture, while the viewer shows it
let saving = false; // a press waits for the file
let timer = 0; // runs while a choice is younger than REST_MS; otherwise 0

// ---- the file

/** The steps that change the picture: others only report values. */
export const changing = (steps) => steps.filter((step) => !step.operator.values);

/** Everything that a picture depends on. */
const causesOf = (input, steps) => [input, planText(steps), ...Object.values(filesOf(steps))];

export const isSame = (one, other) =>
    one.length === other.length && one.every((cause, i) => cause === other[i]);

function wanted() {
    const { input, steps: all, device } = state();
    const steps = changing(all);
    const encoding = encodingFor(input.type);
    const causes = [...causesOf(input, steps), device, JSON.stringify(encoding)];
    return { input, steps, device, ...encoding, causes };
}

/** Whether the shown output is that of STEPS. */
export const isShown = ({ input, steps }) =>
    page.result !== null &&
    isSame(causesOf(page.input, changing(page.result.steps)), causesOf(input, steps));

/**
 * The picture to encode, and the steps that are still to be done. The output itself, a PNG, saves
 * slow steps; one with alpha does not: what is laid under it may depend on the steps.
 */
function sourceOf({ input, steps }) {
    const { result } = page;
    const slow = result?.blob && result.report.ms.compute > AGAIN_MS;
    const isOpaque = slow && result.report.output.channels % 2 === 1;
    if (isOpaque && isShown({ input, steps }))
        return { input: { ...input, blob: result.blob }, steps: [] };
    return { input, steps };
}

/** Returns the blob. */
async function make(now, signal) {
    const { type, options, device } = now;
    const usual = type === 'png' && !options.compression && !options.palette;
    const isOutput = usual && isShown(now) && page.result.blob;
    if (isOutput) return { blob: page.result.blob };
    const { blob, report } = await fullRun({ ...sourceOf(now), device }, { type, options, signal });
    return { blob, quality: (report.output ?? report.manifest[0]).quality };
}

/** The file as it is chosen now. A new choice aborts the request of the one before. */
function load() {
    const now = wanted();
    if (file && isSame(file.causes, now.causes)) return file;
    file?.control.abort();
    const control = new AbortController();
    file = { ...now, control, blob: null };
    const mine = file;
    file.made = make(now, control.signal).then(
        (made) => Object.assign(mine, made),
        (error) => {
            if (file === mine) file = null; // the next call asks again
            throw error;
        },
    );
    return file;
}

// ---- what the panel shows

const limitText = () => byteCount(choice.max_bytes);

const causes = [
    [/max_bytes/, () => `Does not fit into ${limitText()}`],
    [/may have at most/, (title) => `Too large for ${title}`],
    [/cannot be stopped/, (title) => `Too slow as ${title}`],
];

/** In the words of the panel, which has no min_quality. */
function detailOf({ message }) {
    const [, bytes, quality] = /takes (\d+) bytes at quality (\d+)/.exec(message) ?? [];
    if (!bytes) return sentenceOf(message);
    const least = `It has ${byteCount(Number(bytes))} at quality ${quality}, the lowest.`;
    return `${least} Raise the size limit, or make the picture smaller.`;
}

function showProblem(error, { type }) {
    const { title } = formatOf(type);
    const cause = causes.find(([pattern]) => pattern.test(error.message));
    byId('saving-problem').replaceChildren(
        element('strong', {}, cause?.[1](title) ?? titleOf(error) ?? `Not saved as ${title}`),
        element('span', {}, detailOf(error)),
    );
    byId('saving-problem').scrollIntoView({ block: 'nearest' });
}

const percent = (share) =>
    share < 0.1 ? `${(100 * share).toPrecision(2)} %` : `${Math.round(100 * share)} %`;

function showFile({ blob, quality, input, steps, type }) {
    const share = percent(blob.size / input.file.size);
    const fitted = quality === undefined ? '' : `, quality ${quality}`;
    byId('saving-size').textContent = byteCount(blob.size);
    byId('saving-share').textContent = `${share} of the original${fitted}`;
    const size = input.picture && sizesOf(steps, input.picture).at(-1);
    const pixels = size ? `, ${whole(size.width)} × ${whole(size.height)}` : '';
    byId('saving-name').textContent = outputName(input.name, steps, type) + pixels;
    mark('saving', `${type} ${blob.size}`);
}

/** The buttons stay: a press waits for the file. */
function showWaiting(on) {
    panel.setAttribute('aria-busy', String(on));
    byId('saving-progress').hidden = !on;
    byId('download').disabled = false;
}

/** Shows for a moment that BUTTON has done its work. */
function answer(button, text) {
    const usual = button.dataset.usual ?? button.textContent;
    button.dataset.usual = usual;
    button.textContent = text;
    clearTimeout(button.back);
    button.back = setTimeout(() => (button.textContent = usual), ANSWER_MS);
}

/** Shows the picture as the file has it, right of the divider. */
async function look(mine) {
    const { blob, steps, type, options } = mine;
    if (blob === page.result?.blob) return stopLooking(); // it is shown already
    const picture = await openPicture(blob, { role: 'preview' }).catch(() => null);
    if (!picture) return stopLooking(); // this browser does not show the type
    if (!isOpen() || file !== mine || page.runner.isWorking) return picture.close();
    picture.name = describe({ type, options }, byteCount);
    picture.steps = steps;
    const old = page.preview;
    looked = page.preview = picture;
    showViewer();
    old?.close();
    return mark('looked', `${type} ${blob.size}`);
}

function stopLooking() {
    if (looked && page.preview === looked) {
        dropPreview();
        showPictures();
    }
    looked = null;
    mark('looked', null);
}

/** Brings the panel up to date. */
async function refresh() {
    stopWaiting();
    if (!isOpen() || !page.input) return;
    if (page.runner.isWorking) return void wait(); // its output may be what is encoded
    const now = load();
    byId('saving-problem').replaceChildren();
    if (!now.blob) showWaiting(true);
    try {
        await now.made;
    } catch (error) {
        if (timer || now.control.signal.aborted) return;
        showWaiting(false);
        byId('download').disabled = true;
        byId('saving-size').textContent = '–';
        byId('saving-share').textContent = '';
        stopLooking();
        if (error instanceof Gone) gone();
        if (error.status === 401) showNotice(keyWanted());
        showProblem(error, now);
        return;
    }
    if (timer || now !== file || !isOpen()) return;
    showWaiting(false);
    showFile(now);
    if (page.input.picture && pixelsOf(page.input.picture) <= LOOK_PIXELS) look(now);
}

const pixelsOf = ({ width, height }) => width * height;

/** The picture, the steps or the device have changed. */
export function savingChanged() {
    byId('save').disabled = !page.input;
    if (!isOpen()) return;
    if (!page.input) return void closeSaving();
    showFields(page.input.type);
    wait();
}

function stopWaiting() {
    clearTimeout(timer);
    timer = 0;
}

function wait() {
    showWaiting(true);
    stopWaiting();
    timer = setTimeout(refresh, REST_MS);
}

// ---- handing out

export async function save() {
    if (!page.input || saving) return;
    saving = true;
    try {
        const { blob, input, steps, type } = await load().made;
        const name = outputName(input.name, steps, type);
        saveBlob(blob, name);
        if (page.result && isShown({ input, steps })) page.result.saved = true;
        say(`Saved as ${name}, ${byteCount(blob.size)}.`);
        answer(byId('download'), 'Saved');
    } catch {
        openSaving();
        refresh(); // shows the cause
    } finally {
        saving = false;
    }
}

const asPng = async () => {
    const now = wanted();
    const { blob } = await make({ ...now, type: 'png', options: {} });
    return blob;
};

async function copy() {
    const button = byId('copy-picture');
    try {
        await navigator.clipboard.write([new ClipboardItem({ 'image/png': asPng() })]);
        answer(button, 'Copied');
    } catch {
        answer(button, 'Not copied');
    }
}

// ---- open and close

function place() {
    const { bottom } = byId('save').getBoundingClientRect();
    panel.style.setProperty('--top', `${Math.round(bottom + 6)}px`);
}

export function openSaving() {
    if (!page.input || isOpen()) return;
    place();
    panel.showPopover();
    byId('save').setAttribute('aria-expanded', 'true');
    showFields(page.input.type);
    refresh();
    panel.querySelector('[name=save-type]:checked')?.focus();
}

/** Returns whether the panel was open. */
export function closeSaving() {
    if (!isOpen()) return false;
    const inside = panel.contains(document.activeElement);
    panel.hidePopover();
    byId('save').setAttribute('aria-expanded', 'false');
    stopWaiting();
    stopLooking();
    if (inside) byId('save').focus();
    return true;
}

/** The first press opens the panel, the second one saves. */
export function saveByKey() {
    if (isOpen()) save();
    else openSaving();
}

/** CHANGED is called after each choice. */
export function listenToSaving(changed) {
    byId('saving-fields').append(
        ...savingFields((dragging) => {
            showFields(page.input.type);
            if (!dragging) changed();
            wait();
        }),
    );
    byId('save').addEventListener('click', () => closeSaving() || openSaving());
    byId('saving-close').addEventListener('click', closeSaving);
    byId('saving-form').addEventListener('submit', (event) => {
        event.preventDefault();
        save();
    });
    byId('copy-picture').addEventListener('click', copy);
    byId('copy-picture').hidden = !(navigator.clipboard?.write && globalThis.ClipboardItem);
    addEventListener('resize', () => isOpen() && place());
}
