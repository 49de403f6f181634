// Undo and redo: the plan after each completed edit, with its files and switches. Each is an entry
// of the browser's history too, so Back and Forward do the same. The browser follows an undo a
// little later. It keeps only some 50 entries: beyond, its last one takes the plan's address. After
// a reload the plans are gone, and a plan comes from its address.
import { copyOf, isSameButValues, isSamePlan, settings } from './plan.js';

const TOGETHER_MS = 1000; // edits of one field that follow each other so soon are one
const WAY_MS = 400; // the browser's way to another entry

const snapshot = ({ steps, device }) => ({ steps: copyOf(steps), device });

/** The names of the parameters that have different values. */
function valuesChanged(one, other) {
    const [a, b] = [new Map(settings(one)), new Map(settings(other))];
    return [...new Set([...a.keys(), ...b.keys()])].filter((name) => a.get(name) !== b.get(name));
}

/** The fields in which two plans differ, as text; null: they differ otherwise. */
function fieldsChanged(one, other) {
    const isAlike = (step, i) => isSameButValues(step, other.steps[i]);
    if (one.device !== other.device || one.steps.length !== other.steps.length) return null;
    if (!one.steps.every(isAlike)) return null;
    return one.steps.flatMap((step, i) =>
        valuesChanged(step, other.steps[i]).map((name) => `${i}:${name}`),
    );
}

export class Edits {
    /** ADDRESSOF(plan) returns its address. RESTORE(plan) adopts it; undefined: the address's. */
    constructor(addressOf, restore) {
        Object.assign(this, { addressOf, restore });
        this.entries = []; // { plan, field, time, open }; open: its field is still being changed
        this.at = this.place = history.state?.edit ?? 0; // place: the browser's entry
        this.goal = this.at; // the entry that the browser is sent to
        this.way = 0; // the timer of its way; 0: it has arrived
        addEventListener('popstate', (event) => this.arrive(event.state));
    }

    /** The plan of the address has been read. */
    get hasBegun() {
        return this.entries.length > 0;
    }

    get isUnderWay() {
        return this.way !== 0;
    }

    get canUndo() {
        return this.at > 0;
    }

    get canRedo() {
        return this.at < this.entries.length - 1;
    }

    /** The plan at the beginning, or one of an address that the user has given. */
    adopt(plan, isNew = false) {
        if (isNew) this.entries.length = ++this.at;
        this.entries[this.at] = { plan: snapshot(plan), field: null, time: 0, open: false };
        if (!this.way) this.write('replaceState');
    }

    write(how) {
        this.place = this.at;
        history[how]({ edit: this.at }, '', this.addressOf(this.entries[this.at].plan));
    }

    /** Notes a plan after an edit. OPEN: its field is still being changed. */
    note(plan, open) {
        const last = this.entries[this.at];
        const now = performance.now();
        if (!last) return;
        if (isSamePlan(last.plan, plan)) {
            last.open &&= open;
            return;
        }
        const fields = fieldsChanged(last.plan, plan);
        const field = fields?.length === 1 ? fields[0] : null;
        const soon = field !== null && field === last.field && now - last.time < TOGETHER_MS;
        const isMore = fields !== null && (last.open || soon) && !this.canRedo;
        if (!isMore) this.entries.length = ++this.at;
        this.entries[this.at] = { plan: snapshot(plan), field, time: now, open };
        this.endWay();
        this.write(isMore ? 'replaceState' : 'pushState');
    }

    /** BY: -1 for undo, 1 for redo. */
    go(by) {
        if (by < 0 ? !this.canUndo : !this.canRedo) return;
        this.at += by;
        if (!this.way) this.send();
        if (this.entries[this.at]) this.restore(this.entries[this.at].plan);
    }

    /** Sends the browser to the entry. */
    send() {
        this.goal = this.at;
        this.way = setTimeout(() => this.stray(), WAY_MS);
        history.go(this.goal - this.place);
    }

    /** The browser has not got to its goal: it no longer has that entry. */
    stray() {
        this.endWay();
        if (this.entries[this.at]) this.write('replaceState');
        else this.at = this.place;
    }

    endWay() {
        clearTimeout(this.way);
        this.way = 0;
    }

    /** The browser has gone to an entry, by itself or sent there. */
    arrive(state) {
        if (typeof state?.edit !== 'number') return;
        const isSent = this.way !== 0;
        this.place = state.edit;
        this.endWay();
        if (!this.hasBegun) return void (this.at = this.place);
        if (isSent && this.place !== this.goal) return void this.stray();
        if (isSent && this.place !== this.at) return void this.send(); // undone further meanwhile
        const isShown = isSent && this.entries[this.at];
        this.at = this.place;
        if (!isShown) this.restore(this.entries[this.at]?.plan);
    }
}
