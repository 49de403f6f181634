// Command lines for the same work, for curl and `burin run`, quoted for a POSIX shell.
import { element } from './element.js';
import { formatOf } from './encoding.js';
import { fileStep, filesOf, operations, settings, stepText, reportsOnly } from './plan.js';

/** Quotes TEXT as one word of the shell. */
export function shellWord(text) {
    return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/** A file for curl's -F, which splits at ; and , outside double quotes. */
function curlFile(name, file) {
    const plain = /^[\w./ -]+$/.test(file);
    return shellWord(`${name}=@${plain ? file : `"${file.replace(/[\\"]/g, '\\$&')}"`}`);
}

/** Keeps a name that begins with a dash from being an option. */
const pathWord = (file) => shellWord(file.startsWith('-') ? `./${file}` : file);

export function outputName(input, steps, type) {
    const base = input.replace(/\.[^.]*$/, '') || 'picture';
    const names = steps.map((step) => step.operator.name).join('-');
    const ending = formatOf(type).endings[0];
    const name = `${base}${names ? `-${names}` : ''}.${ending}`;
    return name === input ? `${base}-new.${ending}` : name;
}

function fileWords(steps, word) {
    return Object.entries(filesOf(steps)).map(([name, file]) => word(name, file.name));
}

const query = (items) =>
    items.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('&');

export function curlLine({ origin, steps, device, type, inputType, input, options, damaged }) {
    const common = [];
    if (damaged) common.push(['damaged', 'accept']);
    if (device !== 'auto') common.push(['device', device]);
    const only = reportsOnly(steps);
    // Without `type`, the daemon answers a lossless WebP as a lossless WebP.
    const usual = steps.length && type === inputType && type !== 'webp';
    if (!only && !usual) common.push(['type', type]);
    if (!only) common.push(...Object.entries(options));
    const words = ['curl', '-F', curlFile('image', input)];
    for (const word of fileWords(steps, curlFile)) words.push('-F', word);
    let path = steps.length ? '/pipeline' : '/convert';
    if (steps.length === 1) {
        path = `/${steps[0].operator.name}`;
        common.unshift(...settings(steps[0]));
    } else if (steps.length) {
        words.push('--form-string', shellWord(`operations=${JSON.stringify(operations(steps))}`));
    }
    words.push(shellWord(origin + path + (common.length ? `?${query(common)}` : '')));
    if (!only) words.push('-o', pathWord(outputName(input, steps, type)));
    return words.join(' ');
}

export function runLine({ steps, device, type, input, options, damaged }) {
    const words = ['burin', 'run', ...steps.map((step) => shellWord(stepText(step)))];
    if (device !== 'auto') words.push('--device', device);
    if (damaged) words.push('--damaged', 'accept');
    if (!reportsOnly(steps))
        for (const [name, value] of Object.entries(options))
            words.push(`--${name.replace('_', '-')}`, value);
    if (fileStep(steps))
        for (const [name, file] of Object.entries(filesOf(steps)))
            words.push(`--${name}`, pathWord(file.name));
    words.push(pathWord(input));
    if (!reportsOnly(steps)) words.push(pathWord(outputName(input, steps, type)));
    return words.join(' ');
}

/** TEXT is shown in SHOWN. */
export async function copyText(text, button, shown) {
    try {
        await navigator.clipboard.writeText(text);
        button.textContent = 'Copied';
    } catch {
        getSelection().selectAllChildren(shown); // not allowed here
        button.textContent = 'Selected';
    }
    setTimeout(() => (button.textContent = 'Copy'), 1500);
}

function show(title, line) {
    const pre = element('pre', { tabIndex: 0 }, line);
    const button = element(
        'button',
        { type: 'button', 'aria-label': `Copy the ${title} line` },
        'Copy',
    );
    button.addEventListener('click', () => copyText(line, button, pre));
    return element(
        'div',
        { className: 'command' },
        element('div', { className: 'command-head' }, title, button),
        pre,
    );
}

export function showCommands(box, facts) {
    if (!facts.steps.length && !facts.input) {
        box.replaceChildren(
            element(
                'p',
                { className: 'hint' },
                'Open a picture or add a step to see the command lines for curl and burin run.',
            ),
        );
        return;
    }
    const named = { ...facts, input: facts.input ?? 'picture.jpg' };
    box.replaceChildren(show('curl', curlLine(named)), show('burin run', runLine(named)));
}
