// The field of a file that a step takes: chosen, or painted on the picture.
import { element } from './element.js';
import { accepted } from './files.js';

let fields = 0;

const button = (text, more) => element('button', { type: 'button', ...more }, text);

/**
 * ACT: { paint, isPainted, canPaint, choose(file), save, remove, note }: what the buttons do, and
 * what they show. KIND: the class of the mask's colour. VERB: for "Paint what to keep".
 */
export function maskField({ name, summary }, step, { kind, verb, ...act }) {
    const id = `file-${++fields}`;
    const input = element('input', {
        type: 'file',
        id,
        name,
        accept: accepted,
        'aria-describedby': `${id}-help`,
    });
    input.addEventListener('change', () => act.choose(input.files[0]));
    const title = element('span', { className: 'unit' });
    const paint = button(`Paint ${verb}`, { className: `paint ${kind}`, onclick: act.paint });
    const save = button('Save the mask', { 'aria-label': `Save ${name}`, onclick: act.save });
    const remove = button('Clear', { 'aria-label': `Remove ${name}`, onclick: act.remove });
    const note = element('p', { className: 'help' });
    function onrefresh() {
        const file = step.files[name];
        title.textContent = file ? ` ${file.name}` : ' file';
        if (!file) input.value = '';
        save.hidden = remove.hidden = !file;
        note.textContent = file ? act.note(file) : '';
        paint.disabled = !act.canPaint();
        paint.setAttribute('aria-pressed', String(act.isPainted()));
    }
    onrefresh();
    return element(
        'div',
        { className: 'field mask', onrefresh },
        element('label', { htmlFor: id }, name, title),
        element('div', { className: 'mask-buttons' }, paint, save, remove),
        input,
        note,
        element('p', { className: 'help', id: `${id}-help` }, summary),
    );
}
