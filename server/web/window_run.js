// A large result is first asked for at the size of the window, in a hundredth of its bytes. The
// whole result follows when more of it is to be seen than was sent. Save asks for its own file.
import { sizesOf } from './geometry.js';
import { page, viewer } from './page.js';
import { operations } from './plan.js';

const LARGE_PIXELS = 4e6; // a smaller result is sent as a whole
const STEPS_MAX = 10; // of the daemon: one more makes it smaller
const OPTIONS = { quality: '90' };
const SHARP = 1.01; // screen pixels per sent pixel that nobody sees: rounding

/** A colour with an opacity may make an opaque picture transparent. */
const mayBeTransparent = ({ input, steps }) =>
    (input.type !== 'jpeg' && input.counts?.transparent !== false) ||
    steps.some(({ values }) => Object.values(values).some((text) => /^#?[\da-f]{8}$/i.test(text)));

/**
 * Returns the size of the STATE's result, and what a request for it at the window's size has other
 * than one for all of it. Null: it is small, its size is not known, or its steps take files, and so
 * may be too slow to be run twice.
 */
export function windowRun(state) {
    const { input, steps } = state;
    const full = sizesOf(steps, input.picture).at(-1);
    const isSlow = steps.some(({ operator }) => operator.parts.length);
    if (!full || isSlow || steps.length >= STEPS_MAX) return null;
    if (full.width * full.height <= LARGE_PIXELS) return null;
    const { canvas } = viewer;
    const scale = Math.min(canvas.width / full.width, canvas.height / full.height);
    const [width, height] = [full.width, full.height].map((side) =>
        String(Math.max(1, Math.round(side * scale))),
    );
    if (scale > 0.5) return null; // little less than all of it
    const last = { operation: 'resize', params: { width, height, fit: 'fill' } };
    const type = mayBeTransparent(state) ? { type: 'png' } : { type: 'jpeg', options: OPTIONS };
    return { full, request: { operations: [...operations(steps), last], ...type } };
}

/** Makes RESULT one of the whole picture's size; its file is not the result's. */
export function takeWindow(result, { full }) {
    const { picture, report } = result;
    picture.unit = [full.width / picture.width, full.height / picture.height];
    report.whole = full;
    result.blob = null;
}

/** Asks for the whole result, once, when it is seen larger than it was sent. */
export function listenToZoom() {
    viewer.painted.push(() => {
        const { result, runner } = page;
        if (!result || result.isWhole || result.asked || runner.isWorking) return;
        if (viewer.after !== result.picture) return;
        if (viewer.scene.after.width * viewer.zoom <= SHARP * result.picture.width) return;
        result.asked = true;
        runner.runFull(true);
    });
}
