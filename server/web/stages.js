// The pictures of all stages (input, after each step, output) and the seams, and which of them are
// compared.
import { byId, whole } from './element.js';
import { drawFilmstrip } from './filmstrip.js';
import { coverOf, sizesOf } from './geometry.js';
import { failed } from './connection.js';
import { mark, page, state, stepList, viewer } from './page.js';
import { openPicture } from './picture.js';
import { copyOf, planText, titleOf } from './plan.js';
import { fullRun, previewOf } from './runner.js';
import { seamsOf, seamStep, showSeams } from './seams.js';

/** The steps of the shown output: a failed change has no stages. */
const shownSteps = () => page.result?.steps ?? state().steps;

/** The number of steps after which the picture is the output's: later ones only report values. */
const outputCount = () => shownSteps().findLastIndex((step) => !step.operator.values) + 1;

const stepText = (count) => planText(shownSteps().slice(0, count));

const chosenStep = () => (page.chosen.startsWith('step-') ? Number(page.chosen.slice(5)) : 0);

/** The picture left of the divider, and the number of steps before it: { picture, name, count }. */
function beforeStage() {
    const count = chosenStep();
    const between = page.between.get(stepText(count))?.picture;
    if (page.chosen === 'output') return { picture: null, name: '', count: 0 };
    const number = shownSteps()[count - 1]?.number;
    if (count && between) return { picture: between, name: `After step ${number}`, count };
    return { picture: page.input?.picture ?? null, name: 'Input', count: 0 };
}

// ---- what is shown

export function showPictures() {
    if (chosenStep() && chosenStep() >= outputCount()) page.chosen = 'input';
    showViewer();
}

/** The picture right of the divider. */
function afterName() {
    if (!page.preview) return 'Output';
    return page.preview.name ?? 'Preview';
}

/** The rectangle of the picture before that the one after covers; null: shown beside each other. */
function coverOn(before) {
    const steps = page.preview ? page.preview.steps : page.result.steps;
    const size = steps && sizesOf(steps.slice(0, before.count), page.input.picture).at(-1);
    return size ? coverOf(steps.slice(before.count), size) : null;
}

/** MASKS are shown over the picture that their step gets. */
function showAfter(after) {
    const before = beforeStage();
    const comparable = page.result || page.preview ? before.picture : null;
    const cover = comparable && coverOn(before);
    const layer = page.brush.layerAfter(before.count);
    const masks = layer && { layer, side: comparable ? 'before' : 'after' };
    viewer.show(comparable, after, { names: [before.name, afterName()], cover, masks });
}

export function showViewer() {
    const { site, tool } = page.bench;
    const after = page.preview ?? page.result?.picture ?? page.input?.picture ?? null;
    byId('empty').hidden = page.input !== null;
    const masks = tool?.layer && { layer: tool.layer, side: 'after' };
    if (site) viewer.show(null, site.picture, { masks });
    else if (after) showAfter(after);
    else viewer.clear();
    byId('canvas').setAttribute('aria-label', describe(after));
    for (const button of byId('view-tools').querySelectorAll('button')) button.disabled = !after;
    drawStrip();
}

function describe(after) {
    if (!after || !page.input) return 'No picture yet';
    const size = `${whole(after.fullWidth)} by ${whole(after.fullHeight)} pixels`;
    const names = stepList.active.map((step) => step.operator.name);
    if (!names.length || after === page.input.picture) return `${page.input.name}, ${size}`;
    return `${page.input.name} after ${names.join(', ')}, ${size}`;
}

/** Input, the picture after each step, output. */
function stages() {
    const { input, result, preview } = page;
    const stages = [{ name: 'Input', picture: input.picture, size: input.picture, key: 'input' }];
    if (!result && !page.runner.isWorking) return stages;
    const sizes = sizesOf(shownSteps(), input.picture);
    for (let count = 1; count < outputCount(); count++) {
        const step = shownSteps()[count - 1];
        if (step.operator.values) continue;
        const picture = page.between.get(stepText(count))?.picture ?? null;
        const name = `${step.number} ${titleOf(step)}`;
        stages.push({ name, picture, size: sizes[count], key: `step-${count}` });
    }
    const picture = result?.picture ?? preview;
    return [...stages, { name: 'Output', picture, size: picture ?? sizes.at(-1), key: 'output' }];
}

/** The side of the window, before or after, that shows the stage KEY; '': none. */
function sideOf(key) {
    const isOutput = (page.result || page.preview) && !page.bench.site;
    if (key === 'output') return isOutput ? 'after' : '';
    if (viewer.isComparing) return key === page.chosen ? 'before' : '';
    return key === 'input' && viewer.after === page.input.picture ? 'after' : '';
}

export function drawStrip() {
    const shown = page.input?.picture ? stages() : [];
    drawFilmstrip(
        shown.map((stage) => ({ ...stage, side: sideOf(stage.key) })),
        choose,
    );
}

export function setComparing(on) {
    viewer.setComparing(on);
    byId('compare').setAttribute('aria-pressed', String(on));
    drawStrip();
}

// ---- the pictures between the steps

/** Shows KEY left of the divider from now on. */
export function choose(key) {
    page.bench.leave();
    page.chosen = key;
    setComparing(key !== 'output');
    showPictures();
    byId('filmstrip').querySelector(`[data-key="${key}"]`)?.focus();
    fillChosen().catch(failed);
}

/** Loads the chosen picture in full. */
async function fillChosen() {
    const { input, device } = page;
    const count = chosenStep();
    const text = stepText(count);
    if (!count || page.between.get(text)?.full) return;
    const steps = copyOf(shownSteps().slice(0, count));
    const answer = await fullRun({ input, steps, device });
    keepBetween(input, text, { picture: await openPicture(answer.blob), full: true });
}

/** Loads the other pictures small, one after another, while there is no other work. */
async function fillOthers() {
    const { input, result } = page;
    for (let count = 1; count < outputCount(); count++) {
        const text = stepText(count);
        if (page.between.has(text) || shownSteps()[count - 1].operator.values) continue;
        if (!input.preview) return;
        const steps = copyOf(shownSteps().slice(0, count));
        const picture = await previewOf({ input, steps, device: page.device });
        keepBetween(input, text, { picture, full: false });
        if (result !== page.result || input !== page.input) return;
    }
}

/** Ignores an error, which the run of all steps shows too. */
export async function fillStrip() {
    forgetBetween((text) => !isStage(text));
    await fillOthers().catch(() => {});
    await fillChosen().catch(() => {});
}

const isStage = (text) => shownSteps().some((_, i) => i > 0 && stepText(i) === text);

function keepBetween(input, text, made) {
    if (input !== page.input || !isStage(text)) return made.picture.close();
    const old = page.between.get(text);
    page.between.set(text, made);
    showPictures();
    return old?.picture.close();
}

/** Closes the pictures for which WHICH is true. */
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

/** Shows the button and, if it is pressed, the seams of the shown picture. */
export async function updateSeams() {
    const { result, input } = page;
    const { steps } = state();
    dropSeams();
    viewer.paint();
    showSeams(
        byId('seams'),
        { steps: result ? steps : [], input },
        page.seams,
        toggleSeams,
    );
    if (!page.seams || !result || seamStep(steps) < 0 || !input.preview) return;
    const picture = await seamsOf(state()).catch((error) => (failed(error), null));
    if (result !== page.result || !page.seams) return void picture?.close();
    dropSeams();
    viewer.overlay = picture;
    viewer.paint();
    mark('seams', result.text);
}

function toggleSeams(on) {
    const step = seamStep(state().steps);
    page.seams = on;
    if (on) choose(step > 0 ? `step-${step}` : 'input');
    updateSeams();
    byId('show-seams')?.focus();
}
