// Several pictures: the steps and the choice of Save hold for all of them, and one ZIP file comes
// out. One of them is open on the page.
import { gone } from './connection.js';
import { byId, byteCount, element, whole } from './element.js';
import { choice, describe, encodingFor } from './encoding.js';
import { isPicture, saveBlob } from './files.js';
import { writtenFormats } from './formats.js';
import { sentenceOf } from './notice.js';
import { open } from './opening.js';
import { mark, page, say, state } from './page.js';
import { openPanel } from './panels.js';
import { filesOf, planText } from './plan.js';
import { newRow, showQueue, showRow, showRowProgress, sizeText } from './queue_view.js';
import { fullRun } from './runner.js';
import { changing, isSame, isShown } from './saving.js';
import { Gone, newRequestId, progress } from './service.js';
import { crcOf, uniqueNames, zipOf } from './zip.js';

const AT_A_TIME = 4; // requests: a browser has six connections
const PROGRESS_MS = 400;
const TRIES_MAX = 20; // while the daemon has no room

let items = []; // { file, path, row, accept, damaged, working, made, failed }
// accept: the button that takes what can be read of a damaged picture, damaged: it was pressed;
// made: { blob, crc, causes, saved }; failed: { text, causes, damaged }
let work = null; // { job, left, control }, with an AbortController

// ---- the work

/** The steps, the type and its options, and everything that makes another file of a picture. */
function jobNow() {
    const { steps: all, device } = state();
    const steps = changing(all);
    const { type, options } = choice.type ? encodingFor(choice.type) : { options: {} };
    const facts = [planText(steps), device, type, JSON.stringify(options)];
    const { picture } = page.input ?? {}; // its masks are for this one
    return { steps, device, type, options, picture, causes: [...facts, ...Object.values(filesOf(steps))] };
}

async function request({ file, row, damaged }, { steps, device, type, options, picture }, signal) {
    const requestId = newRequestId();
    const asking = setInterval(async () => {
        const now = await progress(requestId).catch(() => null);
        if (now) showRowProgress(row, now);
    }, PROGRESS_MS);
    const input = { blob: file, picture };
    const more = { type, options, requestId, signal, damaged: damaged && 'accept' };
    return fullRun({ input, steps, device }, more).finally(() => clearInterval(asking));
}

/** Ends early if SIGNAL aborts. */
const pause = (seconds, signal) =>
    new Promise((resolve) => {
        setTimeout(resolve, 1000 * seconds);
        signal.addEventListener('abort', resolve, { once: true });
    });

/** Waits and tries again while the daemon has no room. */
async function patiently(item, job, signal) {
    for (let tries = 1; ; tries++) {
        try {
            return await request(item, job, signal);
        } catch (error) {
            if (error.status !== 503 || tries === TRIES_MAX) throw error;
            showRow(item.row, 'working', 'Waiting for room…');
            await pause(error.retryAfter || 1, signal);
            signal.throwIfAborted();
        }
    }
}

const canBeRead = (file) => file.slice(0, 1).arrayBuffer().then(() => true, () => false);

/** Without the daemon the work ends: a file that the browser cannot read looks the same at first. */
async function explain(error, { file }) {
    if (!(error instanceof Gone)) return sentenceOf(error.message);
    if (!(await canBeRead(file))) return 'The file cannot be read any more.';
    gone();
    work?.control.abort(error);
    return '';
}

async function make(item, job, signal) {
    item.working = true;
    showRow(item.row, 'working');
    try {
        const { blob } = await patiently(item, job, signal);
        item.made = { blob, crc: await crcOf(blob), causes: job.causes, saved: false };
    } catch (error) {
        const text = signal.aborted ? '' : await explain(error, item);
        const damaged = error.code === 'corrupt' && !item.damaged;
        if (!signal.aborted) item.failed = { text, causes: job.causes, damaged };
    }
    item.working = false;
    return queueChanged();
}

const isMade = ({ made }, { causes }) => made !== null && isSame(made.causes, causes);

/** NOW: the work in progress, or null. The button that takes the place of another takes its focus. */
function setWork(now) {
    const [from, to] = now ? ['queue-run', 'queue-cancel'] : ['queue-cancel', 'queue-run'];
    const isFocused = document.activeElement === byId(from);
    work = now;
    queueChanged();
    if (isFocused) byId(to).focus();
}

/** Makes what is not made yet of SOME, and returns the job; null: it was cancelled. */
async function makeAll(some) {
    const job = jobNow();
    const control = new AbortController();
    const { signal } = control;
    const left = some.filter((item) => !isMade(item, job));
    for (const item of left) item.failed = null;
    setWork({ job, left, control });
    const worker = async () => {
        for (let item; !signal.aborted && (item = left.shift());) await make(item, job, signal);
    };
    await Promise.all(Array.from({ length: AT_A_TIME }, worker));
    setWork(null);
    if (!signal.aborted) return job;
    const why = signal.reason instanceof Gone ? signal.reason.message : 'Cancelled.';
    const count = whole(items.filter((item) => isMade(item, job)).length);
    say(`${why} ${count} of ${whole(items.length)} pictures are done and kept.`);
    return null;
}

/** Makes what is not made yet, and then the ZIP file. */
async function run() {
    const job = await makeAll(items);
    if (job) finish(items.filter((item) => isMade(item, job)), job);
}

/** Takes what can be read of a damaged picture. */
async function accept(item) {
    item.damaged = true;
    item.row.firstChild.focus(); // the button goes
    if (work) {
        item.failed = null;
        work.left.push(item);
        return queueChanged();
    }
    const job = await makeAll([item]);
    if (job && isMade(item, job))
        say(`${item.file.name} is made of what can be read. Save all as ZIP takes it in.`);
    return undefined;
}

/** An ending by the file's own type: the daemon chooses one if none is asked for. */
const endingOf = ({ type }) =>
    writtenFormats.find(({ media_types }) => media_types.includes(type)).endings[0];

function finish(made, { steps }) {
    mark('queue', `${made.length} of ${items.length}`);
    if (!made.length) return say('No picture could be made: the list says why.');
    try {
        const paths = made.map(({ path, made: { blob } }) => ({ path, ending: endingOf(blob) }));
        const names = uniqueNames(paths);
        const zip = zipOf(made.map((item, i) => ({ name: names[i], ...item.made })));
        saveBlob(zip, 'pictures.zip');
        for (const item of made) item.made.saved = true;
        const { input, result } = page;
        const isIn = made.some(({ file }) => file === input?.file);
        if (isIn && isShown({ input, steps })) result.saved = true;
        const isAll = made.length === items.length;
        const count = isAll ? whole(made.length) : `${whole(made.length)} of ${whole(items.length)}`;
        return say(`Saved ${count} pictures as pictures.zip, ${byteCount(zip.size)}.`);
    } catch (error) {
        return say(error.message);
    }
}

/** Whether the work goes on, or has made files that are in no ZIP file yet. */
export const isQueueUnsaved = () =>
    work !== null || items.some(({ made }) => made !== null && !made.saved);

// ---- the list

/** For example "Each as JPEG, quality 70, after resize:width=320". */
function howText({ steps, type, options }) {
    const as = type ? `as ${describe({ type, options }, byteCount)}` : 'in its own type';
    return `Each ${as}${steps.length ? `, after ${planText(steps)}` : ''}`;
}

/** Shows what JOB has made of the item. */
function showItem(item, job) {
    const { file, row, working, made, failed, accept: button } = item;
    if (working) return;
    if (isMade(item, job)) showRow(row, 'done', sizeText(file.size, made.blob.size));
    else if (failed && isSame(failed.causes, job.causes))
        showRow(row, 'failed', failed.text, failed.damaged && button);
    else showRow(row, 'waiting', byteCount(file.size));
}

/** The open picture, the steps or the choice of Save have changed. */
export function queueChanged() {
    if (!items.length) return;
    const job = work?.job ?? jobNow();
    for (const item of items) showItem(item, job);
    const opened = page.input?.file;
    showQueue(items, { working: work !== null, how: howText(job), opened });
}

function add(files) {
    const added = files.map(({ file, path }) => {
        const item = { file, path, damaged: false, working: false, made: null, failed: null };
        item.row = newRow(path.replace(/^\//, ''), () => open(file, item.damaged));
        const onclick = () => accept(item);
        item.accept = element('button', { type: 'button', onclick }, 'Use what can be read');
        return item;
    });
    items.push(...added);
    byId('queue-list').append(...added.map(({ row }) => row));
    openPanel('queue');
}

function close() {
    items = [];
    byId('queue-list').replaceChildren();
    byId('queue').hidden = byId('tab-queue').hidden = true;
    if (document.documentElement.dataset.tab === 'queue') openPanel('steps');
    byId('open').focus();
}

/** FILES: a list of { file, path }. One is opened; several make a queue, or join it. */
export function take(files) {
    if (!files.length) return void say('There is no picture in it.');
    if (files.length > 1 || items.length) add(files);
    queueChanged();
    return open((files.find(({ file }) => isPicture(file)) ?? files[0]).file);
}

export function listenToQueue() {
    byId('queue-run').addEventListener('click', run);
    byId('queue-cancel').addEventListener('click', () => work?.control.abort());
    byId('queue-close').addEventListener('click', close);
}
