// Input, the picture after each step, output: small, in a row. The pressed one is shown left of the
// divider.
import { byId, element, whole } from './element.js';

const HEIGHT = 56;

function thumbnail(picture) {
    const ratio = window.devicePixelRatio || 1;
    const zoom = Math.min((HEIGHT * ratio) / picture.fullHeight, (130 * ratio) / picture.fullWidth);
    const canvas = element('canvas', {
        width: Math.max(1, Math.round(picture.fullWidth * zoom)),
        height: Math.max(1, Math.round(picture.fullHeight * zoom)),
        'aria-hidden': 'true',
    });
    picture.draw(canvas.getContext('2d'), 0, 0, zoom);
    return canvas;
}

const empty = () => element('canvas', { width: 72, height: HEIGHT, 'aria-hidden': 'true' });

/** The size of a preview is exact to a pixel or two. */
function sizeText(picture, exact) {
    const size = `${whole(picture.fullWidth)} × ${whole(picture.fullHeight)}`;
    return exact ? size : `≈ ${size}`;
}

function newFrame(key, choose) {
    const button = element('button', {
        type: 'button',
        title: key === 'output' ? 'Show the output alone' : 'Compare the output with this',
        'data-key': key,
        onclick: () => choose(key),
    });
    return element('li', {}, button);
}

function fill(button, { name, picture, exact, key }, chosen) {
    button.setAttribute('aria-pressed', String(key === chosen));
    button.replaceChildren(
        picture ? thumbnail(picture) : empty(),
        element('span', { className: 'name' }, name),
        element('span', { className: 'size' }, picture ? sizeText(picture, exact) : '…'),
    );
}

/**
 * ITEMS: { name, picture or null, exact, key }; CHOSEN: a key; CHOOSE is called with one. Buttons
 * are kept, since pictures arrive while a button may be pressed.
 */
export function drawFilmstrip(items, chosen, choose) {
    const strip = byId('filmstrip');
    const kept = new Map([...strip.children].map((frame) => [frame.firstChild.dataset.key, frame]));
    items.forEach((item, place) => {
        const frame = kept.get(item.key) ?? newFrame(item.key, choose);
        kept.delete(item.key);
        fill(frame.firstChild, item, chosen);
        if (strip.children[place] !== frame) strip.insertBefore(frame, strip.children[place] ?? null);
    });
    for (const frame of kept.values()) frame.remove();
}
