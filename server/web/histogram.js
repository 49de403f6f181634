// Histograms before and after: plots whose values are shown by pointer or arrow keys, and the same
// as a table.
import { element, whole } from './element.js';
import { cumulative, drawPlot, levelUnder, markLevel, scaleOf, sharesOf } from './histogram_plot.js';
import { foldedTable } from './table.js';

const sum = (counts) => counts.reduce((all, count) => all + count, 0);

const percent = (share) => `${(100 * share).toFixed(share < 0.1 ? 2 : 1)} %`;

/** The views: channels of histogram_counts.js, and their meaning. */
const views = {
    value: { channels: ['value'], meaning: 'Value: the largest of red, green and blue' },
    luma: { channels: ['luma'], meaning: 'Luma: brightness; 30 % red, 59 % green, 11 % blue' },
    RGB: { channels: ['red', 'green', 'blue'], meaning: 'Red, green and blue over each other' },
    red: { channels: ['red'], meaning: 'Red samples alone' },
    green: { channels: ['green'], meaning: 'Green samples alone' },
    blue: { channels: ['blue'], meaning: 'Blue samples alone' },
};

const KEYS = {
    ArrowLeft: -1,
    ArrowDown: -1,
    ArrowRight: 1,
    ArrowUp: 1,
    PageDown: -16,
    PageUp: 16,
    Home: -255,
    End: 255,
};

export class Histograms {
    constructor(box) {
        this.box = box;
        this.view = 'value';
        this.logarithmic = false;
        this.level = 128;
        this.counts = {}; // before, after
        this.preview = false; // whether `after` is a preview
    }

    /** PREVIEW: the counts after are those of a preview. */
    set(side, counts, preview = false) {
        this.counts[side] = counts;
        if (side === 'after') this.preview = preview;
        clearTimeout(this.timer);
        this.timer = setTimeout(() => this.draw(), 0);
    }

    clear() {
        this.counts = {};
        this.preview = false;
        this.box.replaceChildren();
    }

    get sides() {
        return ['before', 'after'].filter((side) => this.counts[side]);
    }

    get channels() {
        return views[this.view].channels;
    }

    nameOf(side) {
        return side === 'after' && this.preview ? 'preview' : side;
    }

    // ---- one plot

    plot(side, scale) {
        const lists = this.channels.map((channel) => [channel, this.counts[side][channel]]);
        const title = { before: 'Before', after: 'After', preview: 'Preview' }[this.nameOf(side)];
        const svg = drawPlot(lists, scale, {
            role: 'slider',
            tabindex: 0,
            'data-side': side,
            'aria-label': `${title}: histogram of ${this.view}, level`,
            'aria-valuemin': 0,
            'aria-valuemax': 255,
            'aria-orientation': 'horizontal',
        });
        svg.addEventListener('pointermove', ({ clientX }) => this.moveTo(levelUnder(svg, clientX)));
        svg.addEventListener('keydown', (event) => {
            const by = KEYS[event.key];
            if (by === undefined) return;
            event.preventDefault();
            this.moveTo(this.level + by);
        });
        return element('figure', { className: 'plot' }, element('figcaption', {}, title), svg);
    }

    moveTo(level) {
        this.level = Math.min(255, Math.max(0, level));
        this.showLevel();
    }

    /** The number of pixels at a level, its share, and the share up to it, as texts. */
    values(side, channel) {
        const counts = this.counts[side][channel];
        const count = counts[this.level];
        const share = percent(count / (sum(counts) || 1));
        return { count: whole(count), share, below: percent(cumulative(counts)[this.level]) };
    }

    sentence(side) {
        const parts = this.channels.map((channel) => {
            const { count, share, below } = this.values(side, channel);
            const name = this.channels.length > 1 ? `${channel} ` : '';
            return `${name}${count} pixels (${share}), cumulative ${below}`;
        });
        return `Level ${this.level}: ${parts.join('; ')}`;
    }

    /** Shows the same level in all plots. */
    showLevel() {
        for (const svg of this.box.querySelectorAll('svg')) {
            const counts = this.counts[svg.dataset.side][this.channels[0]];
            markLevel(svg, this.level, cumulative(counts)[this.level]);
            svg.setAttribute('aria-valuenow', this.level);
            svg.setAttribute('aria-valuetext', this.sentence(svg.dataset.side));
        }
        this.showReadout();
    }

    showReadout() {
        const row = (cells, tag) =>
            element('tr', {}, ...cells.map((cell) => element(tag, {}, cell)));
        const single = this.channels.length === 1;
        const cells = (side) =>
            single
                ? Object.values(this.values(side, this.channels[0]))
                : this.channels.map((channel) => this.values(side, channel).share);
        const heads = single ? ['pixels', 'share', 'cumulative'] : this.channels;
        this.box
            .querySelector('.readout')
            .replaceChildren(
                row([`level ${this.level}`, ...heads], 'th'),
                ...this.sides.map((side) => row([this.nameOf(side), ...cells(side)], 'td')),
            );
    }

    // ---- all of them

    table() {
        const { sides, channels } = this;
        const single = channels.length === 1;
        const rows = [];
        for (let from = 0; from < 256; from += 16) {
            const cells = sides.flatMap((side) =>
                channels.flatMap((channel) => {
                    const counts = this.counts[side][channel];
                    const pixels = whole(sum(counts.slice(from, from + 16)));
                    return single ? [pixels, percent(cumulative(counts)[from + 15])] : [pixels];
                }),
            );
            rows.push([`${from}–${from + 15}`, ...cells]);
        }
        const heads = (side) =>
            single
                ? [this.nameOf(side), 'cumulative']
                : channels.map((channel) => `${this.nameOf(side)}, ${channel}`);
        return foldedTable({
            heads: ['levels', ...sides.flatMap(heads)],
            rows,
            label: 'Histograms as a table',
            open: this.tableOpen,
            ontoggle: (event) => (this.tableOpen = event.target.open),
        });
    }

    head() {
        const choice = element(
            'select',
            { 'aria-label': 'Channel of the histograms' },
            ...Object.keys(views).map((view) => element('option', {}, view)),
        );
        choice.value = this.view;
        choice.addEventListener('change', () => this.redraw({ view: choice.value }, 'select'));
        const toggle = element(
            'button',
            {
                type: 'button',
                title: 'Logarithmic heights: rare levels can be seen too',
                'aria-pressed': String(this.logarithmic),
                onclick: () => this.redraw({ logarithmic: !this.logarithmic }, '.head button'),
            },
            'log',
        );
        return element(
            'div',
            { className: 'head' },
            element('h3', {}, 'Histograms'),
            element('span', {}, toggle, ' ', choice),
        );
    }

    /** Draws with CHANGE; FOCUS: the selector of the control that was used. */
    redraw(change, focus) {
        Object.assign(this, change);
        this.draw();
        this.box.querySelector(focus).focus();
    }

    legend(scale) {
        const share = scale.cut ? 'share of pixels, cut off at the top' : 'share of pixels';
        const one = (className, text) => element('span', { className }, text);
        const single = this.channels.length === 1;
        return element(
            'div',
            { className: 'legend' },
            ...this.channels.map((channel) => one(`key-area ${channel}`, single ? share : channel)),
            single && one('key-sum', 'cumulative, 0 to 100 %'),
        );
    }

    draw() {
        const { sides } = this;
        if (!sides.length) return this.box.replaceChildren();
        const focused = document.activeElement?.closest?.('#histograms svg')?.dataset.side;
        const scale = scaleOf(
            sides.flatMap((side) =>
                this.channels.map((channel) => sharesOf(this.counts[side][channel])),
            ),
            this.logarithmic,
        );
        this.box.replaceChildren(
            this.head(),
            element('p', { className: 'hint' }, views[this.view].meaning),
            element('div', { className: 'plots' }, ...sides.map((side) => this.plot(side, scale))),
            element('table', { className: 'readout', role: 'presentation' }),
            this.legend(scale),
            this.table(),
        );
        this.showLevel();
        if (focused) this.box.querySelector(`svg[data-side="${focused}"]`)?.focus();
        return undefined;
    }
}
