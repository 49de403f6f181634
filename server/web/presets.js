// Sets of values with a name, for operators whose numbers few people know by heart.
import { element } from './element.js';
import { setValue } from './plan.js';

const kernel = (taps, more = {}) => ({ taps, divisor: '', offset: '', abs: '', ...more });
const size = (width, height = '', more = {}) => ({ width, height, fit: '', position: '', ...more });
const cut = { fit: 'cover', position: 'smart' };

/** By operator and name. '': the parameter's default. */
const presets = {
    convolve: {
        Sharpen: kernel('0,-1,0,-1,5,-1,0,-1,0'),
        'Sharpen more': kernel('-1,-1,-1,-1,9,-1,-1,-1,-1'),
        Blur: kernel('1,2,1,2,4,2,1,2,1'),
        'Blur more': kernel('1,4,6,4,1,4,16,24,16,4,6,24,36,24,6,4,16,24,16,4,1,4,6,4,1'),
        Outline: kernel('-1,-1,-1,-1,8,-1,-1,-1,-1'),
        Emboss: kernel('-2,-1,0,-1,1,1,0,1,2'),
        'Relief in grey': kernel('-1,0,0,0,0,0,0,0,1', { offset: '128' }),
        Negative: kernel('0,0,0,0,-1,0,0,0,0', { divisor: '1', offset: '255' }),
    },
    resize: {
        'Thumbnail, 320 wide': size('320'),
        '1080 wide': size('1080'),
        '1920 wide': size('1920'),
        'Square avatar, 256': size('256', '256', cut),
        'Link preview, 1200 × 630': size('1200', '630', cut),
        'Story, 1080 × 1920': size('1080', '1920', cut),
    },
};

const isSet = (step, values) =>
    Object.entries(values).every(([name, text]) => (step.values[name] ?? '') === text);

/** A choice of presets for STEP; null: there is none. CHOSEN is called after values were set. */
export function presetChoice(step, chosen) {
    const known = Object.hasOwn(presets, step.operator.name) && step.operator.title;
    if (!known) return null; // a user's operator has no title
    const named = presets[step.operator.name];
    const names = Object.keys(named);
    const choice = element(
        'select',
        { 'aria-label': `Presets of ${step.operator.name}` },
        element('option', { value: '' }, 'Presets…'),
        ...names.map((name) => element('option', {}, name)),
    );
    const onrefresh = () => (choice.value = names.find((name) => isSet(step, named[name])) ?? '');
    choice.addEventListener('change', () => {
        if (!choice.value) return;
        for (const [name, text] of Object.entries(named[choice.value])) setValue(step, name, text);
        chosen();
    });
    onrefresh();
    return element('div', { className: 'preset', onrefresh }, choice);
}
