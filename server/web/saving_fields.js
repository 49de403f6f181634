// The fields of the panel of Save: the type, and the options that it has.
import { byId, element } from './element.js';
import { choice, encodingFor, optionsOf, ranges } from './encoding.js';
import { writtenFormats } from './formats.js';

const KILO = 1000; // bytes of the unit of the size limit

const heads = {
    quality: ['Quality', ''],
    max_bytes: ['Size limit', 'The quality is lowered until the file fits.', 'kB'],
    lossless: ['Lossless', 'Keeps every sample of 8 bits.'],
    effort: ['Effort', 'More is smaller, and slower.'],
    progressive: ['Progressive', 'Shows early while it loads; slower to make.'],
    compression: ['Compression', 'From 0, none, to 3, the smallest and slowest.'],
    palette: ['Palette', 'Few colours: less than half as large.'],
    colors: ['Colours', ''],
    dither: ['Dither', 'Colours between two become patterns.'],
};

function row(name, ...controls) {
    const [title, help, unit] = heads[name];
    return element(
        'div',
        { className: 'field', 'data-option': name },
        element(
            'label',
            { htmlFor: `save-${name}` },
            title,
            unit ? element('span', { className: 'unit' }, ` ${unit}`) : '',
        ),
        ...controls,
        help ? element('span', { className: 'help', id: `save-${name}-help` }, help) : '',
    );
}

const named = (name) => ({
    id: `save-${name}`,
    name: `save-${name}`,
    'aria-describedby': heads[name][1] ? `save-${name}-help` : null,
});

/** A slider with a box for the number. */
function numberRow(name, set) {
    const { min, max } = ranges[name];
    const limits = { min, max, step: 1 };
    const slider = element('input', { type: 'range', ...limits, 'aria-label': heads[name][0] });
    const box = element('input', { type: 'number', ...limits, ...named(name) });
    const take = (text, dragging) => {
        const value = Math.round(Number(text));
        if (text !== '' && value >= min && value <= max) set(name, value, dragging);
    };
    for (const input of [slider, box]) {
        input.addEventListener('input', () => take(input.value, true));
        input.addEventListener('change', () => take(input.value, false));
    }
    return row(name, box, slider);
}

function switchRow(name, set) {
    const box = element('input', { type: 'checkbox', ...named(name) });
    box.addEventListener('change', () => set(name, box.checked, false));
    return row(name, box);
}

/** An empty box is no limit. */
function limitRow(name, set) {
    const facts = { type: 'number', min: 1, step: 'any', placeholder: 'none', ...named(name) };
    const box = element('input', facts);
    const take = (dragging) => {
        const bytes = Math.round(Number(box.value) * KILO);
        if (box.value === '' || bytes >= 1) set(name, box.value === '' ? null : bytes, dragging);
    };
    box.addEventListener('input', () => take(true));
    box.addEventListener('change', () => take(false));
    return row(name, box);
}

function typeRow(set) {
    const buttons = writtenFormats.map(({ name, title }) => {
        const input = element('input', { type: 'radio', name: 'save-type', value: name });
        input.addEventListener('change', () => set('type', name, false));
        return element('label', {}, input, element('span', {}, title));
    });
    return element(
        'fieldset',
        { className: 'field', id: 'save-type' },
        element('legend', {}, 'Type'),
        element('div', { className: 'choices-of' }, ...buttons),
    );
}

const makers = {
    quality: numberRow,
    max_bytes: limitRow,
    effort: numberRow,
    compression: numberRow,
    palette: switchRow,
    colors: numberRow,
    dither: switchRow,
    lossless: switchRow,
    progressive: switchRow,
};

/** CHANGED (dragging) follows each choice. An option that is set keeps the type that it is for. */
export function savingFields(changed) {
    const set = (name, value, dragging) => {
        if (name !== 'type') choice.type = shownType();
        choice[name] = value;
        changed(dragging);
    };
    return [typeRow(set), ...Object.keys(heads).map((name) => makers[name](name, set))];
}

const shownType = () => byId('save-type').querySelector(':checked').value;

function showValue(input, name) {
    if (input.type === 'checkbox') input.checked = choice[name];
    else if (input === document.activeElement && input.type === 'number') return;
    else input.value = name === 'max_bytes' ? choice[name] && choice[name] / KILO : choice[name];
}

/** INPUTTYPE: of the open picture. */
export function showFields(inputType) {
    const { type } = encodingFor(inputType);
    const shown = optionsOf(type);
    byId('save-type').querySelector(`[value="${type}"]`).checked = true;
    for (const field of byId('saving-fields').querySelectorAll('[data-option]')) {
        const name = field.dataset.option;
        field.hidden = !shown.includes(name);
        for (const input of field.querySelectorAll('input')) showValue(input, name);
    }
}
