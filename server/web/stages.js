// The pictures of all stages: input, after each step, output, and the seams; which of them are
// compared.
import { byId, whole } from './element.js';
import { drawFilmstrip } from './filmstrip.js';
import { failed } from './connection.js';
import { mark, page, state, stepList, viewer } from './page.js';
import { openPicture } from './picture.js';
import { copyOf, filesOf, operations, planText } from './plan.js';
import { previewOf } from './runner.js';
import { seamsOf, seamStep, showSeams } from './seams.js';
import { run } from './service.js';

const stepText = (count) => planText(stepList.steps.slice(0, count));

const chosenStep = () => (page.chosen.startsWith('step-') ? Number(page.chosen.slice(5)) : 0);

/** What stands left of the divider: { picture, name }. */
function beforeStage() {
    const between = page.between.get(stepText(chosenStep()))?.picture;
    if (page.chosen === 'output') return { picture: null, name: '' };
    if (chosenStep() && between) return { picture: between, name: `After step ${chosenStep()}` };
    return { picture: page.input?.picture ?? null, name: 'Input' };
}

// ---- what is shown

export function showPictures() {
    if (chosenStep() >= stepList.steps.length)
        page.chosen = page.chosen === 'output' ? 'output' : 'input';
    showViewer();
    drawStrip();
}

export function showViewer() {
    const after = page.preview ?? page.result?.picture ?? page.input?.picture ?? null;
    const before = beforeStage();
    byId('empty').hidden = page.input !== null;
    const comparable = page.result || page.preview ? before.picture : null;
    if (after) viewer.show(comparable, after, [before.name, page.preview ? 'Preview' : 'Output']);
    else viewer.clear();
    byId('canvas').setAttribute('aria-label', describe(after));
}

function describe(after) {
    if (!after || !page.input) return 'No picture yet';
    const size = `${whole(after.fullWidth)} by ${whole(after.fullHeight)} pixels`;
    if (!stepList.steps.length || after === page.input.picture)
        return `${page.input.name}, ${size}`;
    return `${page.input.name} after ${stepList.steps.map((step) => step.operator.name).join(', ')}, ${size}`;
}

function drawStrip() {
    if (!page.input?.picture || !page.result) return drawFilmstrip([], '', choose);
    const items = [{ name: 'Input', picture: page.input.picture, exact: true, key: 'input' }];
    stepList.steps.slice(0, -1).forEach((step, i) => {
        const between = page.between.get(stepText(i + 1));
        const exact = between?.full || page.input.preview?.scale === 1;
        const name = `${i + 1} ${step.operator.name}`;
        const stage = { name, picture: between?.picture ?? null, exact, key: `step-${i + 1}` };
        if (!step.operator.values) items.push(stage);
    });
    items.push({ name: 'Output', picture: page.result.picture, exact: true, key: 'output' });
    return drawFilmstrip(items, page.chosen, choose);
}

export function setComparing(on) {
    viewer.setComparing(on);
    byId('compare').setAttribute('aria-pressed', String(on));
}

// ---- the pictures between the steps

/** KEY stands left of the divider from now on. */
export function choose(key) {
    page.chosen = key;
    setComparing(key !== 'output');
    showPictures();
    byId('filmstrip').querySelector(`[data-key="${key}"]`)?.focus();
    fillChosen().catch(failed);
}

/** The chosen one in full. */
async function fillChosen() {
    const { input, device } = page;
    const count = chosenStep();
    const text = stepText(count);
    if (!count || page.between.get(text)?.full) return;
    const steps = copyOf(stepList.steps.slice(0, count));
    const answer = await run({
        operations: operations(steps),
        image: input.blob,
        files: filesOf(steps),
        type: 'png',
        device,
    });
    keepBetween(input, text, { picture: await openPicture(answer.blob), full: true });
}

/** All others small, one after the other, while nothing else is to be done. */
async function fillOthers() {
    const { input, result } = page;
    for (let count = 1; count < stepList.steps.length; count++) {
        const text = stepText(count);
        if (page.between.has(text) || stepList.steps[count - 1].operator.values) continue;
        if (!input.preview) return;
        const steps = copyOf(stepList.steps.slice(0, count));
        const picture = await previewOf({ input, steps, device: page.device });
        keepBetween(input, text, { picture, full: false });
        if (result !== page.result || input !== page.input) return;
    }
}

/** What fails here fails in the whole too, which says so. */
export async function fillStrip() {
    forgetBetween((text) => !isStage(text));
    await fillOthers().catch(() => {});
    await fillChosen().catch(() => {});
}

const isStage = (text) => stepList.steps.some((_, i) => i > 0 && stepText(i) === text);

function keepBetween(input, text, made) {
    if (input !== page.input || !isStage(text)) return made.picture.close();
    const old = page.between.get(text);
    page.between.set(text, made);
    showPictures();
    return old?.picture.close();
}

/** Those of which WHICH says so. */
export function forgetBetween(which = () => true) {
    for (const [text, { picture }] of page.between) {
        if (!which(text)) continue;
        page.between.delete(text);
        picture.close();
    }
}

// ---- seams

export function dropSeams() {
    viewer.overlay?.close();
    viewer.overlay = null;
}

/** The button's place, and where it is pressed the seams of what is shown now. */
export async function updateSeams() {
    const { result, input } = page;
    dropSeams();
    viewer.paint();
    showSeams(
        byId('seams'),
        { steps: result ? stepList.steps : [], input },
        page.seams,
        toggleSeams,
    );
    if (!page.seams || !result || seamStep(stepList.steps) < 0 || !input.preview) return;
    const picture = await seamsOf(state()).catch((error) => (failed(error), null));
    if (result !== page.result || !page.seams) return void picture?.close();
    dropSeams();
    viewer.overlay = picture;
    viewer.paint();
    mark('seams', result.text);
}

function toggleSeams(on) {
    const step = seamStep(stepList.steps);
    page.seams = on;
    if (on) choose(step > 0 ? `step-${step}` : 'input');
    updateSeams();
    byId('show-seams')?.focus();
}
