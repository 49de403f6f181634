// Input, the picture after each step, output: small, in a row. Those that the window shows are
// pressed, in the colour of their side.
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
    picture.draw(canvas.getContext('2d'), { left: 0, top: 0, across: zoom, down: zoom });
    return canvas;
}

const empty = () => element('canvas', { width: 72, height: HEIGHT, 'aria-hidden': 'true' });

/** The picture's own size, or that of the plan: see geometry.js. */
function sizeText(size) {
    if (!size) return '…';
    return `${whole(size.fullWidth ?? size.width)} × ${whole(size.fullHeight ?? size.height)}`;
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

function fill(button, { name, picture, size, side }) {
    button.setAttribute('aria-pressed', String(side !== ''));
    button.dataset.side = side;
    if (!button.firstChild || button.picture !== picture)
        button.prepend(picture ? thumbnail(picture) : empty());
    button.picture = picture;
    button.replaceChildren(
        button.firstChild,
        element('span', { className: 'name' }, name),
        element('span', { className: 'size' }, sizeText(size)),
    );
}

/**
 * ITEMS: { name, picture or null, size, key, side }, where side is the window's side that shows the
 * picture, or ''. CHOOSE is called with a key. Buttons are kept, since pictures arrive while a
 * button may be pressed.
 */
export function drawFilmstrip(items, choose) {
    const strip = byId('filmstrip');
    const kept = new Map([...strip.children].map((frame) => [frame.firstChild.dataset.key, frame]));
    items.forEach((item, place) => {
        const frame = kept.get(item.key) ?? newFrame(item.key, choose);
        kept.delete(item.key);
        fill(frame.firstChild, item);
        if (strip.children[place] !== frame) strip.insertBefore(frame, strip.children[place] ?? null);
    });
    for (const frame of kept.values()) frame.remove();
}
