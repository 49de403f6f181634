// The card of a step: its name, its buttons, and the form of its parameters.
import { drawing, element } from './element.js';
import { parameterField } from './fields.js';
import { settings, titleOf } from './plan.js';
import { presetChoice } from './presets.js';
import { ShapeLock } from './shape.js';

const FIRST_MAX = 4; // fields of a form that are always shown

/** Paths in a square of 16. */
const icons = {
    on: 'M1.5 8S4 3.5 8 3.5 14.5 8 14.5 8 12 12.5 8 12.5 1.5 8 1.5 8ZM8 6a2 2 0 1 0 0 4 2 2 0 0 0 0-4Z',
    off: 'M2 2l12 12M3.5 5.3C2.2 6.5 1.5 8 1.5 8S4 12.5 8 12.5c1 0 2-.3 2.7-.7M6.5 3.7A6 6 0 0 1 8 3.5c4 0 6.5 4.5 6.5 4.5s-.5 1-1.5 2.1',
    duplicate: 'M5.5 5.5h8v8h-8ZM10.5 5.5v-3h-8v8h3',
    reset: 'M3 8a5 5 0 1 0 1.6-3.7M3 2.5v2.8h2.8',
    remove: 'M3.5 3.5l9 9M12.5 3.5l-9 9',
    fold: 'M6 4l4 4-4 4',
};

export const icon = (name) =>
    drawing(
        'svg',
        { class: 'icon', viewBox: '0 0 16 16', 'aria-hidden': 'true' },
        drawing('path', { d: icons[name] }),
    );

function iconButton(name, className, label, onclick, more = {}) {
    const facts = { type: 'button', className, title: label[0], 'aria-label': label.join(' '), onclick };
    return element('button', { ...facts, ...more }, icon(name));
}

/** The settings of a folded step, in words. */
const summaryOf = (step) =>
    settings(step)
        .map(([name, value]) => `${name} ${value}`)
        .join(', ');

function head(step, index, act) {
    const { operator, off, folded } = step;
    const which = `step ${index + 1}, ${operator.name}`;
    const move = {
        type: 'button',
        className: 'handle',
        title: 'Drag, or press the arrow keys, to move',
        'aria-label': `Move ${which}: arrow keys`,
    };
    const about = operator.title ? `${operator.name}: ${operator.summary}` : operator.summary;
    const title = { type: 'button', className: 'fold', title: about, onclick: act.fold };
    const state = { role: 'switch', 'aria-checked': String(!off) };
    return element(
        'div',
        { className: 'step-head' },
        element('button', move, '⋮⋮'),
        element(
            'h3',
            {},
            element(
                'button',
                { ...title, 'aria-expanded': String(!folded) },
                icon('fold'),
                element('span', { className: 'number' }, `${index + 1} `),
                titleOf(step),
            ),
        ),
        iconButton(off ? 'off' : 'on', 'switch', ['Apply', which], act.toggle, state),
        iconButton('duplicate', 'duplicate', ['Duplicate', which], act.duplicate),
        iconButton('reset', 'reset-step', ['Reset', which], act.reset),
        iconButton('remove', 'remove', ['Remove', which], act.remove),
    );
}

function form(step, { hasFiles, sizeOf, beside, fileField, above, ...act }) {
    const lock = step.operator.name === 'resize' ? new ShapeLock(step, sizeOf) : null;
    const changed = (dragging) => {
        lock?.follow();
        act.changed(dragging);
    };
    const fields = step.operator.parameters.map((parameter) => {
        const field = parameterField(parameter, step, sizeOf, changed);
        field.append(beside(step, parameter) ?? '');
        if (lock && parameter.name === 'height') field.append(lock.element);
        return field;
    });
    const files = hasFiles ? step.operator.parts.map((part) => fileField(step, part)) : [];
    const body = (...children) => element('div', { className: 'step-body' }, ...children);
    if (step.task) {
        const advice = element('p', { className: 'help' }, step.task.advice);
        return body(advice, ...files.reverse(), foldLater(step, [above(step), ...fields], 0));
    }
    return body(presetChoice(step, act.refill), above(step), ...foldLater(step, fields, FIRST_MAX), ...files);
}

/** Folds all but the first COUNT of FIELDS, unless one of them has a value of its own. */
function foldLater(step, fields, count) {
    const later = step.operator.parameters.slice(count);
    if (later.length < 2) return fields;
    const open = step.more ?? later.some(({ name }) => step.values[name] !== undefined);
    const more = element(
        'details',
        { className: 'more', open, ontoggle: () => (step.more = more.open) },
        element('summary', {}, 'More settings'),
        element('div', { className: 'fields' }, ...fields.slice(count)),
    );
    return [...fields.slice(0, count), more];
}

/**
 * ACT: { fold, toggle, duplicate, reset, remove } of the buttons, and { hasFiles, sizeOf, changed,
 * beside, fileField, above, refill } of the form: see StepList.
 */
export function stepCard(step, index, act) {
    const summary = step.folded ? summaryOf(step) : '';
    const kinds = ['step', step.off && 'off', step.folded && 'folded'].filter(Boolean);
    return element(
        'li',
        { className: kinds.join(' '), 'data-operator': step.operator.name },
        head(step, index, act),
        step.folded
            ? summary && element('p', { className: 'step-summary' }, summary)
            : form(step, act),
    );
}
