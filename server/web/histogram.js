// Histograms before and after, with the cumulative line: plots one can read values off, by
// pointer or arrow keys, and the same as a table.
import { drawing, element, whole } from './element.js';
import { channels } from './histogram_counts.js';

const WIDTH = 256,
    HEIGHT = 110,
    LEFT = 4,
    TOP = 6,
    BOTTOM = 14;

const sum = (counts) => counts.reduce((all, count) => all + count, 0);

/** Share of the samples at or below each level. */
export function cumulative(counts) {
    const total = sum(counts) || 1;
    let below = 0;
    return Array.from(counts, (count) => (below += count) / total);
}

/**
 * What a plot's height stands for: the highest count, unless a few levels stand far above all
 * others.
 */
export function heightOf(lists) {
    const heights = lists.map((counts) => {
        const used = Array.from(counts)
            .filter(Boolean)
            .sort((a, b) => a - b);
        if (!used.length) return 1;
        const most = used[Math.floor(0.97 * (used.length - 1))];
        return Math.min(used[used.length - 1], 2 * most);
    });
    return Math.max(1, ...heights);
}

const percent = (share) => `${(100 * share).toFixed(share < 0.1 ? 2 : 1)} %`;

export class Histograms {
    constructor(box) {
        this.box = box;
        this.channel = 'value';
        this.level = 128;
        this.counts = {}; // before, after
    }

    set(side, counts) {
        this.counts[side] = counts;
        clearTimeout(this.timer);
        this.timer = setTimeout(() => this.draw(), 0);
    }

    clear() {
        this.counts = {};
        this.box.replaceChildren();
    }

    // ---- one plot

    plot(side, title, highest) {
        const counts = this.counts[side][this.channel];
        const line = cumulative(counts);
        const y = (share) => TOP + (1 - share) * HEIGHT;
        let area = `M${LEFT} ${y(0)}`,
            curve = '';
        counts.forEach((count, level) => {
            area += `V${y(Math.min(1, count / highest)).toFixed(1)}H${LEFT + level + 1}`;
            curve += `${level ? 'L' : 'M'}${LEFT + level + 0.5} ${y(line[level]).toFixed(1)}`;
        });
        const svg = drawing(
            'svg',
            {
                viewBox: `0 0 ${WIDTH + 2 * LEFT} ${TOP + HEIGHT + BOTTOM}`,
                role: 'slider',
                tabindex: 0,
                'data-side': side,
                'aria-label': `${title}: histogram of ${this.channel}, level`,
                'aria-valuemin': 0,
                'aria-valuemax': 255,
                'aria-orientation': 'horizontal',
            },
            drawing('path', { class: 'area', d: `${area}V${y(0)}Z` }),
            drawing('path', { class: 'sum', d: curve }),
            drawing('path', { class: 'axis', d: `M${LEFT} ${y(0) + 0.5}H${LEFT + 256}` }),
            ...[0, 64, 128, 192, 255].map((level) =>
                drawing(
                    'text',
                    {
                        x: LEFT + level + 0.5,
                        y: TOP + HEIGHT + 11,
                        'text-anchor': level === 0 ? 'start' : level === 255 ? 'end' : 'middle',
                    },
                    String(level),
                ),
            ),
            drawing('path', { class: 'cross' }),
            drawing('circle', { class: 'dot', r: 3 }),
        );
        this.listen(svg);
        return element('figure', { className: 'plot' }, svg, element('figcaption', {}, title));
    }

    listen(svg) {
        svg.addEventListener('pointermove', (event) => {
            const box = svg.getBoundingClientRect();
            this.moveTo(
                Math.floor(((event.clientX - box.left) / box.width) * (WIDTH + 2 * LEFT) - LEFT),
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

    /** Of the level that is read: how many, their share, and the share up to it. */
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
        return `Level ${this.level}: ${count} pixels (${share}), ${below} up to here`;
    }

    /** The same level in all plots. */
    showLevel() {
        for (const svg of this.box.querySelectorAll('svg')) {
            const share = cumulative(this.counts[svg.dataset.side][this.channel])[this.level];
            const x = LEFT + this.level + 0.5,
                y = TOP + (1 - share) * HEIGHT;
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
                row([`level ${this.level}`, 'pixels', 'share', 'up to here'], 'th'),
                ...Object.keys(this.counts).map((side) => row([side, ...this.values(side)], 'td')),
            );
    }

    // ---- all of them

    table() {
        const sides = Object.keys(this.counts);
        const rows = [];
        for (let from = 0; from < 256; from += 16) {
            const cells = sides.flatMap((side) => {
                const counts = this.counts[side][this.channel];
                return [
                    whole(sum(counts.slice(from, from + 16))),
                    percent(cumulative(counts)[from + 15]),
                ];
            });
            rows.push(
                element(
                    'tr',
                    {},
                    element('th', { scope: 'row' }, `${from}–${from + 15}`),
                    ...cells.map((cell) => element('td', {}, cell)),
                ),
            );
        }
        const heads = ['levels', ...sides.flatMap((side) => [side, 'up to here'])];
        return element(
            'details',
            {
                className: 'table',
                open: this.tableOpen,
                ontoggle: (event) => (this.tableOpen = event.target.open),
            },
            element('summary', {}, 'As a table'),
            element(
                'div',
                {
                    className: 'scroll',
                    tabIndex: 0,
                    role: 'group',
                    'aria-label': 'Histograms as a table',
                },
                element(
                    'table',
                    { className: 'numbers' },
                    element(
                        'thead',
                        {},
                        element(
                            'tr',
                            {},
                            ...heads.map((head) => element('th', { scope: 'col' }, head)),
                        ),
                    ),
                    element('tbody', {}, ...rows),
                ),
            ),
        );
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
        const sides = Object.keys(this.counts).filter((side) => this.counts[side]);
        if (!sides.length) return this.box.replaceChildren();
        const focused = document.activeElement?.closest?.('#histograms svg')?.dataset.side;
        const shown = sides.map((side) => this.counts[side][this.channel]);
        const highest = heightOf(shown);
        const cut = shown.some((counts) => counts.some((count) => count > highest));
        this.box.replaceChildren(
            element('div', { className: 'head' }, element('h3', {}, 'Histograms'), this.choice()),
            element(
                'div',
                { className: 'plots' },
                ...sides.map((side) =>
                    this.plot(side, side === 'before' ? 'Before' : 'After', highest),
                ),
            ),
            element('table', { className: 'readout', role: 'presentation' }),
            element(
                'div',
                { className: 'legend' },
                element(
                    'span',
                    { className: 'key-area' },
                    cut ? `pixels, up to ${whole(highest)}` : 'pixels',
                ),
                element('span', { className: 'key-sum' }, 'sum up to the level'),
            ),
            this.table(),
        );
        this.showLevel();
        if (focused) this.box.querySelector(`svg[data-side="${focused}"]`)?.focus();
        return undefined;
    }
}
