// The field of a file that a step takes: chosen, or a mask painted on the picture.
import { element } from './element.js';
import { accepted } from './files.js';

let fields = 0;

const button = (text, more) => element('button', { type: 'button', ...more }, text);

/**
 * ACT: { choose(file), remove, note(file), buttons, refresh(file) }: what is done with a file, the
 * remark on it, more buttons, and what they show.
 */
export function fileField({ name, summary }, step, act) {
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
    const remove = button('Clear', { 'aria-label': `Remove ${name}`, onclick: act.remove });
    const note = element('p', { className: 'help' });
    function onrefresh() {
        const file = step.files[name];
        title.textContent = file ? ` ${file.name}` : ' file';
        if (!file) input.value = '';
        remove.hidden = !file;
        note.textContent = file ? act.note(file) : '';
        act.refresh(file);
    }
    onrefresh();
    return element(
        'div',
        { className: 'field mask', onrefresh },
        element('label', { htmlFor: id }, name, title),
        element('div', { className: 'mask-buttons' }, ...act.buttons, remove),
        input,
        note,
        element('p', { className: 'help', id: `${id}-help` }, summary),
    );
}

/**
 * ACT: { paint, isPainted, canPaint, save } besides choose, remove and note. KIND: the class of the
 * mask's colour. VERB: for "Paint what to keep".
 */
export function maskField(part, step, { kind, verb, ...act }) {
    const paint = button(`Paint ${verb}`, { className: `paint ${kind}`, onclick: act.paint });
    const save = button('Save the mask', { 'aria-label': `Save ${part.name}`, onclick: act.save });
    function refresh(file) {
        save.hidden = !file;
        paint.disabled = !act.canPaint();
        paint.setAttribute('aria-pressed', String(act.isPainted()));
    }
    return fileField(part, step, { ...act, buttons: [paint, save], refresh });
}
