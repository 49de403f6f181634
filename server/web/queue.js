// Several pictures: the steps and the choice of Save hold for all of them, and one ZIP file comes
// out. One of them is open on the page.
import { gone } from './connection.js';
import { byId, byteCount, whole } from './element.js';
import { choice, describe, encodingFor } from './encoding.js';
import { isPicture, saveBlob } from './files.js';
import { writtenFormats } from './formats.js';
import { sentenceOf } from './notice.js';
import { open } from './opening.js';
import { mark, page, say, state } from './page.js';
import { filesOf, planText } from './plan.js';
import { newRow, showQueue, showRow, showRowProgress, sizeText } from './queue_view.js';
import { fullRun } from './runner.js';
import { changing, isSame } from './saving.js';
import { Gone, newRequestId, progress } from './service.js';
import { crcOf, uniqueNames, zipOf } from './zip.js';

const AT_A_TIME = 4; // requests: a browser has six connections
const PROGRESS_MS = 400;
const TRIES_MAX = 20; // while the daemon has no room

let items = []; // { file, path, row, made }; made: { blob, crc, causes }
let control = null; // AbortController of the work

// ---- the work

/** The steps, the type and its options, and everything that makes another file of a picture. */
function jobNow() {
    const { steps: all, device } = state();
    const steps = changing(all);
    const { type, options } = choice.type ? encodingFor(choice.type) : { options: {} };
    const facts = [planText(steps), device, type, JSON.stringify(options)];
    return { steps, device, type, options, causes: [...facts, ...Object.values(filesOf(steps))] };
}

async function request({ file, row }, { steps, device, type, options }, signal) {
    const requestId = newRequestId();
    const asking = setInterval(async () => {
        const now = await progress(requestId).catch(() => null);
        if (now) showRowProgress(row, now);
    }, PROGRESS_MS);
    const input = { blob: file };
    return fullRun({ input, steps, device }, { type, options, requestId, signal }).finally(() =>
        clearInterval(asking),
    );
}

const pause = (seconds) => new Promise((resolve) => setTimeout(resolve, 1000 * seconds));

/** Waits and tries again while the daemon has no room. */
async function patiently(item, job, signal) {
    for (let tries = 1; ; tries++) {
        try {
            return await request(item, job, signal);
        } catch (error) {
            if (error.status !== 503 || tries === TRIES_MAX) throw error;
            showRow(item.row, 'working', 'Waiting for room…');
            await pause(error.retryAfter || 1);
            signal.throwIfAborted();
        }
    }
}

async function make(item, job, signal) {
    showRow(item.row, 'working');
    try {
        const { blob } = await patiently(item, job, signal);
        item.made = { blob, crc: await crcOf(blob), causes: job.causes };
        showRow(item.row, 'done', sizeText(item.file.size, blob.size));
    } catch (error) {
        if (signal.aborted) return showRow(item.row, 'waiting');
        if (error instanceof Gone) gone();
        showRow(item.row, 'failed', sentenceOf(error.message));
    }
    return queueChanged();
}

const isMade = (item, { causes }) => item.made && isSame(item.made.causes, causes);

/** Makes what is not made yet, and then the ZIP file. */
async function run() {
    const job = jobNow();
    const { signal } = (control = new AbortController());
    const left = items.filter((item) => !isMade(item, job));
    for (const { row } of left) showRow(row, 'waiting');
    queueChanged();
    const worker = async () => {
        for (let item; !signal.aborted && (item = left.shift());) await make(item, job, signal);
    };
    await Promise.all(Array.from({ length: AT_A_TIME }, worker));
    control = null;
    queueChanged();
    byId('queue-run').focus();
    if (signal.aborted) return say('Cancelled: the pictures that are done are kept.');
    return finish(items.filter((item) => isMade(item, job)));
}

/** An ending by the file's own type: the daemon chooses one if none is asked for. */
const endingOf = ({ type }) =>
    writtenFormats.find(({ media_types }) => media_types.includes(type)).endings[0];

function finish(made) {
    mark('queue', `${made.length} of ${items.length}`);
    if (!made.length) return say('No picture could be made: the list says why.');
    const paths = made.map(({ path, made: { blob } }) => ({ path, ending: endingOf(blob) }));
    const names = uniqueNames(paths);
    try {
        const zip = zipOf(made.map((item, i) => ({ name: names[i], ...item.made })));
        saveBlob(zip, 'pictures.zip');
        if (made.length === items.length && page.result) page.result.saved = true;
        return say(`Saved ${whole(made.length)} pictures as pictures.zip, ${byteCount(zip.size)}.`);
    } catch (error) {
        return say(error.message);
    }
}

// ---- the list

/** For example "Each as JPEG, quality 70, after resize:width=320". */
function howText({ steps, type, options }) {
    const as = type ? `as ${describe({ type, options }, byteCount)}` : 'in its own type';
    return `Each ${as}${steps.length ? `, after ${planText(steps)}` : ''}`;
}

/** The open picture, the steps or the choice of Save have changed. */
export function queueChanged() {
    if (!items.length) return;
    const job = jobNow();
    if (!control)
        for (const item of items)
            if (item.made && !isMade(item, job)) showRow(item.row, 'waiting');
    const opened = page.input?.blob;
    showQueue(items, { working: control !== null, how: howText(job), opened });
}

function add(files) {
    const added = files.map(({ file, path }) => {
        const item = { file, path, made: null };
        item.row = newRow(path.replace(/^\//, ''), () => open(file));
        showRow(item.row, 'waiting', byteCount(file.size));
        return item;
    });
    items.push(...added);
    byId('queue-list').append(...added.map(({ row }) => row));
}

function close() {
    items = [];
    byId('queue-list').replaceChildren();
    byId('queue').hidden = true;
    byId('open').focus();
}

/** FILES: a list of { file, path }. One is opened; several make a queue, or join it. */
export function take(files) {
    if (!files.length) return void say('There is no file in it.');
    if (files.length > 1 || items.length) add(files);
    queueChanged();
    return open((files.find(({ file }) => isPicture(file)) ?? files[0]).file);
}

export function listenToQueue() {
    byId('queue-run').addEventListener('click', run);
    byId('queue-cancel').addEventListener('click', () => control?.abort());
    byId('queue-close').addEventListener('click', close);
}
