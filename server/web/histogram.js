// Histograms before and after, with the cumulative line: plots whose values are shown by pointer or
// arrow keys, and the same as a table. Heights are shares of all pixels, so that pictures of
// different sizes, such as a preview, can be compared.
import { drawing, element, whole } from './element.js';
import { channels } from './histogram_counts.js';
import { foldedTable } from './table.js';

const WIDTH = 256,
    HEIGHT = 80,
    LEFT = 40, // for the scale of the levels
    RIGHT = 36, // for the scale of the cumulative line
    TOP = 8,
    BOTTOM = 15;

const sum = (counts) => counts.reduce((all, count) => all + count, 0);

/** The share of samples at or below each level. */
export function cumulative(counts) {
    const total = sum(counts) || 1;
    let below = 0;
    return Array.from(counts, (count) => (below += count) / total);
}

function sharesOf(counts) {
    const total = sum(counts) || 1;
    return Array.from(counts, (count) => count / total);
}

/** The value at a plot's top: the highest of all, unless a few are far above all others. */
export function heightOf(lists) {
    const heights = lists.map((counts) => {
        const used = Array.from(counts)
            .filter(Boolean)
            .sort((a, b) => a - b);
        if (!used.length) return 0;
        const most = used[Math.floor(0.97 * (used.length - 1))];
        return Math.min(used[used.length - 1], 2 * most);
    });
    return Math.max(...heights) || 1;
}

const shortPercent = (share) => `${Number((100 * share).toPrecision(2))} %`;
const percent = (share) => `${(100 * share).toFixed(share < 0.1 ? 2 : 1)} %`;

const heightAt = (share) => TOP + (1 - share) * HEIGHT;

const textAt = (x, y, anchor, text) => drawing('text', { x, y, 'text-anchor': anchor }, text);

/** The axes: levels below, shares of a level on the left, the cumulative share on the right. */
function scales(highest) {
    const end = LEFT + WIDTH;
    const lines = [0.25, 0.5, 0.75, 1].map((share) => `M${LEFT} ${heightAt(share)}H${end}`);
    return [
        drawing('path', { class: 'grid', d: lines.join('') }),
        drawing('path', { class: 'axis', d: `M${LEFT} ${heightAt(0) + 0.5}H${end}` }),
        ...[0, 64, 128, 192, 255].map((level) =>
            textAt(LEFT + level + 0.5, TOP + HEIGHT + 11, 'middle', String(level)),
        ),
        ...[0.5, 1].map((share) =>
            textAt(LEFT - 3, heightAt(share) + 3.5, 'end', shortPercent(share * highest)),
        ),
        ...[0.5, 1].map((share) =>
            textAt(end + 3, heightAt(share) + 3.5, 'start', `${100 * share} %`),
        ),
    ];
}

export class Histograms {
    constructor(box) {
        this.box = box;
        this.channel = 'value';
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

    nameOf(side) {
        return side === 'after' && this.preview ? 'preview' : side;
    }

    // ---- one plot

    plot(side, highest) {
        const counts = this.counts[side][this.channel];
        const line = cumulative(counts);
        const title = { before: 'Before', after: 'After', preview: 'Preview' }[this.nameOf(side)];
        const y = heightAt;
        let area = `M${LEFT} ${y(0)}`,
            curve = '';
        sharesOf(counts).forEach((share, level) => {
            area += `V${y(Math.min(1, share / highest)).toFixed(1)}H${LEFT + level + 1}`;
            curve += `${level ? 'L' : 'M'}${LEFT + level + 0.5} ${y(line[level]).toFixed(1)}`;
        });
        const svg = drawing(
            'svg',
            {
                viewBox: `0 0 ${LEFT + WIDTH + RIGHT} ${TOP + HEIGHT + BOTTOM}`,
                role: 'slider',
                tabindex: 0,
                'data-side': side,
                'aria-label': `${title}: histogram of ${this.channel}, level`,
                'aria-valuemin': 0,
                'aria-valuemax': 255,
                'aria-orientation': 'horizontal',
            },
            drawing('path', { class: 'area', d: `${area}V${y(0)}Z` }),
            ...scales(highest),
            drawing('path', { class: 'sum', d: curve }),
            drawing('path', { class: 'cross' }),
            drawing('circle', { class: 'dot', r: 3 }),
        );
        this.listen(svg);
        return element('figure', { className: 'plot' }, element('figcaption', {}, title), svg);
    }

    listen(svg) {
        svg.addEventListener('pointermove', (event) => {
            const box = svg.getBoundingClientRect();
            this.moveTo(
                Math.floor(
                    ((event.clientX - box.left) / box.width) * (LEFT + WIDTH + RIGHT) - LEFT,
                ),
            );
        });
        svg.addEventListener('keydown', (event) => {
            const by = {
                ArrowLeft: -1,
                ArrowDown: -1,
                ArrowRight: 1,
                ArrowUp: 1,
                PageDown: -16,
                PageUp: 16,
                Home: -255,
                End: 255,
            }[event.key];
            if (by === undefined) return;
            event.preventDefault();
            this.moveTo(this.level + by);
        });
    }

    moveTo(level) {
        this.level = Math.min(255, Math.max(0, level));
        this.showLevel();
    }

    /** The text for a level: its count, its share, and the share up to it. */
    values(side) {
        const counts = this.counts[side][this.channel];
        const count = counts[this.level];
        return [
            whole(count),
            percent(count / (sum(counts) || 1)),
            percent(cumulative(counts)[this.level]),
        ];
    }

    sentence(side) {
        const [count, share, below] = this.values(side);
        return `Level ${this.level}: ${count} pixels (${share}), cumulative ${below}`;
    }

    /** Shows the same level in all plots. */
    showLevel() {
        for (const svg of this.box.querySelectorAll('svg')) {
            const share = cumulative(this.counts[svg.dataset.side][this.channel])[this.level];
            const x = LEFT + this.level + 0.5,
                y = heightAt(share);
            svg.querySelector('.cross').setAttribute('d', `M${x} ${TOP}V${TOP + HEIGHT}`);
            svg.querySelector('.dot').setAttribute('cx', x);
            svg.querySelector('.dot').setAttribute('cy', y);
            svg.setAttribute('aria-valuenow', this.level);
            svg.setAttribute('aria-valuetext', this.sentence(svg.dataset.side));
        }
        this.showReadout();
    }

    showReadout() {
        const row = (cells, tag) =>
            element('tr', {}, ...cells.map((cell) => element(tag, {}, cell)));
        this.box
            .querySelector('.readout')
            .replaceChildren(
                row([`level ${this.level}`, 'pixels', 'share', 'cumulative'], 'th'),
                ...this.sides.map((side) => row([this.nameOf(side), ...this.values(side)], 'td')),
            );
    }

    // ---- all of them

    table() {
        const { sides } = this;
        const rows = [];
        for (let from = 0; from < 256; from += 16) {
            const cells = sides.flatMap((side) => {
                const counts = this.counts[side][this.channel];
                return [
                    whole(sum(counts.slice(from, from + 16))),
                    percent(cumulative(counts)[from + 15]),
                ];
            });
            rows.push([`${from}–${from + 15}`, ...cells]);
        }
        return foldedTable({
            heads: ['levels', ...sides.flatMap((side) => [this.nameOf(side), 'cumulative'])],
            rows,
            label: 'Histograms as a table',
            open: this.tableOpen,
            ontoggle: (event) => (this.tableOpen = event.target.open),
        });
    }

    choice() {
        const choice = element(
            'select',
            { 'aria-label': 'Channel of the histograms' },
            ...channels.map((channel) => element('option', {}, channel)),
        );
        choice.value = this.channel;
        choice.addEventListener('change', () => {
            this.channel = choice.value;
            this.draw();
            this.box.querySelector('select').focus();
        });
        return choice;
    }

    draw() {
        const { sides } = this;
        if (!sides.length) return this.box.replaceChildren();
        const focused = document.activeElement?.closest?.('#histograms svg')?.dataset.side;
        const shown = sides.map((side) => sharesOf(this.counts[side][this.channel]));
        const highest = heightOf(shown);
        const cut = shown.some((shares) => shares.some((share) => share > highest));
        this.box.replaceChildren(
            element('div', { className: 'head' }, element('h3', {}, 'Histograms'), this.choice()),
            element(
                'div',
                { className: 'plots' },
                ...sides.map((side) => this.plot(side, highest)),
            ),
            element('table', { className: 'readout', role: 'presentation' }),
            element(
                'div',
                { className: 'legend' },
                element(
                    'span',
                    { className: 'key-area' },
                    cut ? 'share of pixels, cut off at the top' : 'share of pixels',
                ),
                element('span', { className: 'key-sum' }, 'cumulative'),
            ),
            this.table(),
        );
        this.showLevel();
        if (focused) this.box.querySelector(`svg[data-side="${focused}"]`)?.focus();
        return undefined;
    }
}
