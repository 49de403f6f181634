// The live width: while the field of a carving step's width is dragged, the browser itself makes
// every width from half to one and a half times the picture's. The daemon is asked once, for the
// map of the seams; when the value rests, the daemon makes the result as usual.
//
// The picture is shown as this step leaves it, without the steps that follow.
import { failed } from './connection.js';
import { element, whole } from './element.js';
import { mark, page, say, state, stepList } from './page.js';
import { planText } from './plan.js';
import { hindrance, livePicture, subjectOf, tellsMap, textButWidth } from './seam_map.js';
import { setComparing, showViewer } from './stages.js';

let hints = 0;

const same = (one, other) => one.every((part, i) => part === other[i]);

export class LiveWidth {
    constructor() {
        this.step = null; // the step whose width is live
        this.held = null; // { subject, picture }: the loaded map
        this.asking = null; // AbortController
        this.seen = []; // after the last change: [all but the width, the width]
        this.controls = new Map(); // the controls in the forms, by step
    }

    // ---- below the field of the width

    /** Null: there is no control. */
    control(step, parameter) {
        if (parameter.name !== 'width' || !tellsMap(step)) return null;
        const id = `live-${++hints}`;
        const onclick = () => this.toggle(step);
        const facts = { type: 'button', 'aria-describedby': id, onclick };
        const button = element('button', facts, 'Live width');
        const bar = element('progress', { 'aria-label': 'Seams found', hidden: true });
        const hint = element('p', { className: 'help', id });
        this.controls.set(step, { button, bar, hint });
        this.show(step);
        return element('div', { className: 'live-of' }, button, bar, hint);
    }

    show(step) {
        const { button, bar, hint } = this.controls.get(step);
        const on = this.step === step;
        const why = hindrance(page.input, step);
        button.disabled = why !== '' && !on;
        button.setAttribute('aria-pressed', String(on));
        bar.hidden = !on || !this.asking;
        hint.textContent = why || (on ? this.advice() : 'From 50 % to 150 % of the width.');
        const fields = button.closest('.step')?.querySelectorAll('.field') ?? [];
        for (const field of fields) field.dispatchEvent(new Event('refresh'));
    }

    advice() {
        if (this.asking) return 'Looking for the seams…';
        return this.fits ? 'Drag the width.' : 'Continues with the next result.';
    }

    showProgress(step, { done, total }) {
        Object.assign(this.controls.get(step).bar, { max: total, value: done });
    }

    refresh() {
        for (const step of this.controls.keys())
            if (stepList.active.includes(step)) this.show(step);
            else this.controls.delete(step);
    }

    // ---- on and off

    toggle(step) {
        const on = this.step !== step;
        this.leave();
        if (!on) return;
        this.step = step;
        this.ask();
    }

    leave() {
        this.asking?.abort();
        if (this.step) delete this.step.bounds;
        this.step = this.held = this.asking = null;
        this.refresh();
    }

    async ask() {
        const { step } = this;
        const { signal } = (this.asking = new AbortController());
        const [now, mine] = this.copy;
        const subject = subjectOf(now, mine);
        this.held = null;
        this.controls.get(step).bar.removeAttribute('value');
        this.refresh();
        say('Looking for the seams…');
        try {
            const report = (progress) => this.showProgress(step, progress);
            const picture = await livePicture(now, mine, { signal, report });
            if (!signal.aborted) this.hold({ subject, picture });
        } catch (error) {
            if (signal.aborted) return;
            this.leave();
            failed(error, { again: () => this.toggle(step) });
        }
    }

    hold(held) {
        this.asking = null;
        if (!same(held.subject, subjectOf(...this.copy))) return this.resume(); // outdated
        this.held = held;
        const { min, max, now } = held.picture.range;
        this.step.bounds = { width: { min, max, unset: now } };
        this.seen = this.present;
        this.refresh();
        setComparing(false); // a narrow picture may be completely left of the divider
        say(`Live width: from ${whole(min)} to ${whole(max)} pixels.`);
        return mark('liveWidth', planText([this.step]));
    }

    // ---- a change

    get fits() {
        return this.held !== null && same(this.held.subject, subjectOf(...this.copy));
    }

    /** Returns the state of a run, and the step in it. */
    get copy() {
        const now = state();
        return [now, now.steps[stepList.active.indexOf(this.step)]];
    }

    get present() {
        const texts = stepList.active.map((step) =>
            step === this.step ? textButWidth(step) : planText([step]),
        );
        return [`${page.device};${texts.join(';')}`, this.step.values.width];
    }

    /** Returns true if only the width has changed, and the shown picture has it. */
    changed() {
        if (this.step && !stepList.active.includes(this.step)) this.leave();
        if (!this.step) return (this.refresh(), false);
        const [rest, width] = this.present;
        const [restBefore] = this.seen;
        this.seen = [rest, width];
        this.refresh();
        return rest === restBefore && this.fits && this.draw();
    }

    /** Returns false if the width is out of the map's range. */
    draw() {
        const { picture } = this.held;
        const { width, dx } = this.step.values;
        const full = width ? Number(width) : picture.range.now + Number(dx ?? 0);
        if (!picture.setWidth(full)) return false;
        picture.name = this.nameOf(stepList.active);
        if (page.preview !== picture) page.preview?.close();
        page.preview = picture;
        showViewer();
        return true;
    }

    /** The live picture's label; later steps are left out, unless they only report values. */
    nameOf(steps) {
        const place = stepList.steps.indexOf(this.step) + 1;
        const last = steps.slice(steps.indexOf(this.step) + 1).every((step) => step.operator.values);
        return last ? 'Live' : `Live, after step ${place}`;
    }

    /** After a result: loads a new map if its subject has changed. */
    resume() {
        const idle = this.step && !this.asking;
        if (idle && !this.fits && !hindrance(page.input, this.step)) this.ask();
        else this.refresh();
    }
}
