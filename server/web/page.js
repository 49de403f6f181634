// What is open, what is done to it and what has come of it; and the parts of the window that
// several modules speak to. main.js puts in what starts the work: `page.changed`, `page.runner`
// and `page.live`.
import { byId } from './element.js';
import { Histograms } from './histogram.js';
import { copyOf } from './plan.js';
import { StepList } from './steps.js';
import { Viewer } from './viewer.js';

export const page = {
    operators: [],
    ready: { workers: [] },
    device: 'auto',
    input: null, // { name, blob, type, picture, counts, preview, opened }
    result: null, // { blob, report, picture, counts, text, steps, saved }
    preview: null, // the picture while a value is dragged, maybe a live one
    chosen: 'input', // what stands left of the divider: input, output (nothing), or step-N
    between: new Map(), // pictures after a step that is not the last, by the text of the steps: { picture, full }
    seams: false, // shown over what is before
    gone: false, // the daemon
    changed: null, // (dragging): something that changes the result was changed
    runner: null,
    live: null, // the width that is dragged without the daemon
};

export const viewer = new Viewer();
export const histograms = new Histograms(byId('histograms'));
export const stepList = new StepList(
    (dragging) => page.changed(dragging),
    (step, parameter) => page.live.control(step, parameter),
);

/** The line below the picture. */
export const say = (text) => (byId('status').textContent = text);

/** What a run is made of, as it is now. */
export const state = () => ({
    input: page.input,
    steps: copyOf(stepList.steps),
    device: page.device,
});

export const unsaved = () => Boolean(page.result?.blob && !page.result.saved);

/** What tests, and style sheets, can see of the page's state: attributes of the root. */
export function mark(name, value) {
    if (value === null) delete document.documentElement.dataset[name];
    else document.documentElement.dataset[name] = value;
}
