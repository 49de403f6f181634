// Runs the pipeline after changes: on the preview at once while a value is dragged, in full when it
// rests. At most one run of each kind is in progress: a new full run replaces the old one; a
// preview finishes before the newest change gets one. The daemon cancels the job of an aborted run.
import { frameOf, sizesOf } from './geometry.js';
import { fitted, scaledFile } from './mask.js';
import { openPicture } from './picture.js';
import { fileStep, filesOf, isSamePlan, neededParts, operations, planText, reportsAny, reportsOnly } from './plan.js';
import { scaledSteps } from './scaled_plan.js';
import { Gone, newRequestId, progress, run } from './service.js';
import { takeWindow, windowRun } from './window_run.js';

const REST_MS = 250; // without a change, until the full run begins
const BUSY_MS = 180; // a shorter run shows no bar
const PROGRESS_MS = 150;

const aborted = (error) => error.name === 'AbortError';

/** Whether two states have the same result. */
const isSame = (one, other) => one.input === other.input && isSamePlan(one, other);

export class Runner {
    /** SHOW: { preview, result, busy, idle, problem... }, functions that are called with results. */
    constructor(show) {
        this.show = show;
        this.state = null; // { input, steps, device }
        this.full = null; // AbortController of the full run
        this.quick = null; // of the preview
        this.wanted = false; // a preview is still useful: there is no full result yet
        this.timer = 0;
        this.settled = false; // the full run of `state` has ended, or the user has ended it
    }

    /** Whether a full run waits or is in progress. */
    get isWorking() {
        return this.timer !== 0 || this.full !== null;
    }

    /** Whether STATE is the one that runs or has run last, so that nothing has to begin again. */
    knows(state) {
        return this.state !== null && isSame(state, this.state) && (this.settled || this.isWorking);
    }

    /** The same state runs again. */
    forget() {
        this.settled = false;
    }

    /** Begins the full run that waits. */
    hurry() {
        if (this.timer) this.runFull();
    }

    /**
     * STATE: { input, steps, device }. DRAGGING: further changes are likely. LIVE: changes are
     * shown without a preview, and only the last one is run.
     */
    change(state, dragging = false, live = false) {
        this.state = state;
        this.stop();
        this.settled = false;
        if (!state.input || !state.steps.length) return;
        if (live && dragging) return;
        const quick = !live && state.input.preview?.scale < 1 && !reportsOnly(state.steps);
        this.wanted = quick;
        if (quick) this.preview();
        const rest = dragging || live ? REST_MS : quick ? 30 : 0; // keys change it without dragging
        this.timer = setTimeout(() => this.runFull(), rest);
    }

    /** Ends the run: it begins again only after a change. */
    cancel() {
        this.stop();
        this.settled = true;
    }

    /** Aborts the full run. */
    stop() {
        clearTimeout(this.timer);
        this.timer = 0;
        this.full?.abort();
        this.full = null;
        this.wanted = false;
        this.show.idle();
    }

    // ---- on the preview

    async preview() {
        if (this.quick) {
            this.again = true; // may finish: a slow machine would never show one
            return;
        }
        const { input, steps, device } = this.state;
        const control = (this.quick = new AbortController());
        const start = performance.now();
        this.again = false;
        try {
            const picture = await previewOf(
                { input, steps, device, signal: control.signal },
                (counts) => this.show.previewCounts(counts),
            );
            if (this.wanted && input === this.state.input)
                this.show.preview(picture, performance.now() - start);
            else picture.close();
        } catch (error) {
            if (error instanceof Gone) this.show.problem(error);
            else if (!aborted(error) && this.wanted && !this.again) this.show.previewProblem(error);
        }
        this.quick = null;
        if (this.again && this.wanted) this.preview();
    }

    // ---- in full

    /** WHOLE: a large result is sent at its own size. */
    async runFull(whole = false) {
        const { input, steps, device } = this.state;
        const control = (this.full = new AbortController());
        clearTimeout(this.timer);
        this.timer = 0;
        const id = newRequestId();
        const start = performance.now();
        const busy = setTimeout(() => this.show.busy(null), BUSY_MS);
        const asking = setInterval(() => this.askProgress(id, control.signal), PROGRESS_MS);
        try {
            const only = reportsOnly(steps);
            const small = only || whole ? null : windowRun(this.state);
            const answer = await fullRun(
                { input, steps, device },
                {
                    reports: reportsAny(steps),
                    only,
                    requestId: id,
                    signal: control.signal,
                    ...small?.request,
                },
            );
            const result = { ...answer, text: planText(steps), steps, only, isWhole: !small };
            const later = (part) => part.counts && this.show.counts(result, part.counts);
            result.picture = only ? input.picture : await openPicture(answer.blob, { later });
            if (control.signal.aborted) return only || result.picture.close();
            if (small) takeWindow(result, small);
            this.quick?.abort();
            this.wanted = false;
            this.settled = true;
            this.full = null;
            this.show.result(result, performance.now() - start);
            if (only) this.show.counts(result, input.counts);
        } catch (error) {
            if (!aborted(error) && !control.signal.aborted) this.fail(error);
        } finally {
            clearTimeout(busy);
            clearInterval(asking);
            if (!control.signal.aborted) this.show.idle();
        }
        return undefined;
    }

    fail(error) {
        this.settled = true;
        this.full = null;
        this.wanted = false;
        this.show.problem(error);
    }

    async askProgress(id, signal) {
        if (this.asked) return;
        this.asked = true;
        const now = await progress(id).catch(() => null);
        this.asked = false;
        if (now && !signal.aborted && this.full?.signal === signal) this.show.busy(now);
    }
}

/**
 * The files of STEPS as they are if the first step gets SIZE: masks are fitted to what their step
 * gets, and pictures scaled as far as SIZE is.
 */
export async function fittedFiles(steps, size) {
    const step = fileStep(steps);
    const frame = frameOf(steps.slice(0, steps.indexOf(step)), size);
    const files = { ...filesOf(steps) };
    if (step && neededParts(step).length)
        for (const name in files) files[name] = await scaledFile(files[name], size.scale ?? 1);
    else if (frame) for (const name in files) files[name] = await fitted(files[name], frame);
    return files;
}

/** Runs STEPS on the whole picture; the result is a PNG unless MORE has a different type. */
export async function fullRun({ input, steps, device }, more) {
    const files = await fittedFiles(steps, input.picture);
    const plan = { operations: operations(steps), files };
    return run({ ...plan, image: input.blob, type: 'png', device, ...more });
}

/** Runs STEPS on the input's preview, and returns the result in units of the full picture. */
export async function previewOf({ input, steps, device, signal }, counts) {
    const { bytes, type, width, height } = input.preview;
    const small = scaledSteps(steps, input.preview);
    const answer = await run({
        operations: operations(small),
        bytes,
        type,
        device,
        signal,
        raw: true,
        files: await fittedFiles(small, input.preview),
    });
    const picture = await openPicture(answer.bytes, {
        role: 'preview',
        later: (part) => part.counts && counts?.(part.counts),
    });
    const full = sizesOf(steps, input.picture).at(-1);
    picture.steps = steps;
    picture.unit = full
        ? [full.width / picture.width, full.height / picture.height]
        : [input.picture.width / width, input.picture.height / height];
    return picture;
}
