// The notice of what went wrong, at its cause: the field, the mask, Save; else under the bar. It
// goes with the next change, unless it lasts.
import { byId, element } from './element.js';
import { openPanel } from './panels.js';

const box = byId('notice');
let lasts = false;

/**
 * ACTION: { text, run } is a button. AT: the element in which the notice stands; null: under the
 * bar. LASTING: only `endNotice` removes it.
 */
export function showNotice({ title, detail, action, at = null, lasting = false }) {
    if (lasts && !lasting) return;
    lasts = lasting;
    const close = { type: 'button', className: 'close', 'aria-label': 'Close', onclick: endNotice };
    box.replaceChildren(
        element('strong', {}, title),
        ' ',
        element('span', { className: 'detail' }, detail),
        action ? element('button', { type: 'button', onclick: action.run }, action.text) : '',
        element('button', { ...close, title: 'Close' }, '✕'),
    );
    if (at?.closest('#steps')) openPanel('steps');
    at?.closest('details')?.setAttribute('open', '');
    if (at) at.append(box);
    else goHome();
    box.hidden = false;
    if (at) box.scrollIntoView({ block: 'nearest' });
}

function goHome() {
    if (box.nextElementSibling?.tagName !== 'MAIN') document.querySelector('main').before(box);
}

export function endNotice() {
    lasts = false;
    hideNotice();
}

export function hideNotice() {
    if (lasts) return;
    box.hidden = true;
    box.replaceChildren();
    goHome();
}

// ---- refusals of the daemon

/** A pattern of messages for each title; in the title, $1 and $2 are of the pattern. */
const causes = [
    [/^(\w+) is \d+ x \d+ pixels, but/, 'The $1 has another size'],
    [/^(mask|rmask): /, 'The $1 cannot be read'],
    [/^this is an? ([\w ]+?)(?: image| document)?, .*Burin does not read/, 'Burin does not read $1'],
    [/an? (\w+) may have at most/, 'Too large for $1'],
    [/^(\w+): (?:width \d+ x height|\d+ x \d+;)/, '$1 makes too large a picture'],
    [/^(\w+): (\w+)(?: [+] \w+)? must be/, '$1 cannot take this $2'],
    [/^(\w+) takes (.+), not both/, '$1 takes only one of $2'],
    [/^(\w+) takes images of/, '$1 cannot take this picture'],
];

const titles = {
    bad_param: 'These values do not work',
    corrupt: 'The picture is damaged',
    not_an_image: 'Not a picture',
    body_too_large: 'The file is too large',
    too_large: 'Too large',
    busy: 'Burin is busy',
    no_memory: 'Burin is busy',
    deadline: 'Too slow',
    no_key: 'A key is needed',
    forbidden: 'This key may not do this',
    over_quota: 'This key has done enough for now',
};

const advice = {
    413: 'Choose a smaller file, or start the daemon with a larger body_bytes_max.',
    503: 'The daemon has no room now. Try again in a moment.',
    504: 'It took too long. Try fewer steps or a smaller change, or start the daemon with a larger processing_ms.',
};

export function titleOf({ message, code, status, title }) {
    for (const [pattern, text] of causes) {
        const found = pattern.exec(message);
        if (found) return text.replace(/\$(\d)/g, (_, group) => found[group]);
    }
    return titles[code] ?? (status === 503 ? titles.busy : title);
}

/** Makes a sentence of words; the name of an operator at their beginning stays as it is. */
export const sentenceOf = (words) =>
    words
        .replace(/^[a-z](?!\w*:)/, (letter) => letter.toUpperCase())
        .replace(/([^.!?])$/, '$1.');

/** Shows the daemon's message, which contains advice. NAME: of the file that it is about. */
export function showProblem(problem, { action, at, name }) {
    const sentences = [sentenceOf(problem.message), advice[problem.status]];
    const detail = sentences.filter(Boolean).join(' ');
    showNotice({ title: titleOf(problem), detail: name ? `${name}: ${detail}` : detail, action, at });
}
