// A form's field for a parameter, made of its record in GET /ops: type, range, unit, default and
// help decide what it is.
import { element } from './element.js';
import { defaultText, identityTaps } from './plan.js';

let fields = 0;

const heading = (parameter) => [
    parameter.name,
    parameter.unit && parameter.unit !== parameter.name
        ? element('span', { className: 'unit' }, ` ${parameter.unit}`)
        : null,
];

const help = (parameter, id) =>
    element('p', { className: 'help', id: `${id}-help` }, parameter.summary ?? '');

// ---- numbers

/**
 * What of a range is worth dragging over: in pixels no more than the picture has, or twice of it.
 */
function dragRange(parameter, picture) {
    if (parameter.unit !== 'pixels' || !picture) return [parameter.min, parameter.max];
    const side = /height|dy|^y$/.test(parameter.name) ? picture.height : picture.width;
    return [
        Math.max(parameter.min, 1 - side),
        Math.min(parameter.max, parameter.min < 0 ? side : 2 * side),
    ];
}

/** Between a slider's place and the value; by ratios where the range is wide and above 0. */
function scaleOf(parameter, picture) {
    const [min, max] = dragRange(parameter, picture);
    const whole = parameter.type === 'integer';
    if (parameter.unit !== 'pixels' && min >= 1 && max / min > 1000) {
        const ratio = Math.log(max / min);
        return {
            min: 0,
            max: 1000,
            step: 1,
            place: (value) => (1000 * Math.log(Math.max(value, min) / min)) / ratio,
            value: (place) => Math.round(min * Math.exp((ratio * place) / 1000)),
        };
    }
    return {
        min,
        max,
        step: whole ? 1 : (max - min) / 1000,
        place: (value) => value,
        value: (place) => (whole ? place : Number(place.toFixed(3))),
    };
}

function numberField(parameter, step, picture, changed) {
    const id = `field-${++fields}`;
    const whole = parameter.type === 'integer';
    const scale = scaleOf(parameter, picture);
    const usual = defaultText(parameter);
    const box = element('input', {
        type: 'number',
        id,
        min: parameter.min,
        max: parameter.max,
        step: whole ? 1 : 'any',
        name: parameter.name,
        placeholder: usual === undefined ? '–' : '',
        'aria-describedby': `${id}-help`,
    });
    const slider = element('input', {
        type: 'range',
        min: scale.min,
        max: scale.max,
        step: scale.step,
        'aria-label': `${parameter.name}, slider`,
    });
    const reset = element(
        'button',
        {
            type: 'button',
            className: 'reset',
            title: 'As it was',
            'aria-label': `Reset ${parameter.name}`,
        },
        '↺',
    );

    function show() {
        const text = step.values[parameter.name] ?? usual ?? '';
        if (document.activeElement !== box) box.value = text;
        const unset =
            scale.min <= 0 && scale.max >= 0 && scale.step === 1 && parameter.min < 1
                ? 0
                : scale.max;
        slider.value =
            text === ''
                ? picture && parameter.unit === 'pixels'
                    ? scale.place(neutral())
                    : unset
                : scale.place(Number(text));
        slider.setAttribute(
            'aria-valuetext',
            text === '' ? 'not set' : `${text} ${parameter.unit ?? ''}`.trim(),
        );
        reset.hidden = step.values[parameter.name] === undefined || parameter.required;
    }
    const neutral = () => (/height|^y$/.test(parameter.name) ? picture.height : picture.width);

    function set(text, dragging) {
        if (text === '') delete step.values[parameter.name];
        else step.values[parameter.name] = text;
        show();
        changed(dragging);
    }
    slider.addEventListener('input', () => {
        box.value = String(scale.value(Number(slider.value)));
        set(box.value, true);
    });
    slider.addEventListener('change', () => changed(false));
    box.addEventListener('input', () => {
        box.setAttribute('aria-invalid', String(!box.checkValidity()));
        if (box.checkValidity()) set(box.value, true);
    });
    box.addEventListener('change', () => changed(false));
    box.addEventListener('blur', show);
    reset.addEventListener('click', () => {
        box.value = usual ?? '';
        set('', false);
    });
    show();
    return element(
        'div',
        { className: 'field' },
        element('label', { htmlFor: id }, ...heading(parameter)),
        element('span', { className: 'value' }, reset, box),
        slider,
        help(parameter, id),
    );
}

// ---- the others

function switchField(parameter, step, _picture, changed) {
    const id = `field-${++fields}`;
    const box = element('input', {
        type: 'checkbox',
        id,
        name: parameter.name,
        'aria-describedby': `${id}-help`,
    });
    box.checked = (step.values[parameter.name] ?? defaultText(parameter)) === 'true';
    box.addEventListener('change', () => {
        step.values[parameter.name] = String(box.checked);
        changed(false);
    });
    return element(
        'div',
        { className: 'field' },
        element('label', { htmlFor: id }, ...heading(parameter)),
        box,
        help(parameter, id),
    );
}

function choiceField(parameter, step, _picture, changed) {
    const id = `field-${++fields}`;
    const now = step.values[parameter.name] ?? defaultText(parameter);
    const choices = parameter.choices.map((choice) => {
        const input = element('input', {
            type: 'radio',
            name: `${parameter.name}-${id}`,
            value: choice,
            checked: choice === now,
        });
        input.addEventListener('change', () => {
            step.values[parameter.name] = choice;
            changed(false);
        });
        return element('label', {}, input, element('span', {}, choice));
    });
    return element(
        'fieldset',
        { className: 'field', 'aria-describedby': `${id}-help`, 'data-name': parameter.name },
        element('legend', {}, ...heading(parameter)),
        element('div', { className: 'choices-of' }, ...choices),
        help(parameter, id),
    );
}

function tapsField(parameter, step, _picture, changed) {
    const id = `field-${++fields}`;
    const grid = element('div', {});
    function cells() {
        const taps = (step.values[parameter.name] ?? identityTaps(parameter.counts[0])).split(
            /[ ,]+/,
        );
        const side = Math.round(Math.sqrt(taps.length));
        grid.className = `grid-of size-${side}`;
        grid.replaceChildren(
            ...taps.map((tap, i) => {
                const cell = element('input', {
                    type: 'number',
                    min: parameter.min,
                    max: parameter.max,
                    step: 1,
                    value: tap,
                    'aria-label': `${parameter.name}, row ${Math.floor(i / side) + 1}, column ${(i % side) + 1}`,
                });
                cell.addEventListener('input', () => {
                    if (cell.value === '' || !cell.checkValidity()) return;
                    taps[i] = cell.value;
                    step.values[parameter.name] = taps.join(',');
                    changed(true);
                });
                cell.addEventListener('change', () => changed(false));
                return cell;
            }),
        );
    }
    const size = element(
        'select',
        { 'aria-label': `${parameter.name}: size` },
        ...parameter.counts.map((count) =>
            element('option', { value: count }, `${Math.sqrt(count)} × ${Math.sqrt(count)}`),
        ),
    );
    size.value = String((step.values[parameter.name] ?? '').split(/[ ,]+/).length);
    size.addEventListener('change', () => {
        step.values[parameter.name] = identityTaps(Number(size.value));
        cells();
        changed(false);
    });
    cells();
    return element(
        'fieldset',
        { className: 'field', 'aria-describedby': `${id}-help`, 'data-name': parameter.name },
        element('legend', {}, ...heading(parameter)),
        size,
        grid,
        help(parameter, id),
    );
}

const makers = {
    integer: numberField,
    number: numberField,
    boolean: switchField,
    choice: choiceField,
    integers: tapsField,
};

/**
 * CHANGED is called with true while a value is being dragged or typed, with false when it rests.
 */
export function parameterField(parameter, step, picture, changed) {
    return (makers[parameter.type] ?? numberField)(parameter, step, picture, changed);
}

/** A file that goes beside the image. */
export function partField(part, step, changed) {
    const id = `field-${++fields}`;
    const input = element('input', {
        type: 'file',
        id,
        name: part.name,
        accept: 'image/png,image/jpeg,.pgm,.ppm,.pnm',
        'aria-describedby': `${id}-help`,
    });
    input.addEventListener('change', () => {
        if (input.files[0]) step.files[part.name] = input.files[0];
        else delete step.files[part.name];
        changed(false);
    });
    const kept = step.files[part.name];
    return element(
        'div',
        { className: 'field' },
        element(
            'label',
            { htmlFor: id },
            part.name,
            element('span', { className: 'unit' }, kept ? ` ${kept.name}` : ' file'),
        ),
        input,
        help(part, id),
    );
}
