// Command lines for the same work, for curl and `burin run`, quoted for a POSIX shell.
import { element } from './element.js';
import { writtenFormats } from './formats.js';
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
    const ending = writtenFormats.find((format) => format.name === type).endings[0];
    return `${base}${names ? `-${names}` : ''}.${ending}`;
}

function fileWords(steps, word) {
    return Object.entries(filesOf(steps)).map(([name, file]) => word(name, file.name));
}

const query = (items) =>
    items.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('&');

export function curlLine({ origin, steps, device, type, inputType, input, quality, damaged }) {
    const common = [];
    if (damaged) common.push(['damaged', 'accept']);
    if (device !== 'auto') common.push(['device', device]);
    const only = reportsOnly(steps);
    if (!only && type !== inputType) common.push(['type', type]);
    if (!only && type === 'jpeg' && quality !== 85) common.push(['quality', String(quality)]);
    const words = ['curl', '-F', curlFile('image', input)];
    for (const word of fileWords(steps, curlFile)) words.push('-F', word);
    let path = '/pipeline';
    if (steps.length === 1) {
        path = `/${steps[0].operator.name}`;
        common.unshift(...settings(steps[0]));
    } else {
        words.push('--form-string', shellWord(`operations=${JSON.stringify(operations(steps))}`));
    }
    words.push(shellWord(origin + path + (common.length ? `?${query(common)}` : '')));
    if (!only) words.push('-o', pathWord(outputName(input, steps, type)));
    return words.join(' ');
}

export function runLine({ steps, device, type, input, quality, damaged }) {
    const words = ['burin', 'run', ...steps.map((step) => shellWord(stepText(step)))];
    if (device !== 'auto') words.push('--device', device);
    if (damaged) words.push('--damaged', 'accept');
    if (type === 'jpeg' && quality !== 85) words.push('--quality', String(quality));
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
    if (!facts.steps.length) {
        box.replaceChildren(
            element(
                'p',
                { className: 'hint' },
                'Add a step to see the command lines for curl and burin run here.',
            ),
        );
        return;
    }
    box.replaceChildren(show('curl', curlLine(facts)), show('burin run', runLine(facts)));
}
