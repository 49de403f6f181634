// Asks the daemon for the map of a carving step's seams and for the picture that the step gets:
// every width is made from these two.
//
// A picture of at most LIVE_PIXELS is used itself, of a larger one its preview.
import { whole } from './element.js';
import { LivePicture } from './live_picture.js';
import { openPlan } from './picture.js';
import { fileStep, filesOf, operations, parameterOf, planText, stepText } from './plan.js';
import { pngHead } from './png.js';
import { fittedFiles } from './runner.js';
import { scaledSteps } from './scaled_plan.js';
import { newRequestId, progress, run } from './service.js';

const LIVE_PIXELS = 1 << 21; // 1920 x 1080 is less
const SIDE_MAX = 32767; // pixels of a canvas, in every browser
const PROGRESS_MS = 150;

export const tellsMap = (step) => parameterOf(step, 'show')?.choices?.includes('map');

/** The step's text without the parameters that set the width. */
export const textButWidth = (step) =>
    stepText({ ...step, values: { ...step.values, width: undefined, dx: undefined } });

/** The picture to carve: { image or bytes, scale, unit }; null: it is not loaded yet. */
function sourceOf({ blob, picture: { width, height }, preview }) {
    if (width * height <= LIVE_PIXELS) return { image: blob, scale: 1, unit: [1, 1] };
    if (!preview) return null;
    const unit = [width / preview.width, height / preview.height];
    return { bytes: preview.bytes, scale: preview.scale, unit };
}

/** The reason why INPUT's picture has no map now; '': it has one. */
export function hindrance(input, { values, files }) {
    if (!input?.picture) return 'Open a picture first.';
    if (values.height || Number(values.dy ?? 0)) return 'Works only for the width: reset height and dy.';
    if ((values.show ?? 'result') !== 'result') return 'Works only while show is result.';
    if (files.rmask) return 'Works only without rmask, which is removed before the width changes.';
    return sourceOf(input) ? '' : 'One moment: the preview is being made.';
}

const before = (steps, step) => steps.slice(0, steps.indexOf(step));

/** All that the map depends on. */
export function subjectOf({ input, steps }, step) {
    const { mask, rmask } = filesOf(steps);
    return [input, planText(before(steps, step)), textButWidth(step), mask, rmask];
}

/** The files of STEPS for a picture of that scale. */
const filesAt = (scale, input, steps) =>
    scale < 1
        ? fittedFiles(scaledSteps(steps, input.preview), input.preview)
        : fittedFiles(steps, input.picture);

/** Returns the picture that the step gets, as a PNG. */
async function pictureBefore({ input, steps, device }, step, { scale, image, bytes, signal }) {
    const list = before(steps, step);
    const small = scale < 1 ? scaledSteps(list, input.preview) : list;
    const files = await filesAt(scale, input, list);
    const plan = { operations: operations(small), files, type: 'png' };
    return (await run({ ...plan, image, bytes, device, raw: true, signal })).bytes;
}

/** Earlier steps may have enlarged the picture beyond a browser's limits. */
function checkSize({ width, height }) {
    if (width * height <= LIVE_PIXELS && Math.max(1.5 * width, height) <= SIDE_MAX) return;
    const [size, most] = [`${whole(width)} × ${whole(height)}`, whole(LIVE_PIXELS)];
    throw new Error(
        `A live width is limited to ${most} pixels with no side over ${whole(SIDE_MAX / 1.5)}; ` +
            `this step gets ${size}. Put a resize before it, or set its width without.`,
    );
}

/** Returns the map, with seams for half the columns of PNG, as a PNG too. */
async function mapOf(png, { input, steps, device }, step, { scale, signal, requestId }) {
    const size = pngHead(png);
    checkSize(size);
    const dx = String(-Math.min(size.width >> 1, size.width - 1));
    const only = { ...step, values: { ...step.values, width: undefined, dx, show: 'map' } };
    const files = fileStep(steps) === step ? await filesAt(scale, input, steps) : {};
    const plan = { operations: operations([only]), files, type: 'png' };
    return (await run({ ...plan, bytes: png, device, raw: true, signal, requestId })).bytes;
}

/** STATE: of a run. REPORT is called with answers of GET /progress. */
export async function livePicture(state, step, { signal, report }) {
    const facts = { ...sourceOf(state.input), signal, requestId: newRequestId() };
    const asking = setInterval(async () => {
        const now = await progress(facts.requestId).catch(() => null);
        if (now?.total && !signal.aborted) report(now);
    }, PROGRESS_MS);
    try {
        const png = await pictureBefore(state, step, facts);
        const map = await mapOf(png, state, step, facts);
        return new LivePicture(await openPlan(png, map), facts);
    } finally {
        clearInterval(asking);
    }
}
