// The pictures of all stages (input, after each step, output) and the seams, and which of them are
// compared.
import { byId, whole } from './element.js';
import { drawFilmstrip } from './filmstrip.js';
import { failed } from './connection.js';
import { mark, page, state, stepList, viewer } from './page.js';
import { openPicture } from './picture.js';
import { copyOf, planText } from './plan.js';
import { fullRun, previewOf } from './runner.js';
import { seamsOf, seamStep, showSeams } from './seams.js';

/** The steps of the shown output: a failed change has no stages. */
const shownSteps = () => page.result?.steps ?? stepList.steps;

/** The number of steps after which the picture is the output's: later ones only report values. */
const outputCount = () => shownSteps().findLastIndex((step) => !step.operator.values) + 1;

const stepText = (count) => planText(shownSteps().slice(0, count));

const chosenStep = () => (page.chosen.startsWith('step-') ? Number(page.chosen.slice(5)) : 0);

/** The picture left of the divider: { picture, name }. */
function beforeStage() {
    const between = page.between.get(stepText(chosenStep()))?.picture;
    if (page.chosen === 'output') return { picture: null, name: '' };
    if (chosenStep() && between) return { picture: between, name: `After step ${chosenStep()}` };
    return { picture: page.input?.picture ?? null, name: 'Input' };
}

// ---- what is shown

export function showPictures() {
    if (chosenStep() >= outputCount())
        page.chosen = page.chosen === 'output' ? 'output' : 'input';
    showViewer();
    drawStrip();
}

/** The picture right of the divider. */
function afterName() {
    if (!page.preview) return 'Output';
    return page.preview.name ?? 'Preview';
}

export function showViewer() {
    const after = page.preview ?? page.result?.picture ?? page.input?.picture ?? null;
    const before = beforeStage();
    byId('empty').hidden = page.input !== null;
    const comparable = page.result || page.preview ? before.picture : null;
    if (after) viewer.show(comparable, after, [before.name, afterName()]);
    else viewer.clear();
    byId('canvas').setAttribute('aria-label', describe(after));
    for (const button of byId('view-tools').querySelectorAll('button')) button.disabled = !after;
}

function describe(after) {
    if (!after || !page.input) return 'No picture yet';
    const size = `${whole(after.fullWidth)} by ${whole(after.fullHeight)} pixels`;
    if (!stepList.steps.length || after === page.input.picture)
        return `${page.input.name}, ${size}`;
    return `${page.input.name} after ${stepList.steps.map((step) => step.operator.name).join(', ')}, ${size}`;
}

/** The pictures between input and output. */
function stagesBetween() {
    const stages = shownSteps().map((step, i) => {
        const between = page.between.get(stepText(i + 1));
        return {
            name: `${i + 1} ${step.operator.name}`,
            picture: between?.picture ?? null,
            exact: between?.full || page.input.preview?.scale === 1,
            key: `step-${i + 1}`,
            reports: step.operator.values,
        };
    });
    return stages.slice(0, Math.max(0, outputCount() - 1)).filter((stage) => !stage.reports);
}

function drawStrip() {
    const { input, result } = page;
    if (!input?.picture || !result) return drawFilmstrip([], '', choose);
    const items = [
        { name: 'Input', picture: input.picture, exact: true, key: 'input' },
        ...stagesBetween(),
        { name: 'Output', picture: result.picture, exact: true, key: 'output' },
    ];
    return drawFilmstrip(items, page.chosen, choose);
}

export function setComparing(on) {
    viewer.setComparing(on);
    byId('compare').setAttribute('aria-pressed', String(on));
}

// ---- the pictures between the steps

/** Shows KEY left of the divider from now on. */
export function choose(key) {
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
