// The page starts here: reactions to changes, buttons and keys.
import { readAddress, writeAddress } from './address.js';
import { showCommands } from './commands.js';
import { connect, readSteps } from './connection.js';
import { showDeviceChoice } from './devices.js';
import { byId } from './element.js';
import { guardLeaving, listenForFiles, showFormats } from './files.js';
import { LiveWidth } from './live.js';
import { closeInput } from './opening.js';
import { mark, page, say, state, stepList, unsaved, viewer } from './page.js';
import { planText } from './plan.js';
import {
    dropPreview,
    dropResult,
    showBusy,
    showCounts,
    showFailure,
    showIdle,
    showPreview,
    showPreviewCounts,
    showResult,
} from './results.js';
import { listenToQueue, queueChanged, take } from './queue.js';
import { Runner } from './runner.js';
import { listenToSaving, saveByKey, savingChanged } from './saving.js';
import { encodingFor } from './encoding.js';
import { choose, forgetBetween, setComparing, showPictures } from './stages.js';

const REST_MS = 200; // after dragging, until address and command lines follow

page.runner = new Runner({
    idle: showIdle,
    busy: showBusy,
    preview: showPreview,
    previewCounts: showPreviewCounts,
    result: showResult,
    counts: showCounts,
    problem: showFailure,
});
page.live = new LiveWidth();

// ---- a change

let resting = 0;

page.changed = (dragging) => {
    clearTimeout(resting);
    if (dragging) resting = setTimeout(showState, REST_MS);
    else showState();
    mark('shown', null);
    stepList.blame('');
    const live = page.live.changed();
    savingChanged();
    if (!page.input) return;
    if (!stepList.steps.length) dropResult();
    page.runner.change(state(), dragging, live);
};

/** Writes the address and the command lines. */
function showState() {
    queueChanged();
    const steps = stepList.steps;
    writeAddress({ steps: planText(steps), device: page.device });
    showCommands(byId('command-lines'), {
        origin: location.origin,
        steps,
        device: page.device,
        ...encodingFor(page.input?.type ?? 'jpeg'),
        inputType: page.input?.type ?? 'jpeg',
        input: page.input?.name,
    });
}

// ---- buttons and keys

function pixelText(x, y) {
    if (!viewer.after || !(x >= 0 && y >= 0)) return '';
    const after = viewer.after.pixel(x, y);
    const before = viewer.isComparing ? `${colour(viewer.before.pixel(x, y))} → ` : '';
    return after ? `${Math.floor(x)}, ${Math.floor(y)}  ${before}${colour(after)}` : '';
}

/** Returns #rrggbb, with alpha if it is not opaque. */
function colour(samples) {
    if (!samples) return '–';
    const shown = samples.slice(0, samples[3] === 255 ? 3 : 4);
    return `#${Array.from(shown, (sample) => sample.toString(16).padStart(2, '0')).join('')}`;
}

function toggleComparing() {
    if (page.chosen === 'output') choose('input');
    else setComparing(!viewer.comparing);
}

function cancel() {
    page.runner.stop();
    dropPreview();
    if (page.input?.picture) showPictures();
    else closeInput();
    say('Cancelled.');
}

function takeDevice() {
    page.device = byId('device').value;
    forgetBetween();
    showPictures();
    page.changed(false);
}

/** The user has changed the address. */
function takeAddress() {
    const address = readAddress();
    page.device = address.device;
    showDeviceChoice(page.ready, page.device);
    readSteps(address.steps);
    page.changed(false);
}

function key(event) {
    const command = event.ctrlKey || event.metaKey;
    const typing = event.target.closest?.('input, select, textarea, dialog');
    if (command && event.key === 'o') byId('file-input').click();
    else if (command && event.key === 's') saveByKey();
    else if (!command && !typing && event.key === 'c') toggleComparing();
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
    on('device', 'change', takeDevice);
    viewer.pointed = (x, y) => (byId('pixel').textContent = pixelText(x, y));
    addEventListener('hashchange', takeAddress);
    addEventListener('keydown', key);
}

showFormats();
listenToSaving(showState);
listenForFiles(take);
listenToQueue();
guardLeaving(unsaved);
listen();
page.device = readAddress().device;
connect().then(() => {
    showState();
    mark('ready', '');
});
