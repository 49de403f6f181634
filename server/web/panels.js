// The panels beside the picture: shown or hidden, and as wide as they are dragged. On a telephone
// they share a sheet at the lower edge, which has a tab for each and is dragged higher and lower.
import { byId } from './element.js';

const { look } = globalThis;
const phone = matchMedia('(max-width: 699.9px)');
const STOPS = [0, 44, 72]; // heights at which the sheet rests, in hundredths of the window's
const TABS = ['steps', 'statistics', 'queue'];
const ARROW = 16; // pixels

// ---- shown or hidden

const isOpen = (name) => look.get(name) !== 'closed';

const isShown = (name) => document.documentElement.dataset.tab === name && isSheetOpen();

function toggle(name) {
    look.set(name, isOpen(name) ? 'closed' : 'open');
    showState();
}

const isSheetOpen = () => document.documentElement.dataset.sheet === 'open';

/** Shows a panel, or on a telephone the sheet with its tab: 'steps', 'statistics' or 'queue'. */
export function openPanel(name) {
    document.documentElement.dataset.tab = name;
    if (phone.matches && !isSheetOpen()) look.set('sheet', STOPS[1]);
    if (!phone.matches && name !== 'queue' && !isOpen(name)) look.set(name, 'open');
    showState();
}

function toggleTab(name) {
    if (isShown(name)) look.set('sheet', STOPS[0]);
    else openPanel(name);
    showState();
}

// ---- as wide as they are dragged

/**
 * NAME: of the look's value. VALUE: returns the present one. ALONG: the value for each pixel to the
 * right or down. BOUNDS: returns [least, most]. SETTLE(value) is called at the end of a drag, PRESS
 * on Enter and on a click.
 */
class Splitter {
    constructor(id, { name, value, along, bounds, settle, press }) {
        Object.assign(this, { box: byId(id), name, value, along, bounds, settle, press });
        this.isAcross = this.box.getAttribute('aria-orientation') === 'vertical';
        this.listen();
        this.show();
    }

    place({ clientX, clientY }) {
        return this.isAcross ? clientX : clientY;
    }

    set(value) {
        const [least, most] = this.bounds();
        look.set(this.name, Math.round(Math.min(most, Math.max(least, value))));
        this.show();
    }

    show() {
        const [least, most] = this.bounds();
        this.box.setAttribute('aria-valuemin', least);
        this.box.setAttribute('aria-valuemax', most);
        this.box.setAttribute('aria-valuenow', Math.min(most, Math.max(least, this.value())));
    }

    /** Takes the style sheet's width. */
    usual() {
        look.set(this.name, look.usual[this.name]);
        this.show();
    }

    listen() {
        const { box } = this;
        let start = null; // { at, value, moved } of a drag
        box.addEventListener('pointerdown', (event) => {
            if (event.button !== 0 || !event.isPrimary) return;
            box.setPointerCapture(event.pointerId);
            start = { at: this.place(event), value: this.value(), moved: false };
        });
        box.addEventListener('pointermove', (event) => {
            if (!start || !event.isPrimary) return;
            const by = this.place(event) - start.at;
            start.moved ||= Math.abs(by) > 3;
            if (start.moved) this.set(start.value + by * this.along());
        });
        box.addEventListener('pointerup', () => {
            if (start?.moved) this.settle?.(this.value());
            else if (start) this.press?.();
            start = null;
        });
        box.addEventListener('pointercancel', () => (start = null));
        box.addEventListener('dblclick', () => this.usual());
        box.addEventListener('keydown', (event) => this.key(event));
    }

    key(event) {
        const by = {
            ArrowLeft: -ARROW,
            ArrowUp: -ARROW,
            ArrowRight: ARROW,
            ArrowDown: ARROW,
        }[event.key];
        const end = { Home: 0, End: 1 }[event.key];
        if (event.key === 'Enter') this.press?.();
        else if (end !== undefined) this.set(this.bounds()[end]);
        else if (by) this.set(this.value() + by * this.along());
        else return;
        event.preventDefault();
    }
}

function sidePanel(name, along) {
    const bounds = () => [220, Math.max(220, Math.min(640, Math.round(innerWidth * 0.4)))];
    return new Splitter(`split-${name}`, {
        name: `${name}Width`,
        value: () => byId(`${name}-panel`).offsetWidth,
        along: () => along,
        bounds,
    });
}

/** Rests at the nearest stop after a drag; a click moves it to the next one. */
const sheet = () =>
    new Splitter('split-sheet', {
        name: 'sheet',
        value: () => look.get('sheet'),
        along: () => -100 / innerHeight,
        bounds: () => [STOPS[0], STOPS.at(-1)],
        settle(value) {
            const far = (stop) => Math.abs(stop - value);
            this.set(STOPS.reduce((best, stop) => (far(stop) < far(best) ? stop : best)));
        },
        press() {
            const now = STOPS.findIndex((stop) => stop >= this.value());
            this.set(STOPS[(now + 1) % STOPS.length]);
        },
    });

// ---- buttons

let splitters = [];

function showState() {
    for (const name of ['steps', 'statistics'])
        byId(`show-${name}`).setAttribute('aria-expanded', String(isOpen(name)));
    for (const name of TABS)
        byId(`tab-${name}`).setAttribute('aria-expanded', String(isShown(name)));
    for (const splitter of splitters) splitter.show();
}

export function listenToPanels() {
    document.documentElement.dataset.tab = 'steps';
    for (const name of ['steps', 'statistics'])
        byId(`show-${name}`).addEventListener('click', () => toggle(name));
    for (const name of TABS)
        byId(`tab-${name}`).addEventListener('click', () => toggleTab(name));
    splitters = [sidePanel('steps', 1), sidePanel('statistics', -1), sheet()];
    addEventListener('resize', showState);
    for (const input of document.querySelectorAll('[name=scheme]')) {
        input.checked = input.value === look.get('scheme');
        input.addEventListener('change', () => look.set('scheme', input.value));
    }
    showState();
}
