// The list of the queue: a row for each picture, and the head with the sum and the buttons.
import { byId, byteCount, element, whole } from './element.js';

/** CHOOSE is called when the row's picture is to be opened. */
export function newRow(path, choose) {
    const name = element('button', { type: 'button', className: 'link', onclick: choose }, path);
    const bar = element('progress', { 'aria-label': `Progress of ${path}`, hidden: true });
    return element('li', {}, name, bar, element('span', { className: 'queue-state' }));
}

/** STATE: waiting, working, done or failed. BUTTON: stands after the text. */
export function showRow(row, state, text = '', button = '') {
    row.dataset.state = state;
    const box = row.querySelector('.queue-state');
    const isSame = box.lastElementChild === (button || null) && box.firstChild?.data === text;
    if (!isSame) box.replaceChildren(...[text, button].filter(Boolean)); // a button keeps its focus
    const bar = row.querySelector('progress');
    bar.hidden = state !== 'working' || text !== '';
    bar.removeAttribute('value');
}

export function showRowProgress(row, { done, total }) {
    if (total && row.dataset.state === 'working')
        Object.assign(row.querySelector('progress'), { max: total, value: done });
}

/** "1.24 MB → 220.0 kB, 18 %" */
export const sizeText = (before, after) =>
    `${byteCount(before)} → ${byteCount(after)}, ${Math.round((100 * after) / before)} %`;

const countOf = (items, state) => items.filter(({ row }) => row.dataset.state === state).length;

function summary(items, working) {
    const done = countOf(items, 'done');
    const failed = countOf(items, 'failed');
    const words = [];
    if (done || working) words.push(`${whole(done)} of ${whole(items.length)} done`);
    if (failed) words.push(`${whole(failed)} failed`);
    return words.join(', ');
}

/** HOW: the steps and the type in words. OPENED: the file that is on the page. */
export function showQueue(items, { working, how, opened }) {
    byId('queue').hidden = byId('tab-queue').hidden = !items.length;
    byId('queue-title').textContent = `${whole(items.length)} pictures`;
    byId('queue-how').textContent = how;
    byId('queue-sum').textContent = summary(items, working);
    const bar = byId('queue-progress');
    bar.hidden = !working;
    bar.max = items.length;
    bar.value = countOf(items, 'done') + countOf(items, 'failed');
    byId('queue-run').hidden = working;
    byId('queue-cancel').hidden = !working;
    byId('queue-close').hidden = working;
    for (const { row, file } of items) {
        const isOpen = file === opened;
        row.firstChild.setAttribute('aria-current', String(isOpen));
    }
}
