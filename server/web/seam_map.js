// Asks the daemon for the map of a carving step's seams, and for the picture that they are in: all
// that every width is made of.
//
// Of a picture of at most LIVE_PIXELS it is the picture itself, of a larger one its preview.
import { whole } from './element.js';
import { LivePicture } from './live_picture.js';
import { openPlan } from './picture.js';
import { fileStep, filesOf, operations, parameterOf, planText, stepText } from './plan.js';
import { pngHead } from './png.js';
import { previewFiles } from './runner.js';
import { newRequestId, progress, run } from './service.js';

const LIVE_PIXELS = 1 << 21; // 1920 x 1080 is less
const SIDE_MAX = 32767; // pixels of a canvas, in every browser
const PROGRESS_MS = 150;

export const tellsMap = (step) => parameterOf(step, 'show')?.choices?.includes('map');

/** The step's text without what the width comes from. */
export const textButWidth = (step) =>
    stepText({ ...step, values: { ...step.values, width: undefined, dx: undefined } });

/** What is carved: { image or bytes, scale, unit }; null: that is not there yet. */
function sourceOf({ blob, picture: { width, height }, preview }) {
    if (width * height <= LIVE_PIXELS) return { image: blob, scale: 1, unit: [1, 1] };
    if (!preview) return null;
    const unit = [width / preview.width, height / preview.height];
    return { bytes: preview.bytes, scale: preview.scale, unit };
}

/** Why INPUT's picture has no map just now; '': it has. */
export function hindrance(input, { values }) {
    if (!input?.picture) return 'Open a picture first.';
    if (values.height || Number(values.dy ?? 0)) return 'Of the width alone: reset height and dy.';
    if ((values.show ?? 'result') !== 'result') return 'Only where show is result.';
    return sourceOf(input) ? '' : 'In a moment: the preview is being made.';
}

const before = (steps, step) => steps.slice(0, steps.indexOf(step));

/** What the map depends on; the same parts, the same map. */
export function subjectOf({ input, steps }, step) {
    const { mask, rmask } = filesOf(steps);
    return [input, planText(before(steps, step)), textButWidth(step), mask, rmask];
}

/** The picture as the step gets it: a PNG. */
async function pictureBefore({ input, steps, device }, step, { scale, image, bytes, signal }) {
    const list = before(steps, step);
    const files = scale < 1 ? await previewFiles(list, input) : filesOf(list);
    const plan = { operations: operations(list, scale), files, type: 'png' };
    return (await run({ ...plan, image, bytes, device, raw: true, signal })).bytes;
}

/** What the steps before it have enlarged may be too much for a browser. */
function checkSize({ width, height }) {
    if (width * height <= LIVE_PIXELS && Math.max(1.5 * width, height) <= SIDE_MAX) return;
    const [size, most] = [`${whole(width)} × ${whole(height)}`, whole(LIVE_PIXELS)];
    throw new Error(
        `A live width is for at most ${most} pixels, no side over ${whole(SIDE_MAX / 1.5)}, and ` +
            `this step gets ${size}. Put a resize before it, or set its width without.`,
    );
}

/** Of as many seams as half the width of PNG has columns: a PNG as well. */
async function mapOf(png, { input, steps, device }, step, { scale, signal, requestId }) {
    const size = pngHead(png);
    checkSize(size);
    const dx = String(-Math.min(size.width >> 1, size.width - 1));
    const only = { ...step, values: { ...step.values, width: undefined, dx, show: 'map' } };
    const mine = fileStep(steps) === step ? [step] : [];
    const files = scale < 1 ? await previewFiles(mine, input, size) : filesOf(mine);
    const plan = { operations: operations([only]), files, type: 'png' };
    return (await run({ ...plan, bytes: png, device, raw: true, signal, requestId })).bytes;
}

/** STATE: as a run's. TELL is called with what GET /progress tells. */
export async function livePicture(state, step, { signal, tell }) {
    const facts = { ...sourceOf(state.input), signal, requestId: newRequestId() };
    const asking = setInterval(async () => {
        const now = await progress(facts.requestId).catch(() => null);
        if (now?.total && !signal.aborted) tell(now);
    }, PROGRESS_MS);
    try {
        const png = await pictureBefore(state, step, facts);
        const map = await mapOf(png, state, step, facts);
        return new LivePicture(await openPlan(png, map), facts);
    } finally {
        clearInterval(asking);
    }
}
