// The page starts here: reactions to changes, buttons and keys.
import { listenToKey } from './access_key.js';
import { addressOf, readAddress } from './address.js';
import { Bench } from './bench.js';
import { Brush } from './brush.js';
import { showCommands } from './commands.js';
import { connect, readSteps, runAgain } from './connection.js';
import { showDeviceChoice } from './devices.js';
import { Edits } from './edits.js';
import { byId } from './element.js';
import { encodingFor } from './encoding.js';
import { guardLeaving, listenForFiles, showFormats } from './files.js';
import { Handles } from './handles.js';
import { areKeysOpen, listenToKeys, showKeys } from './keys.js';
import { LiveWidth } from './live.js';
import { hideNotice } from './notice.js';
import { recovery, stopReading } from './opening.js';
import { mark, page, say, state, stepList, unsaved, viewer } from './page.js';
import { listenToPanels } from './panels.js';
import { copyOf, offText, planText } from './plan.js';
import {
    dropPreview,
    dropResult,
    showBusy,
    showCounts,
    showFailure,
    showIdle,
    showPreview,
    showPreviewCounts,
    showPreviewProblem,
    showResult,
} from './results.js';
import { isQueueUnsaved, listenToQueue, queueChanged, take } from './queue.js';
import { Runner } from './runner.js';
import { closeSaving, listenToSaving, saveByKey, savingChanged } from './saving.js';
import { keepWhileScrolling } from './slider.js';
import { choose, drawStrip, forgetBetween, setComparing, showPictures } from './stages.js';
import { listenToZoom } from './window_run.js';

const REST_MS = 200; // after dragging, until address and command lines follow

page.runner = new Runner({
    idle: showIdle,
    busy: showBusy,
    preview: showPreview,
    previewProblem: showPreviewProblem,
    previewCounts: showPreviewCounts,
    result: showResult,
    counts: showCounts,
    problem: showFailure,
});
page.live = new LiveWidth();
page.bench = new Bench();
page.brush = new Brush();
page.handles = new Handles();
page.recovery = (error) => recovery(page.input.blob, error);

// ---- a change

let resting = 0;

page.changed = (dragging) => {
    clearTimeout(resting);
    if (dragging) resting = setTimeout(() => showState(true), REST_MS);
    else showState();
    const now = state();
    if (page.runner.knows(now)) return void (dragging || page.runner.hurry());
    mark('shown', null);
    hideNotice();
    say('');
    stepList.blame('');
    stepList.refresh();
    page.bench.changed();
    page.brush.changed();
    const live = page.live.changed();
    savingChanged();
    if (!page.input) return;
    page.runner.change(now, dragging, live);
    if (!now.steps.length) dropResult();
    else drawStrip();
};

/** Notes the edit and writes the command lines. DRAGGING: the edit goes on. */
function showState(dragging = false) {
    clearTimeout(resting);
    resting = 0;
    queueChanged();
    edits.note(planNow(), dragging);
    showEdits();
    showCommands(byId('command-lines'), {
        origin: location.origin,
        steps: stepList.active,
        device: page.device,
        ...encodingFor(page.input?.type ?? 'jpeg'),
        inputType: page.input?.type ?? 'jpeg',
        input: page.input?.name,
        damaged: page.input?.damaged ?? false,
    });
}

// ---- undo and redo

const planNow = () => ({ steps: stepList.steps, device: page.device });

const edits = new Edits(
    ({ steps, device }) => addressOf({ steps: planText(steps), off: offText(steps), device }),
    (plan) => {
        if (plan) stepList.restore(copyOf(plan.steps));
        takePlan(plan ?? readAddress(), !plan);
        edits.adopt(planNow());
        page.changed(false);
    },
);

/** Takes the device, and if IS_READ the steps, of a plan or of the address. */
function takePlan({ steps, off, device }, isRead) {
    page.device = device;
    showDeviceChoice(page.ready, page.device);
    if (isRead) readSteps(steps, off);
}

function showEdits() {
    byId('undo').disabled = !edits.canUndo;
    byId('redo').disabled = !edits.canRedo;
}

/** BY: -1 for undo, 1 for redo. An edit that goes on is completed first. */
async function travel(by) {
    await page.brush.masks.keeping; // the last stroke becomes an edit
    if (resting) showState();
    edits.go(by);
    showEdits();
}

// ---- buttons and keys

/** UNDER: the points of both pictures under the pointer; null: it is not over the window. */
function pixelText(under) {
    const { before, after, isLeft } = under ?? {};
    if (!before && !after) return '';
    const [x, y] = (isLeft ? before : after) ?? before ?? after;
    const colours = ['before', 'after']
        .filter((side) => viewer.scene[side] && (viewer.scene.kind === 'over' || under[side]))
        .map((side) => colourAt(viewer[side], under[side]));
    return `${Math.floor(x)}, ${Math.floor(y)}  ${colours.join(' → ')}`;
}

/** Returns #rrggbb, with alpha if it is not opaque; after ≈ if the picture was made smaller. */
function colourAt(picture, point) {
    const samples = point && picture.pixel(...point);
    if (!samples) return '–';
    const about = picture.unit[0] === 1 && picture.unit[1] === 1 ? '' : '≈ ';
    const shown = samples.slice(0, samples[3] === 255 ? 3 : 4);
    return `${about}#${Array.from(shown, (sample) => sample.toString(16).padStart(2, '0')).join('')}`;
}

function toggleComparing() {
    if (page.bench.site) page.bench.leave();
    else if (page.chosen === 'output') choose('input');
    else setComparing(!viewer.comparing);
}

function cancel() {
    if (page.reading) {
        stopReading();
        return say('Cancelled.');
    }
    page.runner.cancel();
    dropPreview();
    showPictures();
    return say('Cancelled.', { text: 'Run again', run: runAgain });
}

function takeDevice() {
    page.device = byId('device').value;
    forgetBetween();
    showPictures();
    page.changed(false);
}

/** The user has changed the address; the browser's Back and Forward do so, too. */
function takeAddress() {
    if (edits.isUnderWay || !edits.hasBegun) return;
    const { pathname, search, hash } = location;
    const { steps, device } = planNow();
    const known = addressOf({ steps: planText(steps), off: offText(steps), device });
    if (known === pathname + search + hash) return;
    takePlan(readAddress(), true);
    edits.adopt(planNow(), true);
    page.changed(false);
}

/** Escape closes only the topmost thing. */
function escape() {
    if (byId('settings').matches(':popover-open')) return; // the browser closes it
    if (!closeSaving()) page.bench.leave();
}

function key(event) {
    if (areKeysOpen()) return;
    const command = event.ctrlKey || event.metaKey;
    const text = event.target.closest?.('[type=number], [type=search], [type=text], [type=password], textarea');
    const typing = event.target.closest?.('select') || (text && text.type !== 'number'); // no letters there
    const letter = command && event.key.toLowerCase();
    if (event.key === 'Escape') return void escape();
    // A step's field is part of the plan; the browser undoes what is typed elsewhere.
    if (text && !text.closest('#steps') && ['z', 'y'].includes(letter)) return;
    if (command && event.key === 'o') byId('file-input').click();
    else if (command && event.key === 's') event.repeat || saveByKey();
    else if (letter === 'z') travel(event.shiftKey ? 1 : -1);
    else if (letter === 'y') travel(1);
    else if (!command && !typing && event.key === 'c') toggleComparing();
    else if (!command && !typing && event.key === '?') showKeys();
    else return;
    event.preventDefault();
}

function listen() {
    const on = (id, name, act) => byId(id).addEventListener(name, () => act());
    on('zoom-in', 'click', () => viewer.zoomTo(viewer.zoom * 1.5));
    on('zoom-out', 'click', () => viewer.zoomTo(viewer.zoom / 1.5));
    on('zoom-fit', 'click', () => viewer.fit());
    on('zoom-real', 'click', () => viewer.zoomTo(1));
    on('compare', 'click', toggleComparing);
    on('cancel', 'click', cancel);
    on('undo', 'click', () => travel(-1));
    on('redo', 'click', () => travel(1));
    on('device', 'change', takeDevice);
    viewer.pointed = (under) => (byId('pixel').textContent = pixelText(under));
    addEventListener('hashchange', takeAddress);
    addEventListener('keydown', key);
}

showFormats();
listenToPanels();
keepWhileScrolling();
listenToSaving(showState);
listenForFiles(take);
listenToQueue();
listenToZoom();
listenToKeys();
listenToKey(() => {
    hideNotice();
    if (page.input) runAgain();
});
guardLeaving(() => unsaved() || isQueueUnsaved());
listen();
page.device = readAddress().device;
page.connected = () => {
    if (!edits.hasBegun) edits.adopt(planNow());
    showState();
    if (page.input) runAgain();
    mark('ready', '');
};
connect();

export { page }; // for the browser's console
