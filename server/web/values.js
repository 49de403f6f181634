// The values of steps that make no picture: a number for each channel; lists, shown as a plot and a
// table; or a text.
import { drawing, element, whole } from './element.js';
import { heightOf } from './histogram_plot.js';
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

export function showValues(box, values = []) {
    const texts = values.filter((one) => typeof one.value === 'string');
    const lists = values.filter((one) => Array.isArray(one.value[0]));
    const numbers = values.filter((one) => !texts.includes(one) && !lists.includes(one));
    box.replaceChildren(
        ...(values.length ? [element('h3', {}, 'Values')] : []),
        ...(numbers.length ? [numbersTable(numbers)] : []),
        ...(texts.length ? [textsTable(texts)] : []),
        ...lists.flatMap(listBlock),
    );
}
