// The values of steps: a number for each channel; lists, shown as a plot and a table; numbers by name;
// or a text. Colours and placeholders are painted too.
import { copyText } from './commands.js';
import { drawing, element, whole } from './element.js';
import { heightOf } from './histogram_plot.js';
import { blurhashPixels, thumbhashPixels } from './placeholder.js';
import { foldedTable, numberTable } from './table.js';

const ROWS_MAX = 1024; // of one table

const names = { 1: ['gray'], 3: ['red', 'green', 'blue'] };
const number = (value) => (Number.isInteger(value) ? whole(value) : value.toFixed(3));

const channelNames = (count) =>
    names[count] ?? Array.from({ length: count }, (_, i) => `channel ${i + 1}`);

function numbersTable(values) {
    const heads = channelNames(Math.max(...values.map((one) => one.value.length)));
    const rows = values.map(({ operation, step, value }) => [
        `${step + 1} ${operation}`,
        ...value.map(number),
    ]);
    return numberTable(['step', ...heads], rows, { 'aria-label': 'Values' });
}

/** Numbers by name, as trim has them. */
function namedTable({ operation, step, value }) {
    const rows = [[`${step + 1} ${operation}`, ...Object.values(value).map(number)]];
    return numberTable(['step', ...Object.keys(value)], rows, { 'aria-label': `${operation}: values` });
}

function textsTable(values) {
    const rows = values.map(({ operation, step, value }) => [`${step + 1} ${operation}`, value]);
    return numberTable(['step', 'text'], rows, { className: 'numbers texts', 'aria-label': 'Texts' });
}

function listPlot(list, title) {
    const highest = heightOf([list]);
    const wide = 256 / list.length;
    const area = list
        .map(
            (count, i) =>
                `V${(60 - 60 * Math.min(1, count / highest)).toFixed(1)}H${((i + 1) * wide).toFixed(2)}`,
        )
        .join('');
    return element(
        'figure',
        { className: 'plot' },
        drawing(
            'svg',
            {
                viewBox: '0 0 256 60',
                role: 'img',
                'aria-label': `${title}, ${list.length} values, the largest ${whole(Math.max(...list))}`,
            },
            drawing('path', { class: `area ${title}`, d: `M0 60${area}V60Z` }),
        ),
        element('figcaption', {}, title),
    );
}

function listBlock({ operation, step, value }) {
    const heads = channelNames(value.length);
    const count = value[0].length;
    const rows = value[0]
        .slice(0, ROWS_MAX)
        .map((_, i) => [String(i), ...value.map((list) => number(list[i]))]);
    return [
        element('p', {}, `${step + 1} ${operation}: ${whole(count)} values`),
        element(
            'div',
            { className: 'small-plots' },
            ...value.map((list, i) => listPlot(list, heads[i])),
        ),
        foldedTable({
            heads: ['bin', ...heads],
            rows,
            label: `${operation} as a table`,
            summary: count > ROWS_MAX ? `The first ${whole(ROWS_MAX)} as a table` : undefined,
        }),
    ];
}

// ---- colours and placeholders

/** The operators whose numbers are a colour, where samples have 8 bits. */
const colourOperators = ['dominant', 'maximum', 'mean', 'minimum'];

const isColour = ({ operation, value }, depth) =>
    colourOperators.includes(operation) &&
    (depth === 8 || operation === 'dominant') &&
    (value.length === 1 || value.length === 3);

/** A gray value has one number. */
function hexOf(value) {
    const samples = value.length === 1 ? [value[0], value[0], value[0]] : value;
    const digits = (sample) => Math.round(sample).toString(16).padStart(2, '0');
    return `#${samples.map(digits).join('')}`;
}

function swatch({ operation, step, value }) {
    const hex = hexOf(value);
    const colour = element('span', { className: 'colour', 'aria-hidden': 'true' });
    colour.style.background = hex;
    const code = element('code', {}, hex);
    const copy = element('button', { type: 'button', 'aria-label': `Copy ${hex}` }, 'Copy');
    copy.addEventListener('click', () => copyText(hex, copy, code));
    return element('p', { className: 'swatch' }, colour, `${step + 1} ${operation}`, code, copy);
}

const painters = { blurhash: blurhashPixels, thumbhash: thumbhashPixels };

function placeholder({ operation, step, value }, ratio) {
    const image = painters[operation](value, ratio);
    const label = `The placeholder of step ${step + 1}, ${operation}, painted`;
    const canvas = element('canvas', {
        width: image.width,
        height: image.height,
        role: 'img',
        'aria-label': label,
    });
    canvas.getContext('2d').putImageData(image, 0, 0);
    return element(
        'figure',
        { className: 'placeholder' },
        canvas,
        element('figcaption', {}, `${step + 1} ${operation}, painted`),
    );
}

/** REPORT: the daemon's report of a run. */
export function showValues(box, { values = [], input }) {
    const ratio = input.width / input.height;
    const texts = values.filter((one) => typeof one.value === 'string');
    const lists = values.filter((one) => Array.isArray(one.value[0]));
    const numbers = values.filter((one) => Array.isArray(one.value) && !lists.includes(one));
    const named = values.filter((one) => !texts.includes(one) && !Array.isArray(one.value));
    box.replaceChildren(
        ...(values.length ? [element('h3', {}, 'Values')] : []),
        ...(numbers.length ? [numbersTable(numbers)] : []),
        ...numbers.filter((one) => isColour(one, input.depth)).map(swatch),
        ...named.map(namedTable),
        ...(texts.length ? [textsTable(texts)] : []),
        ...texts.filter(({ operation }) => painters[operation]).map((one) => placeholder(one, ratio)),
        ...lists.flatMap(listBlock),
    );
}
