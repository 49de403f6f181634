// Tables of numbers: a head, and rows that begin with names.
import { element } from './element.js';

const headCell = (text) =>
    text ? element('th', { scope: 'col' }, text) : element('td', {}); // an empty cell is no header

const row = ([name, ...cells]) =>
    element(
        'tr',
        {},
        element('th', { scope: 'row' }, name),
        ...cells.map((cell) => element('td', {}, cell)),
    );

/** HEADS: texts. ROWS: lists of texts, their names first. */
export function numberTable(heads, rows, attributes) {
    return element(
        'table',
        { className: 'numbers', ...attributes },
        element('thead', {}, element('tr', {}, ...heads.map(headCell))),
        element('tbody', {}, ...rows.map(row)),
    );
}

/** The same table in a closed <details>, scrolled if it is long. LABEL: for screen readers. */
export function foldedTable({ heads, rows, label, summary = 'As a table', ...attributes }) {
    const scroll = { className: 'scroll', tabIndex: 0, role: 'group', 'aria-label': label };
    return element(
        'details',
        { className: 'table', ...attributes },
        element('summary', {}, summary),
        element('div', scroll, numberTable(heads, rows)),
    );
}
