// The page's state (input, steps, result), and the parts of the window that several modules use.
// main.js sets what other modules call here.
import { byId, element } from './element.js';
import { Histograms } from './histogram.js';
import { Palette } from './palette.js';
import { copyOf, isOn } from './plan.js';
import { StepList } from './steps.js';
import { Viewer } from './viewer.js';

export const page = {
    operators: [],
    ready: { workers: [] },
    device: 'auto',
    input: null, // { name, blob, file, type, picture, counts, preview, damaged }; file: the user's
    reading: null, // the file that is being opened
    result: null, // { blob, report, picture, counts, text, steps, only, isWhole, saved }
    preview: null, // the picture while a value is dragged; may be a live one
    chosen: 'input', // shown left of the divider: input, output (nothing), or step-N
    between: new Map(), // by the text of the steps: { picture, full } after them
    seams: false, // shown over the picture before
    gone: false, // the daemon
    connected: null, // reacts to an answer of the daemon: its operators are known
    changed: null, // (dragging): reacts to a change of the result's causes
    runner: null,
    recovery: null, // (error): the notice's button for a damaged picture
    live: null, // the live width: live.js
    bench: null, // the picture that a step gets, for a tool: bench.js
    brush: null, // paints masks: brush.js
    handles: null, // handles.js
};

export const viewer = new Viewer();
export const histograms = new Histograms(byId('histograms'));
export const stepList = new StepList(
    (dragging) => page.changed(dragging),
    (step, parameter) => page.live.control(step, parameter),
    (step, part) => page.brush.field(step, part),
    (step) => page.handles.control(step),
);

export const palette = new Palette(stepList);

/** The line below the picture; ACTION: { text, run } is a button after it. */
export function say(text, action) {
    const facts = { type: 'button', className: 'link', onclick: () => action.run() };
    byId('status').replaceChildren(text);
    if (action) byId('status').append(' ', element('button', facts, action.text));
}

/** The state of a run: of the steps that are on, with their numbers in the list. */
export function state() {
    const numbered = copyOf(stepList.steps).map((step, i) => ({ ...step, number: i + 1 }));
    return { input: page.input, steps: numbered.filter(isOn), device: page.device };
}

export const unsaved = () => Boolean(page.result && !page.result.only && !page.result.saved);

/** Publishes a part of the page's state as an attribute of the root, for tests and style sheets. */
export function mark(name, value) {
    if (value === null) delete document.documentElement.dataset[name];
    else document.documentElement.dataset[name] = value;
}
