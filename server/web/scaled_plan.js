// The steps for a smaller copy of the picture: numbers of pixels follow its scale.
import { acceptedRange, resultOf } from './geometry.js';
import { defaultText, setValue } from './plan.js';

const isPixels = (parameter) => parameter.unit === 'pixels';

/** The daemon reads at most three places. */
function scaledText(parameter, text, scale) {
    const pixels = Number(text) * scale;
    const value = parameter.type === 'integer' ? Math.round(pixels) : Number(pixels.toFixed(3));
    return String(Math.min(Math.max(value, parameter.min), parameter.max));
}

function scaledStep(step, scale) {
    const small = { ...step, values: Object.assign(Object.create(null), step.values) };
    for (const parameter of step.operator.parameters.filter(isPixels)) {
        const text = step.values[parameter.name] || defaultText(parameter);
        if (Number(text)) small.values[parameter.name] = scaledText(parameter, text, scale);
    }
    return small;
}

/** Rounding may put the edge of a part one pixel outside the picture. */
function takeIn(step, size) {
    for (const { name } of step.operator.parameters.filter(isPixels)) {
        if (step.values[name] === undefined || resultOf(step, size)) continue;
        const value = Number(step.values[name]);
        const [least, most] = acceptedRange(step, name, [value - 1, value + 1], size);
        if (least > value || most < value) setValue(step, name, String(least > value ? least : most));
    }
}

/** SMALL: { scale, width, height } of the copy. */
export function scaledSteps(steps, { scale, width, height }) {
    if (scale === 1) return steps;
    let size = { width, height };
    return steps.map((step) => {
        const small = scaledStep(step, scale);
        takeIn(small, size);
        size = resultOf(small, size) ?? size;
        return small;
    });
}
