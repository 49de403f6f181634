// The seams of a carving step, drawn over the picture that it gets, coloured by their order. The
// daemon draws the seams of a change; those of a smaller change are the first of them, so a few
// such pictures show the order.
import { drawing, element } from './element.js';
import { openSeams } from './picture.js';
import { operations, parameterOf } from './plan.js';
import { fittedFiles } from './runner.js';
import { scaledSteps } from './scaled_plan.js';
import { run } from './service.js';

const PARTS = 8; // of the change, each with a colour
export const seamColours = [
    '#ffe945',
    '#ffb938',
    '#ff8a3d',
    '#f95f52',
    '#de3f72',
    '#b32d91',
    '#7c2ba6',
    '#4a24a0',
];

/** The index of the first step that can draw seams and draws nothing else now; -1: none. */
export function seamStep(steps) {
    return steps.findIndex(
        (step) =>
            parameterOf(step, 'show')?.choices?.includes('seams') &&
            (step.values.show ?? 'result') === 'result',
    );
}

const number = (step, name) => (step.values[name] ? Number(step.values[name]) : 0);

/** The change of the picture's sides, in its own pixels. */
function changeOf(step, picture) {
    const dx = step.values.width ? number(step, 'width') - picture.width : number(step, 'dx');
    const dy = step.values.height ? number(step, 'height') - picture.height : number(step, 'dy');
    return { dx, dy };
}

const isNothing = ({ dx, dy }, { files }) => !dx && !dy && !files.rmask;

/**
 * A change of both sides takes the cheaper seam first, and any change with an rmask removes all of
 * it, so parts of the change do not show the order.
 */
const isOrdered = ({ dx, dy }, { files }) => !files.rmask && (!dx || !dy);

/** The same step with a part of its change, set to draw seams. */
function partOf(step, change, share) {
    const values = {
        ...step.values,
        show: 'seams',
        dx: String(Math.round(change.dx * share)),
        dy: String(Math.round(change.dy * share)),
    };
    delete values.width;
    delete values.height;
    return { ...step, values };
}

/** Returns a picture of only the seams, coloured by their order; null: there are none. */
export async function seamsOf({ input, steps, device }) {
    const at = seamStep(steps);
    const { bytes, width, height } = input.preview;
    const change = changeOf(steps[at], input.picture);
    if (isNothing(change, steps[at])) return null;
    const files = await fittedFiles(scaledSteps(steps, input.preview), input.preview);
    const ask = async (share) => {
        const list = [...steps.slice(0, at), partOf(steps[at], change, share)];
        const masks = share || !steps[at].files.rmask ? files : {};
        const plan = { operations: operations(scaledSteps(list, input.preview)), files: masks };
        return (await run({ ...plan, bytes, type: 'pnm', device, raw: true })).bytes;
    };
    const parts = isOrdered(change, steps[at]) ? PARTS : 1;
    const images = []; // the first without a seam
    for (let part = 0; part <= parts; part++) images.push(await ask(part / parts));
    const picture = await openSeams(images, parts === 1 ? seamColours.slice(3, 4) : seamColours);
    picture.unit = [input.picture.width / width, input.picture.height / height];
    return picture;
}

const legend = () =>
    element(
        'p',
        { className: 'legend' },
        'first ',
        drawing(
            'svg',
            {
                viewBox: `0 0 ${PARTS * 16} 10`,
                width: PARTS * 16,
                height: 10,
                role: 'img',
                'aria-label': 'Colours from the first seams to the last',
            },
            ...seamColours.map((fill, i) =>
                drawing('rect', { x: 16 * i, y: 0, width: 16, height: 10, fill }),
            ),
        ),
        ' last',
    );

function hintText(change, step, preview) {
    if (isNothing(change, step)) return 'None: this step does not change the size.';
    const place =
        preview?.scale < 1
            ? `The seams of the preview of ${preview.width} × ${preview.height}.`
            : '';
    if (isOrdered(change, step)) return place;
    const which = step.files.rmask ? 'that go and that come back' : 'of both directions';
    return `Seams ${which}, without their order. ${place}`;
}

/** TOGGLE is called with true or false. */
export function showSeams(box, { steps, input }, on, toggle) {
    if (seamStep(steps) < 0) return box.replaceChildren();
    const step = steps[seamStep(steps)];
    const change = changeOf(step, input.picture);
    const button = element(
        'button',
        {
            type: 'button',
            id: 'show-seams',
            'aria-pressed': String(on),
            onclick: () => toggle(!on),
        },
        'Show the seams over the input',
    );
    const hint = () => element('p', { className: 'hint' }, hintText(change, step, input.preview));
    const ordered = isOrdered(change, step) && (change.dx || change.dy);
    box.replaceChildren(
        element('h3', {}, 'Seams'),
        button,
        ...(on ? [ordered ? legend() : '', hint()] : []),
    );
    return undefined;
}
