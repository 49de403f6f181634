// The form field of a parameter, made from its record in GET /ops: type, range, unit, default,
// help.
import { element } from './element.js';
import { acceptedRange } from './geometry.js';
import { defaultText, identityList, listColumns, setValue, sideOf } from './plan.js';
import { fillSlider } from './slider.js';

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
 * The slider's part of a range: for pixels the picture's size, or twice of it; and only what the
 * daemon accepts for this picture. BOUNDS if they are given.
 */
function dragRange(parameter, step, picture, bounds) {
    if (bounds) return [bounds.min, bounds.max];
    if (!picture) return [parameter.min, parameter.max];
    let range = [parameter.min, parameter.max];
    if (parameter.unit === 'pixels') {
        const side = sideOf(parameter, picture);
        const most = parameter.min < 0 ? side : 2 * side;
        range = [Math.max(parameter.min, 1 - side), Math.min(parameter.max, most)];
    }
    return parameter.type === 'integer' ? acceptedRange(step, parameter.name, range, picture) : range;
}

const TYPED_MS = 500; // without a further digit, after which a field with bounds applies its number
const WIDE = 100; // the ratio of a range's ends from which on it is wide

/** Positions 0..1000 of a slider with a constant ratio between steps. */
function ratioScale(parameter, min, max) {
    const ratio = Math.log(max / min);
    const rounded =
        parameter.type === 'integer' ? Math.round : (value) => Number(value.toPrecision(3));
    return {
        min: 0,
        max: 1000,
        step: 1,
        place: (value) => (1000 * Math.log(Math.max(value, min) / min)) / ratio,
        value: (place) => rounded(min * Math.exp((ratio * place) / 1000)),
    };
}

/**
 * Converts between a slider's position and the value; by ratios if the range is wide and above 0,
 * except for whole pixels.
 */
function scaleOf(parameter, step, picture, bounds) {
    const [min, max] = dragRange(parameter, step, picture, bounds);
    const whole = parameter.type === 'integer';
    if (min > 0 && max / min > WIDE && !(whole && parameter.unit === 'pixels'))
        return ratioScale(parameter, min, max);
    return {
        min,
        max,
        step: whole ? 1 : (max - min) / 1000,
        place: (value) => value,
        value: (place) => (whole ? place : Number(place.toFixed(3))),
    };
}

/** A slider and a box for the same number. */
class NumberField {
    constructor(parameter, step, sizeOf, changed) {
        Object.assign(this, { parameter, step, sizeOf, changed });
        this.usual = defaultText(parameter);
        this.scale = this.makeScale();
        this.id = `field-${++fields}`;
        this.box = this.makeBox();
        this.slider = this.makeSlider();
        this.reset = this.makeReset();
        this.show();
    }

    makeBox() {
        const { parameter, usual, id } = this;
        const box = element('input', {
            type: 'number',
            id,
            min: parameter.min,
            max: parameter.max,
            step: parameter.type === 'integer' ? 1 : 'any',
            name: parameter.name,
            placeholder: usual === undefined ? '–' : '',
            'aria-describedby': `${id}-help`,
        });
        box.addEventListener('input', () => {
            box.setAttribute('aria-invalid', String(!box.checkValidity()));
            if (box.checkValidity()) this.set(box.value, true);
            clearTimeout(this.typing);
            if (this.bounds) this.typing = setTimeout(() => this.changed(false), TYPED_MS);
        });
        box.addEventListener('change', () => {
            clearTimeout(this.typing);
            this.changed(false);
        });
        box.addEventListener('focus', () => box.select());
        box.addEventListener('blur', () => this.show());
        return box;
    }

    makeSlider() {
        const { min, max, step, value } = this.scale;
        const label = `${this.parameter.name}, slider`;
        const slider = element('input', { type: 'range', min, max, step, 'aria-label': label });
        slider.addEventListener('input', () => {
            this.box.value = String(value(Number(slider.value)));
            this.set(this.box.value, true);
        });
        slider.addEventListener('change', () => this.changed(false));
        slider.addEventListener('unset', () => this.clear());
        return slider;
    }

    makeReset() {
        const label = `Reset ${this.parameter.name}`;
        const button = { type: 'button', className: 'reset', title: label, 'aria-label': label };
        return element('button', { ...button, onclick: () => this.clear() }, '↺');
    }

    clear() {
        this.box.value = this.usual ?? '';
        this.set('', false);
    }

    /** Sets the slider's bounds { min, max, unset }; undefined: the usual ones. */
    get bounds() {
        return this.step.bounds?.[this.parameter.name];
    }

    makeScale() {
        return scaleOf(this.parameter, this.step, this.sizeOf(this.step), this.bounds);
    }

    /** Reads the step's value and bounds again after a change elsewhere. */
    refresh() {
        this.scale = this.makeScale();
        const { min, max, step } = this.scale;
        Object.assign(this.slider, { min, max, step });
        this.show();
    }

    /** The slider's position while no value is set. */
    get unset() {
        const { parameter, scale, bounds } = this;
        const picture = this.sizeOf(this.step);
        if (bounds) return bounds.unset;
        if (parameter.unit === 'pixels' && picture && parameter.min > 0)
            return sideOf(parameter, picture);
        return Math.min(Math.max(0, scale.min), scale.max);
    }

    show() {
        const { parameter, step, box, slider, scale } = this;
        const text = step.values[parameter.name] ?? this.usual ?? '';
        if (document.activeElement !== box) {
            box.value = text;
            box.setAttribute('aria-invalid', 'false');
        }
        slider.value = text === '' ? this.unset : scale.place(Number(text));
        fillSlider(slider, text === '' ? null : scale.place(Math.max(0, parameter.min)));
        const spoken = text === '' ? 'not set' : `${text} ${parameter.unit ?? ''}`.trim();
        slider.setAttribute('aria-valuetext', spoken);
        this.reset.hidden = step.values[parameter.name] === undefined || parameter.required;
    }

    set(text, dragging) {
        setValue(this.step, this.parameter.name, text);
        this.show();
        this.changed(dragging);
    }

    get element() {
        const onrefresh = () => this.refresh();
        return element(
            'div',
            { className: 'field', onrefresh },
            element('label', { htmlFor: this.id }, ...heading(this.parameter)),
            element('span', { className: 'value' }, this.reset, this.box),
            this.slider,
            help(this.parameter, this.id),
        );
    }
}

const numberField = (...facts) => new NumberField(...facts).element;

// ---- the others

function switchField(parameter, step, _sizeOf, changed) {
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

/** The places of a picture, in its order. */
const compass = new Map([
    ['northwest', '↖'],
    ['north', '↑'],
    ['northeast', '↗'],
    ['west', '←'],
    ['centre', '•'],
    ['east', '→'],
    ['southwest', '↙'],
    ['south', '↓'],
    ['southeast', '↘'],
]);

/** Shows places of a picture as a grid of arrows, and the other choices beside it. */
function ordered(choices) {
    const places = [...compass.keys()];
    if (!places.every((place) => choices.includes(place))) return { choices, kind: 'choices-of' };
    const others = choices.filter((choice) => !compass.has(choice));
    return { choices: [...places, ...others], kind: 'choices-of places', arrows: compass };
}

function choiceField(parameter, step, _sizeOf, changed) {
    const id = `field-${++fields}`;
    const now = () => step.values[parameter.name] ?? defaultText(parameter);
    const { choices, kind, arrows } = ordered(parameter.choices);
    const buttons = choices.map((choice) => {
        const input = element('input', {
            type: 'radio',
            name: `${parameter.name}-${id}`,
            value: choice,
            checked: choice === now(),
        });
        input.addEventListener('change', () => {
            setValue(step, parameter.name, choice);
            changed(false);
        });
        const arrow = arrows?.get(choice);
        if (arrow) input.setAttribute('aria-label', choice);
        return element('label', { title: arrow && choice }, input, element('span', {}, arrow ?? choice));
    });
    function onrefresh() {
        for (const { firstChild: input } of buttons) input.checked = input.value === now();
    }
    const facts = { 'aria-describedby': `${id}-help`, 'data-name': parameter.name, onrefresh };
    return element(
        'fieldset',
        { className: 'field', ...facts },
        element('legend', {}, ...heading(parameter)),
        element('div', { className: kind }, ...buttons),
        help(parameter, id),
    );
}

/** A colour with its opacity: RRGGBB, or RRGGBBAA if it is not opaque. */
function colourField(parameter, step, _sizeOf, changed) {
    const id = `field-${++fields}`;
    const now = step.values[parameter.name] ?? defaultText(parameter) ?? '000000';
    const box = element('input', {
        type: 'color',
        id,
        name: parameter.name,
        value: `#${now.slice(0, 6)}`,
        'aria-describedby': `${id}-help`,
    });
    const alpha = element('input', {
        type: 'range',
        min: 0,
        max: 255,
        step: 1,
        value: parseInt(now.slice(6) || 'ff', 16),
        'aria-label': `${parameter.name}, opacity`,
    });
    fillSlider(alpha, 0);
    function set(dragging) {
        fillSlider(alpha, 0);
        const digits = Number(alpha.value).toString(16).padStart(2, '0');
        step.values[parameter.name] = box.value.slice(1) + (digits === 'ff' ? '' : digits);
        changed(dragging);
    }
    for (const input of [box, alpha]) {
        input.addEventListener('input', () => set(true));
        input.addEventListener('change', () => set(false));
    }
    return element(
        'div',
        { className: 'field' },
        element('label', { htmlFor: id }, ...heading(parameter)),
        box,
        element('span', { className: 'opacity' }, 'opacity', alpha),
        help(parameter, id),
    );
}

function listField(parameter, step, _sizeOf, changed) {
    const id = `field-${++fields}`;
    const grid = element('div', {});
    const { type, counts } = parameter;
    const columnsOf = (count) => listColumns(type, count);
    function cells() {
        const taps = (step.values[parameter.name] ?? identityList(type, counts[0])).split(/[ ,]+/);
        const columns = columnsOf(taps.length);
        grid.className = `grid-of size-${columns}`;
        grid.replaceChildren(
            ...taps.map((tap, i) => {
                const cell = element('input', {
                    type: 'number',
                    min: parameter.min,
                    max: parameter.max,
                    step: type === 'numbers' ? 0.001 : 1,
                    value: tap,
                    'aria-label': `${parameter.name}, row ${Math.floor(i / columns) + 1}, column ${(i % columns) + 1}`,
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
        ...counts.map((count) =>
            element('option', { value: count }, `${count / columnsOf(count)} × ${columnsOf(count)}`),
        ),
    );
    size.value = String((step.values[parameter.name] ?? '').split(/[ ,]+/).length);
    size.addEventListener('change', () => {
        step.values[parameter.name] = identityList(type, Number(size.value));
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

/** Two integers, as in 4x3. */
function pairField(parameter, step, _sizeOf, changed) {
    const id = `field-${++fields}`;
    const sides = (step.values[parameter.name] ?? defaultText(parameter)).split('x');
    const boxes = ['first', 'second'].map((side, i) => {
        const box = element('input', {
            type: 'number',
            id: i ? undefined : id,
            name: parameter.name,
            min: parameter.min,
            max: parameter.max,
            step: 1,
            value: sides[i],
            'aria-label': `${parameter.name}, ${side}`,
            'aria-describedby': `${id}-help`,
        });
        box.addEventListener('input', () => {
            box.setAttribute('aria-invalid', String(!box.checkValidity()));
            if (box.value === '' || !box.checkValidity()) return;
            sides[i] = box.value;
            step.values[parameter.name] = sides.join('x');
            changed(true);
        });
        box.addEventListener('change', () => changed(false));
        return box;
    });
    return element(
        'div',
        { className: 'field' },
        element('label', { htmlFor: id }, ...heading(parameter)),
        element('span', { className: 'value pair' }, boxes[0], '×', boxes[1]),
        help(parameter, id),
    );
}

const makers = {
    integer: numberField,
    number: numberField,
    boolean: switchField,
    choice: choiceField,
    colour: colourField,
    pair: pairField,
    integers: listField,
    numbers: listField,
};

/**
 * SIZEOF(step) returns the size of the picture that the step gets, or null. CHANGED is called with
 * true while a value is dragged or typed, and with false when it rests.
 */
export function parameterField(parameter, step, sizeOf, changed) {
    return (makers[parameter.type] ?? numberField)(parameter, step, sizeOf, changed);
}
