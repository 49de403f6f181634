// The daemon: what it offers, what it refuses, and when it is gone.
import { readAddress } from './address.js';
import { showDeviceChoice } from './devices.js';
import { hideNotice, showNotice, showProblem } from './notice.js';
import { page, say, stepList } from './page.js';
import { readPlan, planText } from './plan.js';
import { Gone, operators, Problem, readiness } from './service.js';
import { drawPalette } from './steps.js';

const BACK_MS = 1000; // between two questions whether it is back

/** What operators and devices there are; steps are kept, of the operators that are now. */
export async function connect() {
    try {
        [page.operators, page.ready] = await Promise.all([operators(), readiness()]);
    } catch (error) {
        return failed(error);
    }
    drawPalette(page.operators, (operator) => stepList.add(operator));
    showDeviceChoice(page.ready, page.device);
    return readSteps(stepList.steps.length ? planText(stepList.steps) : readAddress().steps);
}

/** Steps from their text; files that stay where they were are kept. */
export function readSteps(text) {
    const { steps, strangers } = readPlan(text, page.operators);
    steps.forEach((step, i) => {
        if (stepList.steps[i]?.operator.name === step.operator.name)
            step.files = stepList.steps[i].files;
    });
    stepList.set(steps);
    if (strangers.length)
        showNotice('The address names what this daemon does not have', strangers.join(', '));
}

/** Says what went wrong, and what to do; AGAIN: tries once more. */
export function failed(error, again = () => page.changed(false)) {
    if (error instanceof Gone) return void gone();
    if (error instanceof Problem) {
        showProblem(error, error.status >= 500 ? again : null);
        stepList.blame(error.message);
    } else {
        showNotice('This did not work', String(error.message));
    }
    return say(page.result ? 'Not done: the output shown is the one before.' : 'Not done.');
}

/** Asks every second, until a worker is healthy again; then goes on where it was. */
export async function gone() {
    if (page.gone) return;
    page.gone = true;
    page.runner.stop();
    showNotice(
        'The daemon does not answer',
        'It is asked again every second; what is open here stays. Is burin serve still running?',
    );
    say('Waiting for the daemon.');
    for (;;) {
        await new Promise((resolve) => setTimeout(resolve, BACK_MS));
        const back = await readiness(AbortSignal.timeout(5000)).catch(() => null);
        if (back?.workers.some((worker) => worker.healthy)) break;
    }
    page.gone = false;
    hideNotice();
    say('The daemon is back.');
    await connect();
    page.changed(false);
}
