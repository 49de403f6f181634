// The plot of a histogram: an area for each channel, the cumulative line of a single one, and the
// scales. Heights are shares of all pixels, so that pictures of different sizes, such as a preview,
// can be compared.
import { drawing } from './element.js';

const WIDTH = 256,
    HEIGHT = 80,
    LEFT = 54, // for the scale of the shares
    RIGHT = 14,
    TOP = 10,
    BOTTOM = 18; // for the scale of the levels

const DECADES_MAX = 5; // of a logarithmic scale

const sum = (counts) => counts.reduce((all, count) => all + count, 0);

/** The share of samples at or below each level. */
export function cumulative(counts) {
    const total = sum(counts) || 1;
    let below = 0;
    return Array.from(counts, (count) => (below += count) / total);
}

export function sharesOf(counts) {
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

// ---- scales

/** The largest of 1, 2 and 5 times a power of ten that is not above VALUE. */
function roundBelow(value) {
    const power = 10 ** Math.floor(Math.log10(value));
    return power * [5, 2, 1].find((factor) => factor * power <= value * 1.000001);
}

/** A scale: HEIGHT of a share, 0..1, and the shares to be marked. */
function linear(lists) {
    const highest = heightOf(lists);
    const step = roundBelow(highest / 2);
    const marks = Array.from({ length: Math.floor(highest / step + 0.001) }, (_, i) => step * (i + 1));
    return { height: (share) => Math.min(1, share / highest), marks, cut: isCut(lists, highest) };
}

const isCut = (lists, highest) => lists.some((shares) => shares.some((share) => share > highest));

function logarithmic(lists) {
    const used = lists.flat().filter(Boolean);
    const most = used.reduce((a, b) => Math.max(a, b), 0) || 1;
    const least = used.reduce((a, b) => Math.min(a, b), most);
    const top = Math.log10(most);
    const bottom = Math.max(Math.floor(Math.log10(least) - 0.001), Math.ceil(top) - DECADES_MAX);
    const marks = [];
    for (let power = Math.floor(top); power > bottom; power--) marks.push(10 ** power);
    return {
        height: (share) => (share ? Math.max(0, (Math.log10(share) - bottom) / (top - bottom)) : 0),
        marks: marks.filter((_, i) => marks.length < 4 || i % 2 === 0),
        cut: false,
    };
}

export const scaleOf = (lists, isLogarithmic) => (isLogarithmic ? logarithmic : linear)(lists);

// ---- the plot

const heightAt = (height) => TOP + (1 - height) * HEIGHT;

const textAt = (x, y, anchor, text) => drawing('text', { x, y, 'text-anchor': anchor }, text);

const markText = (share) => `${Number((100 * share).toPrecision(2))} %`;

function axes(scale) {
    const end = LEFT + WIDTH;
    const lines = scale.marks.map((share) => `M${LEFT} ${heightAt(scale.height(share))}H${end}`);
    return [
        drawing('path', { class: 'grid', d: lines.join('') }),
        drawing('path', { class: 'axis', d: `M${LEFT} ${heightAt(0) + 0.5}H${end}` }),
        ...[0, 64, 128, 192, 255].map((level) =>
            textAt(LEFT + level + 0.5, TOP + HEIGHT + 14, 'middle', String(level)),
        ),
        ...scale.marks.map((share) =>
            textAt(LEFT - 4, heightAt(scale.height(share)) + 4.5, 'end', markText(share)),
        ),
    ];
}

function area(channel, counts, scale) {
    let path = `M${LEFT} ${heightAt(0)}`;
    sharesOf(counts).forEach((share, level) => {
        path += `V${heightAt(scale.height(share)).toFixed(1)}H${LEFT + level + 1}`;
    });
    return drawing('path', { class: `area ${channel}`, d: `${path}V${heightAt(0)}Z` });
}

function sumLine(counts) {
    const points = cumulative(counts).map(
        (share, level) => `${LEFT + level + 0.5} ${heightAt(share).toFixed(1)}`,
    );
    return drawing('path', { class: 'sum', d: `M${points.join('L')}` });
}

/** LISTS: [channel, counts]... ATTRIBUTES: of the drawing. */
export function drawPlot(lists, scale, attributes) {
    const single = lists.length === 1;
    return drawing(
        'svg',
        { viewBox: `0 0 ${LEFT + WIDTH + RIGHT} ${TOP + HEIGHT + BOTTOM}`, ...attributes },
        ...axes(scale),
        drawing(
            'g',
            { class: single ? '' : 'over' },
            ...lists.map(([channel, counts]) => area(channel, counts, scale)),
        ),
        single && sumLine(lists[0][1]),
        drawing('path', { class: 'cross' }),
        single && drawing('circle', { class: 'dot', r: 3 }),
    );
}

/** The level under CLIENT_X. */
export function levelUnder(svg, clientX) {
    const box = svg.getBoundingClientRect();
    return Math.floor(((clientX - box.left) / box.width) * (LEFT + WIDTH + RIGHT) - LEFT);
}

/** Marks LEVEL; SHARE: of the cumulative line there. */
export function markLevel(svg, level, share) {
    const x = LEFT + level + 0.5;
    svg.querySelector('.cross').setAttribute('d', `M${x} ${TOP}V${TOP + HEIGHT}`);
    svg.querySelector('.dot')?.setAttribute('cx', x);
    svg.querySelector('.dot')?.setAttribute('cy', heightAt(share));
}
