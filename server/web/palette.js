// The palette of operators: groups with headings, the ones used last first, a search by name,
// everyday name, names of other tools and summary. It is one tab stop; the arrow keys move in it.
import { byId, element } from './element.js';
import { openPanel } from './panels.js';
import { STEPS_MAX } from './steps.js';

const RECENT_MAX = 4;
const RECENT_KEY = 'burin-recent-operators';

// ---- the operators used last, the newest first

/** Storage may be forbidden, full, or hold anything. */
function readRecent() {
    try {
        const names = JSON.parse(localStorage.getItem(RECENT_KEY));
        return Array.isArray(names) ? names.slice(0, RECENT_MAX) : [];
    } catch {
        return [];
    }
}

function writeRecent(names) {
    try {
        localStorage.setItem(RECENT_KEY, JSON.stringify(names));
    } catch {
        // the list lasts as long as the page
    }
}

// ---- the search

const wordsOf = (text) => text.toLowerCase().split(/[^\p{L}\p{N}]+/u).filter(Boolean);

/** How well TOKEN fits the operator; 0 is best, Infinity: not at all. */
function distance({ name, title = '', aliases = [], summary }, token) {
    const begins = (words) => words.some((word) => word.startsWith(token));
    if (begins([name, ...wordsOf(title)])) return 0;
    if (begins(aliases)) return 1;
    if ([name, title.toLowerCase(), ...aliases].some((text) => text.includes(token))) return 2;
    return begins(wordsOf(summary)) ? 3 : Infinity;
}

/** The operators that fit all words of QUERY, or else any; the best first, for the first words. */
export function search(operators, query) {
    const tokens = wordsOf(query);
    const fits = operators.map((operator) => ({
        operator,
        far: tokens.map((token, i) => distance(operator, token) + i / 10).sort((a, b) => a - b),
    }));
    const worst = ({ far }) => far.at(-1);
    const best = ({ far }) => far[0];
    const measure = fits.some((fit) => worst(fit) < Infinity) ? worst : best;
    return fits
        .filter((fit) => measure(fit) < Infinity)
        .sort((one, other) => measure(one) - measure(other))
        .map(({ operator }) => operator);
}

// ---- the palette

/** A user's operator may have a task's name. */
const keyOf = ({ start, name }) => (start ? `task:${name}` : name);

/** The summary up to its first semicolon. */
const shortOf = (summary) => summary.split(';')[0];

export class Palette {
    /** STEPS: the list that chosen operators are added to. */
    constructor(steps) {
        this.steps = steps;
        this.operators = [];
        this.groups = [];
        this.recent = readRecent();
        this.made = new Map(); // a button for each operator, by name
        this.box = byId('palette');
        this.input = byId('palette-search');
        this.fold = byId('palette-fold');
        this.approached = null; // called when a pointer or the focus comes here
        this.listen();
    }

    /** OPERATORS, which may be tasks (tasks.js), and GROUPS as in the answer of GET /ops. */
    set({ operators, groups }) {
        Object.assign(this, { operators, groups });
        this.made = new Map(operators.map((operator) => [keyOf(operator), this.button(operator)]));
        this.draw();
    }

    /**
     * SAMPLES: a canvas for each operator that has one, by name. Buttons stay in place: one may be
     * pressed now.
     */
    setSamples(samples) {
        for (const [name, button] of this.made) {
            button.querySelector('canvas')?.remove();
            button.append(samples.get(name) ?? '');
        }
    }

    choose(operator) {
        const key = keyOf(operator);
        this.recent = [key, ...this.recent.filter((other) => other !== key)].slice(
            0,
            RECENT_MAX,
        );
        writeRecent(this.recent);
        this.input.value = '';
        if (operator.start) operator.start();
        else this.steps.add(operator);
        this.draw();
    }

    // ---- drawing

    /** Headings with operators: [name, operators]... */
    sections() {
        if (this.input.value.trim()) {
            const found = search(this.operators, this.input.value);
            return found.length ? [['Found', found]] : [];
        }
        const known = (key) => this.operators.find((operator) => keyOf(operator) === key);
        const recent = this.recent.map(known).filter(Boolean);
        const others = this.operators.filter((operator) => !recent.includes(operator));
        return [
            ['used last', recent],
            ...[...this.groups, undefined].map((group) => [
                group ?? 'others',
                others.filter((operator) => operator.group === group),
            ]),
        ].filter(([, operators]) => operators.length);
    }

    draw() {
        const focused = this.box.contains(document.activeElement)
            ? document.activeElement.dataset.operator
            : null;
        const sections = this.sections();
        this.box.replaceChildren(...sections.map((section) => this.section(section)));
        for (const button of this.buttons)
            button.disabled = this.steps.isFull && !button.matches('[data-adds-no-step]');
        this.offer(this.buttons.find((one) => one.dataset.operator === focused), focused);
        this.showFound(sections);
    }

    section([name, operators]) {
        const id = `palette-${name.replaceAll(' ', '-')}`;
        return element(
            'div',
            { role: 'group', 'aria-labelledby': id },
            element('h4', { id }, name),
            ...operators.map((operator) => this.made.get(keyOf(operator))),
        );
    }

    button(operator) {
        const { name, title, summary } = operator;
        return element(
            'button',
            {
                type: 'button',
                'data-operator': name,
                'data-adds-no-step': operator.addsNoStep,
                title: summary,
                tabIndex: -1,
                onclick: () => this.choose(operator),
            },
            element(
                'span',
                { className: 'words' },
                element(
                    'span',
                    { className: 'line' },
                    element('span', { className: 'name' }, title ?? name),
                    title && element('span', { className: 'term' }, ` ${operator.term ?? name}`),
                ),
                element('span', { className: 'line summary' }, shortOf(summary)),
            ),
        );
    }

    showFound(sections) {
        const query = this.input.value.trim();
        const count = query ? (sections[0]?.[1].length ?? 0) : 0;
        const some = count === 1 ? '1 operator; Enter adds it.' : `${count} operators; Enter adds the first.`;
        const found = count ? some : 'Nothing found.';
        const text = this.steps.isFull ? `A plan has at most ${STEPS_MAX} steps.` : found;
        byId('palette-found').textContent = query ? text : '';
    }

    // ---- keys

    get buttons() {
        return [...this.box.querySelectorAll('button')];
    }

    /** Makes BUTTON, or else the first one, the tab stop; FOCUS: and focuses it. */
    offer(button, focus = false) {
        const { buttons } = this;
        const stop = button ?? buttons[0];
        for (const one of buttons) one.tabIndex = one === stop ? 0 : -1;
        if (focus) stop?.focus();
    }

    listen() {
        this.input.addEventListener('input', () => this.draw());
        this.input.addEventListener('keydown', (event) => {
            if (event.key === 'Enter') this.buttons.find((button) => !button.disabled)?.click();
            else if (event.key === 'ArrowDown') this.offer(null, true);
            else return;
            event.preventDefault();
        });
        for (const name of ['pointerenter', 'focusin'])
            this.fold.addEventListener(name, () => this.approached?.());
        this.box.addEventListener('keydown', (event) => this.key(event));
        this.box.addEventListener('focusin', ({ target }) => this.offer(target.closest('button')));
        addEventListener('keydown', (event) => {
            const typing = event.target.closest?.('[type=search], [type=text], [type=password], textarea, dialog');
            if (event.key !== '/' || typing || event.ctrlKey || event.metaKey || event.altKey) return;
            event.preventDefault();
            this.enter();
        });
        byId('add-step').addEventListener('click', () => this.enter());
    }

    enter() {
        openPanel('steps');
        this.fold.open = true;
        this.fold.scrollIntoView({ block: 'start' });
        if (matchMedia('(pointer: coarse)').matches) return; // the keyboard would cover the list
        this.input.focus({ preventScroll: true });
        this.input.select();
    }

    key(event) {
        const { buttons } = this;
        const now = buttons.indexOf(event.target);
        const to = {
            ArrowDown: Math.min(now + 1, buttons.length - 1),
            ArrowUp: now - 1,
            Home: 0,
            End: buttons.length - 1,
        }[event.key];
        if (to === undefined) return;
        event.preventDefault();
        if (to < 0) this.input.focus();
        else this.offer(buttons[to], true);
    }
}
