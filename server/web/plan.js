// A pipeline: steps { operator, values, files, off, folded }. `operator` is a record of GET /ops,
// `values` has the text of each parameter that was set, `files` the step's additional files; a step
// that is `off` does nothing, and the form of one that is `folded` is not shown.

/** An object without inherited members: a parameter may be called `constructor`. */
const named = (values) => Object.assign(Object.create(null), values);

export const parameterOf = (step, name) =>
    step.operator.parameters.find((parameter) => parameter.name === name);

/** The text that a field shows without a value; undefined: none. */
export function defaultText(parameter) {
    return parameter.default === undefined ? undefined : String(parameter.default);
}

/** Numbers in a row of a list of COUNT: a kernel is square, a matrix of colours has three rows. */
export const listColumns = (type, count) => (type === 'numbers' ? count / 3 : Math.sqrt(count));

/** The kernel or matrix that changes nothing, to begin with if it is required. */
export function identityList(type, count) {
    const columns = listColumns(type, count);
    const isOne = (i) => (type === 'numbers' ? i % (columns + 1) === 0 : i === (count - 1) / 2);
    return Array.from({ length: count }, (_, i) => (isOne(i) ? 1 : 0)).join(',');
}

/** The picture's side that limits a number of pixels. */
export const sideOf = (parameter, picture) =>
    /height|top|bottom|dy|^y$/.test(parameter.name) ? picture.height : picture.width;

/** An example in pixels fits any picture; half of this picture's size shows more. */
function beginning(parameter, picture) {
    if (parameter.unit !== 'pixels' || !picture) return String(parameter.example);
    return String(Math.max(parameter.min, sideOf(parameter, picture) >> 1));
}

/**
 * A step from the palette, with required parameters and examples. PICTURE: null if none is open.
 */
/** In everyday words, if there are some. */
export const titleOf = ({ task, operator }) => task?.title ?? operator.title ?? operator.name;

export function newStep(operator, picture) {
    const step = emptyStep(operator);
    for (const parameter of operator.parameters)
        if (parameter.example !== undefined)
            step.values[parameter.name] = beginning(parameter, picture);
    return step;
}

/** A step with its required parameters. */
function emptyStep(operator) {
    const values = named();
    for (const parameter of operator.parameters) {
        if (!parameter.required) continue;
        if (parameter.counts)
            values[parameter.name] = identityList(parameter.type, parameter.counts[0]);
        else if (parameter.type === 'choice') values[parameter.name] = parameter.choices[0];
        else if (parameter.type === 'boolean') values[parameter.name] = 'false';
        else values[parameter.name] = String(Math.min(Math.max(0, parameter.min), parameter.max));
    }
    return { operator, values, files: {} };
}

/** Parameters that the daemon does not take together. */
const excluded = named({
    carve: named({ width: ['dx'], dx: ['width'], height: ['dy'], dy: ['height'] }),
    resize: named({ x: ['position'], y: ['position'], position: ['x', 'y'] }),
});

/** Sets a parameter, or removes its value if TEXT is empty; and removes those that it excludes. */
export function setValue({ operator, values }, name, text) {
    if (text === '') delete values[name];
    else values[name] = text;
    for (const other of (text !== '' && excluded[operator.name]?.[name]) || []) delete values[other];
}

/** Copies that later changes do not affect; the live width's bounds are of the one step only. */
export const copyOf = (steps) =>
    steps.map((step) => {
        const own = { values: named(step.values), files: { ...step.files }, bounds: undefined };
        return { ...step, ...own };
    });

const sameFiles = (one, other) =>
    Object.keys({ ...one, ...other }).every((name) => one[name] === other[name]);

export const isSameButValues = (one, other) =>
    one.operator.name === other.operator.name &&
    Boolean(one.off) === Boolean(other.off) &&
    sameFiles(one.files, other.files);

/** Whether two plans { steps, device } have the same steps with the same values and files. */
export const isSamePlan = (one, other) =>
    one.device === other.device &&
    planText(one.steps) === planText(other.steps) &&
    one.steps.every((step, i) => isSameButValues(step, other.steps[i]));

/** The parameters that differ from their defaults: [name, text]... */
export function settings(step) {
    return step.operator.parameters
        .map((parameter) => [parameter.name, step.values[parameter.name], defaultText(parameter)])
        .filter(([, value, usual]) => value !== undefined && value !== '' && value !== usual)
        .map(([name, value]) => [name, value]);
}

/** The text for `burin run` and the address: edge:threshold=40,binary=true. */
export function stepText(step) {
    const set = settings(step).map(([name, value]) => `${name}=${value.replaceAll(' ', ',')}`);
    return step.operator.name + (set.length ? `:${set.join(',')}` : '');
}

export const planText = (steps) => steps.map(stepText).join(';');

/** The numbers of the steps that are off, from 1 on. */
export const offText = (steps) =>
    steps
        .map((step, i) => (step.off ? i + 1 : 0))
        .filter(Boolean)
        .join(',');

/** A comma before a number separates taps, not parameters. */
function readStep(text, operators, unknown) {
    const colon = text.indexOf(':');
    const name = colon < 0 ? text : text.slice(0, colon);
    const operator = operators.find((known) => known.name === name);
    if (!operator) return (unknown.push(name), null);
    const step = emptyStep(operator);
    for (const setting of colon < 0 ? [] : text.slice(colon + 1).split(/,(?! *[-+\d])/)) {
        const equals = setting.indexOf('=');
        const parameter = parameterOf(step, setting.slice(0, equals));
        if (equals > 0 && parameter) step.values[parameter.name] = setting.slice(equals + 1);
        else unknown.push(`${name}:${setting}`);
    }
    return step;
}

/**
 * Returns { steps, unknown }; unknown: the operators and settings that this daemon does not have.
 */
export function readPlan(text, operators) {
    const unknown = [];
    const steps = text
        .split(';')
        .filter(Boolean)
        .map((step) => readStep(step, operators, unknown))
        .filter(Boolean);
    return { steps, unknown };
}

/** The operations for /pipeline. */
export const operations = (steps) =>
    steps.map((step) => ({
        operation: step.operator.name,
        params: Object.fromEntries(settings(step)),
    }));

/** The parts of a step that it cannot do without: pictures, not masks. */
export const neededParts = ({ operator }) => operator.parts.filter(({ kind }) => kind === 'picture');

/** Whether a step is not switched off, and has the files that it needs. */
export const isOn = (step) => !step.off && neededParts(step).every(({ name }) => step.files[name]);

/** The first step that needs files gets them, or else the first that takes any. */
export const fileStep = (steps) =>
    steps.find((step) => neededParts(step).length) ??
    steps.find((step) => step.operator.parts.length);

export const filesOf = (steps) => fileStep(steps)?.files ?? {};

/** Whether no step changes the picture. */
export const reportsOnly = (steps) =>
    steps.length > 0 && steps.every((step) => step.operator.values);

export const reportsAny = (steps) => steps.some((step) => step.operator.values);
