// What steps tell instead of making a picture: numbers for each channel, or lists, which become
// a plot and a table.
import { drawing, element, whole } from './element.js';
import { heightOf } from './histogram.js';

const names = { 1: ['gray'], 3: ['red', 'green', 'blue'] };
const number = (value) => (Number.isInteger(value) ? whole(value) : value.toFixed(3));

function numbersRow({ operation, step, value }) {
    return element(
        'tr',
        {},
        element('th', { scope: 'row' }, `${step + 1} ${operation}`),
        ...value.map((one) => element('td', {}, number(one))),
    );
}

function numbersTable(told) {
    const count = Math.max(...told.map((one) => one.value.length));
    const heads = names[count] ?? Array.from({ length: count }, (_, i) => `channel ${i + 1}`);
    return element(
        'table',
        { className: 'numbers', 'aria-label': 'Values' },
        element(
            'thead',
            {},
            element(
                'tr',
                {},
                element('th', { scope: 'col' }, 'step'),
                ...heads.map((head) => element('th', { scope: 'col' }, head)),
            ),
        ),
        element('tbody', {}, ...told.map(numbersRow)),
    );
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
            drawing('path', { class: 'area', d: `M0 60${area}V60Z` }),
        ),
        element('figcaption', {}, title),
    );
}

function listBlock({ operation, step, value }) {
    const heads = names[value.length] ?? value.map((_, i) => `channel ${i + 1}`);
    const rows = value[0]
        .slice(0, 1024)
        .map((_, i) =>
            element(
                'tr',
                {},
                element('th', { scope: 'row' }, String(i)),
                ...value.map((list) => element('td', {}, number(list[i]))),
            ),
        );
    return [
        element('p', {}, `${step + 1} ${operation}: ${value[0].length} values`),
        element('div', { className: 'plots' }, ...value.map((list, i) => listPlot(list, heads[i]))),
        element(
            'details',
            { className: 'table' },
            element(
                'summary',
                {},
                rows.length < value[0].length ? 'The first 1024 as a table' : 'As a table',
            ),
            element(
                'div',
                {
                    className: 'scroll',
                    tabIndex: 0,
                    role: 'group',
                    'aria-label': `${operation} as a table`,
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
                            element('th', { scope: 'col' }, 'bin'),
                            ...heads.map((head) => element('th', { scope: 'col' }, head)),
                        ),
                    ),
                    element('tbody', {}, ...rows),
                ),
            ),
        ),
    ];
}

export function showTold(box, values = []) {
    const numbers = values.filter((told) => !Array.isArray(told.value[0]));
    const lists = values.filter((told) => Array.isArray(told.value[0]));
    box.replaceChildren(
        ...(values.length ? [element('h3', {}, 'Values')] : []),
        ...(numbers.length ? [numbersTable(numbers)] : []),
        ...lists.flatMap(listBlock),
    );
}
