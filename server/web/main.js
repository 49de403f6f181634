// The page starts here: reactions to changes, buttons and keys.
import { readAddress, writeAddress } from './address.js';
import { showCommands } from './commands.js';
import { connect, readSteps, runAgain } from './connection.js';
import { showDeviceChoice } from './devices.js';
import { byId } from './element.js';
import { guardLeaving, listenForFiles, showFormats } from './files.js';
import { LiveWidth } from './live.js';
import { hideNotice } from './notice.js';
import { open, recovery, stopReading } from './opening.js';
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
    showPreviewProblem,
    showResult,
} from './results.js';
import { Runner } from './runner.js';
import { JPEG_QUALITY, save } from './saving.js';
import { choose, drawStrip, forgetBetween, setComparing, showPictures } from './stages.js';

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
page.recovery = (error) => recovery(page.input.blob, error);

// ---- a change

let resting = 0;

page.changed = (dragging) => {
    clearTimeout(resting);
    if (dragging) resting = setTimeout(showState, REST_MS);
    else showState();
    const now = state();
    if (page.runner.knows(now)) return void (dragging || page.runner.hurry());
    mark('shown', null);
    hideNotice();
    say('');
    stepList.blame('');
    stepList.refresh();
    const live = page.live.changed();
    if (!page.input) return;
    page.runner.change(now, dragging, live);
    if (!stepList.steps.length) dropResult();
    else drawStrip();
};

/** Writes the address and the command lines. */
function showState() {
    const steps = stepList.steps;
    writeAddress({ steps: planText(steps), device: page.device });
    showCommands(byId('command-lines'), {
        origin: location.origin,
        steps,
        device: page.device,
        type: byId('save-type').value,
        inputType: page.input?.type ?? 'jpeg',
        input: page.input?.name ?? 'picture.jpg',
        quality: JPEG_QUALITY,
        damaged: page.input?.damaged ?? false,
    });
}

// ---- buttons and keys

/** UNDER: the points of both pictures under the pointer; null: it is not over the window. */
function pixelText(under) {
    const { before, after, isLeft } = under ?? {};
    if (!before && !after) return '';
    const [x, y] = (isLeft ? before : after) ?? before ?? after;
    const colours = ['before', 'after']
        .filter((side) => viewer.scene[side] && (viewer.scene.kind === 'over' || under[side]))
        .map((side) => colour(under[side] && viewer[side].pixel(...under[side])));
    return `${Math.floor(x)}, ${Math.floor(y)}  ${colours.join(' → ')}`;
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
    const typing = event.target.closest?.('input, select, textarea');
    if (command && event.key === 'o') byId('file-input').click();
    else if (command && event.key === 's') save();
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
    on('save', 'click', save);
    on('save-type', 'change', showState);
    on('device', 'change', takeDevice);
    viewer.pointed = (under) => (byId('pixel').textContent = pixelText(under));
    addEventListener('hashchange', takeAddress);
    addEventListener('keydown', key);
}

showFormats();
listenForFiles(open);
guardLeaving(unsaved);
listen();
page.device = readAddress().device;
connect().then(() => {
    showState();
    mark('ready', '');
});
