// The list of keys: a dialog. Modules that listen to keys have them here too.
import { byId, element } from './element.js';

/** By part of the window: keys, as KeyboardEvent.key names them, and what they do. */
export const keyList = [
    [
        'Everywhere',
        [
            [['Ctrl+O'], 'Open pictures'],
            [['Ctrl+V'], 'Open the picture in the clipboard'],
            [['Ctrl+S'], 'Open the panel of Save; again: save'],
            [['Ctrl+Z'], 'Undo'],
            [['Ctrl+Shift+Z', 'Ctrl+Y'], 'Redo'],
            [['C'], 'Compare with the picture before'],
            [['/'], 'Search the operators'],
            [['?'], 'This list'],
            [['Escape'], 'Close what was opened last'],
        ],
    ],
    ['Save', [[['Enter'], 'Save the file']]],
    [
        'The palette',
        [
            [['Enter'], 'In the search: add the first operator'],
            [['ArrowUp', 'ArrowDown'], 'To the operator above, below'],
            [['Home', 'End'], 'To the first, the last'],
        ],
    ],
    ["A step's ⋮⋮", [[['ArrowUp', 'ArrowDown'], 'Move the step']]],
    [
        'The picture',
        [
            [['ArrowLeft', 'ArrowRight', 'ArrowUp', 'ArrowDown'], 'Move'],
            [['+', '=', '-'], 'Larger, smaller'],
            [['0'], 'Fit the window'],
            [['1'], 'A pixel of the picture on one of the screen'],
        ],
    ],
    [
        'The divider',
        [
            [['ArrowLeft', 'ArrowDown', 'ArrowRight', 'ArrowUp'], 'Move'],
            [['PageDown', 'PageUp'], 'Move far'],
            [['Home', 'End'], 'To the edge'],
        ],
    ],
    [
        'A handle on the picture',
        [
            [['ArrowLeft', 'ArrowRight', 'ArrowUp', 'ArrowDown'], 'Move by a pixel, with Shift by ten'],
        ],
    ],
    [
        "A panel's edge",
        [
            [['ArrowLeft', 'ArrowRight', 'ArrowUp', 'ArrowDown'], 'Wider, narrower; higher, lower'],
            [['Home', 'End'], 'The least, the most'],
            [['Enter'], 'To the next height of the sheet'],
        ],
    ],
    [
        'A histogram',
        [
            [['ArrowLeft', 'ArrowDown', 'ArrowRight', 'ArrowUp'], 'To the next level'],
            [['PageDown', 'PageUp'], 'By sixteen levels'],
            [['Home', 'End'], 'To the first, the last'],
        ],
    ],
];

const signs = {
    ArrowLeft: '←',
    ArrowRight: '→',
    ArrowUp: '↑',
    ArrowDown: '↓',
    PageUp: 'Page Up',
    PageDown: 'Page Down',
};

const row = ([keys, does]) =>
    element(
        'tr',
        {},
        element('td', {}, ...keys.flatMap((key) => [element('kbd', {}, signs[key] ?? key), ' '])),
        element('td', {}, does),
    );

const part = ([where, rows]) =>
    element(
        'tbody',
        {},
        element('tr', {}, element('th', { scope: 'rowgroup', colSpan: 2 }, where)),
        ...rows.map(row),
    );

const dialog = byId('keys');

export const areKeysOpen = () => dialog.open;

/** The browser closes the dialog by Escape, and then gives the focus back. */
export function showKeys() {
    dialog.showModal();
}

export function listenToKeys() {
    const close = { type: 'button', className: 'quiet', 'aria-label': 'Close', title: 'Close (Escape)' };
    dialog.append(
        element('h2', { id: 'keys-title' }, 'Keys'),
        element('button', { ...close, onclick: () => dialog.close() }, '✕'),
        element('table', {}, ...keyList.map(part)),
    );
    byId('keys-open').addEventListener('click', showKeys);
}
