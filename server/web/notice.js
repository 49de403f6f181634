// The line under the bar: an error, with advice.
import { byId, element } from './element.js';

const box = byId('notice');

/** Shows TITLE and DETAIL; ACTION: { text, run } is a button. */
export function showNotice(title, detail, action) {
    box.replaceChildren(
        element('strong', {}, title),
        element('span', { className: 'detail' }, detail),
        action ? element('button', { type: 'button', onclick: action.run }, action.text) : '',
    );
    box.hidden = false;
}

export function hideNotice() {
    box.hidden = true;
    box.replaceChildren();
}

const titles = {
    400: 'Not with these values',
    413: 'Too large',
    415: 'Not a picture',
    422: 'Not this picture',
    503: 'No room',
    504: 'Too slow',
};

const advice = {
    413: 'Choose a smaller file, or start the daemon with a larger body_bytes_max.',
    422: 'Choose a different picture or different values.',
    503: 'The daemon has no room now. Try again in a moment.',
    504: 'It took too long. Try fewer steps or a smaller change, or start the daemon with a larger processing_ms.',
};

/** Makes a sentence of words; the name of an operator at their beginning stays as it is. */
export const sentenceOf = (words) =>
    words
        .replace(/^[a-z](?!\w*:)/, (letter) => letter.toUpperCase())
        .replace(/([^.!?])$/, '$1.');

/** Shows the daemon's message, which contains advice, first. */
export function showProblem(problem, again) {
    const tip = advice[problem.status];
    const sentence = sentenceOf(problem.message);
    showNotice(
        titles[problem.status] ?? problem.title,
        tip ? `${sentence} ${tip}` : sentence,
        again && { text: 'Try again', run: again },
    );
}
