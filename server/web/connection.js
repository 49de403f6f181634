// The connection to the daemon: its operators and devices, its refusals, and its absence.
import { keyWanted } from './access_key.js';
import { readAddress } from './address.js';
import { showDeviceChoice } from './devices.js';
import { endNotice, sentenceOf, showNotice, showProblem } from './notice.js';
import { page, palette, say, stepList } from './page.js';
import { offText, planText, readPlan } from './plan.js';
import { Gone, operators, Problem, readiness } from './service.js';
import { tasksOf } from './tasks.js';

const BACK_MS = 1000; // between two checks whether it is back

/** Loads operators and devices. */
export async function connect() {
    try {
        take(await load());
    } catch (error) {
        failed(error, { again: connect });
    }
}

const load = (signal) => Promise.all([operators(signal), readiness(signal)]);

/** Keeps the steps whose operators still exist. */
function take([offer, ready]) {
    page.operators = offer.operators;
    page.ready = ready;
    palette.set({ ...offer, operators: [...tasksOf(offer.operators), ...offer.operators] });
    showDeviceChoice(page.ready, page.device);
    if (stepList.steps.length) readSteps(planText(stepList.steps), offText(stepList.steps));
    else readSteps(readAddress().steps, readAddress().off);
    page.connected();
}

/** Reads steps from TEXT; a step that keeps its place and operator keeps its files. */
export function readSteps(text, off) {
    const { steps, unknown } = readPlan(text, page.operators);
    const numbers = off.split(',').map(Number);
    steps.forEach((step, i) => {
        const old = stepList.steps[i];
        const kept = old?.operator.name === step.operator.name ? old : step;
        const { files, folded, more, task, keepsShape } = kept;
        const own = { files, folded, more, task, keepsShape };
        Object.assign(step, own, { off: numbers.includes(i + 1) });
    });
    stepList.set(steps);
    if (unknown.length)
        showNotice({
            title: 'This daemon does not know these parts of the address',
            detail: unknown.join(', '),
        });
}

/**
 * Shows what went wrong, with advice. AGAIN: tries once more. ACTION: the notice's button in its
 * place. AT: the cause's element, if the message does not name it. NAME: of the file. SAID: the line
 * below the picture.
 */
export function failed(error, { again = runAgain, action, at, name, said } = {}) {
    if (error instanceof Gone) return void gone();
    if (error.status === 401) {
        showNotice(keyWanted());
    } else if (error instanceof Problem) {
        const cause = stepList.blame(error.message) ?? at;
        const retry = error.status >= 500 && { text: 'Try again', run: again };
        showProblem(error, { action: action || retry, at: cause, name });
    } else {
        const unknown = name
            ? 'The browser cannot read it.'
            : 'Something went wrong in this page. Load it again if that stays so.';
        showNotice({
            title: name ? `${name} cannot be opened` : 'This did not work',
            detail: error.constructor === Error ? sentenceOf(error.message) : unknown,
            at,
        });
    }
    return say(said ?? (page.result ? 'Not done: the previous output is still shown.' : 'Not done.'));
}

export function runAgain() {
    page.runner.forget();
    page.changed(false);
}

/** Asks every second until a worker is healthy again, and then continues. */
export async function gone() {
    if (page.gone) return;
    page.gone = true;
    page.runner.stop();
    showNotice({
        title: 'The daemon does not answer',
        detail: 'It is asked again every second; open pictures are kept. Is burin serve still running?',
        lasting: true,
    });
    say('Waiting for the daemon.');
    let answer;
    do {
        await new Promise((resolve) => setTimeout(resolve, BACK_MS));
        answer = await load(AbortSignal.timeout(5000)).catch(() => null);
    } while (!answer?.[1].workers.some((worker) => worker.healthy));
    page.gone = false;
    endNotice();
    take(answer);
    say('The daemon is back.');
}
