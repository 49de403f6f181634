// A pipeline: steps { operator, values, files }. `operator` is a record of GET /ops, `values`
// has text by parameter and only what was set, `files` has what the step takes beside the image.
// All functions are pure.

/** Text by name alone: a parameter may be called as what every object has, `constructor`. */
const named = (values) => Object.assign(Object.create(null), values);

export const parameterOf = (step, name) =>
    step.operator.parameters.find((parameter) => parameter.name === name);

/** What a field shows where nothing is set; undefined: nothing. */
export function defaultText(parameter) {
    return parameter.default === undefined ? undefined : String(parameter.default);
}

/** The kernel that changes nothing: something to begin with where taps must be given. */
export function identityTaps(count) {
    return Array.from({ length: count }, (_, i) => (i === (count - 1) / 2 ? 1 : 0)).join(',');
}

/** The picture's side that a number of pixels is measured by. */
export const sideOf = (parameter, picture) =>
    /height|dy|^y$/.test(parameter.name) ? picture.height : picture.width;

/** An example in pixels is one that fits any picture: half of this one shows more. */
function beginning(parameter, picture) {
    if (parameter.unit !== 'pixels' || !picture) return String(parameter.example);
    return String(Math.max(parameter.min, sideOf(parameter, picture) >> 1));
}

/**
 * As it is taken from the palette: with what it must have, and numbers to begin with. PICTURE: null
 * if none is open.
 */
export function newStep(operator, picture) {
    const step = emptyStep(operator);
    for (const parameter of operator.parameters)
        if (parameter.example !== undefined)
            step.values[parameter.name] = beginning(parameter, picture);
    return step;
}

/** With what it must have. */
function emptyStep(operator) {
    const values = named();
    for (const parameter of operator.parameters) {
        if (!parameter.required) continue;
        if (parameter.type === 'integers')
            values[parameter.name] = identityTaps(parameter.counts[0]);
        else if (parameter.type === 'choice') values[parameter.name] = parameter.choices[0];
        else if (parameter.type === 'boolean') values[parameter.name] = 'false';
        else values[parameter.name] = String(Math.min(Math.max(0, parameter.min), parameter.max));
    }
    return { operator, values, files: {} };
}

/** As they are now, whatever is changed later. */
export const copyOf = (steps) =>
    steps.map((step) => ({ ...step, values: named(step.values), files: { ...step.files } }));

/** The parameters that differ from their defaults: [name, text]... */
export function settings(step) {
    return step.operator.parameters
        .map((parameter) => [parameter.name, step.values[parameter.name], defaultText(parameter)])
        .filter(([, value, usual]) => value !== undefined && value !== '' && value !== usual)
        .map(([name, value]) => [name, value]);
}

/** As `burin run` and the address have it: edge:threshold=40,binary=true. */
export function stepText(step) {
    const set = settings(step).map(([name, value]) => `${name}=${value.replaceAll(' ', ',')}`);
    return step.operator.name + (set.length ? `:${set.join(',')}` : '');
}

export const planText = (steps) => steps.map(stepText).join(';');

/** A comma that a number follows stands between taps. */
function readStep(text, operators, strangers) {
    const colon = text.indexOf(':');
    const name = colon < 0 ? text : text.slice(0, colon);
    const operator = operators.find((known) => known.name === name);
    if (!operator) return (strangers.push(name), null);
    const step = emptyStep(operator);
    for (const setting of colon < 0 ? [] : text.slice(colon + 1).split(/,(?! *[-+\d])/)) {
        const equals = setting.indexOf('=');
        const parameter = parameterOf(step, setting.slice(0, equals));
        if (equals > 0 && parameter) step.values[parameter.name] = setting.slice(equals + 1);
        else strangers.push(`${name}:${setting}`);
    }
    return step;
}

/** { steps, strangers }: what of the text this daemon does not know is named. */
export function readPlan(text, operators) {
    const strangers = [];
    const steps = text
        .split(';')
        .filter(Boolean)
        .map((step) => readStep(step, operators, strangers))
        .filter(Boolean);
    return { steps, strangers };
}

/** What is a number of pixels is that much smaller in a smaller picture. */
function scaled(step, name, text, scale) {
    const parameter = parameterOf(step, name);
    if (scale === 1 || parameter.unit !== 'pixels') return text;
    const pixels = Number(text) * scale;
    const value = parameter.type === 'integer' ? Math.round(pixels) : pixels;
    return String(Math.min(Math.max(value, parameter.min), parameter.max));
}

/** For /pipeline. */
export function operations(steps, scale = 1) {
    return steps.map((step) => ({
        operation: step.operator.name,
        params: Object.fromEntries(
            settings(step).map(([name, text]) => [name, scaled(step, name, text, scale)]),
        ),
    }));
}

/** Files go to the first step that takes any. */
export const fileStep = (steps) => steps.find((step) => step.operator.parts.length > 0);

export const filesOf = (steps) => fileStep(steps)?.files ?? {};

/** No step changes the picture. */
export const tellsOnly = (steps) => steps.length > 0 && steps.every((step) => step.operator.values);

export const tellsAny = (steps) => steps.some((step) => step.operator.values);
