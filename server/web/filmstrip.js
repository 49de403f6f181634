// Input, the picture after each step, output: small, in a row. The one that is pressed stands
// left of the divider.
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

/** That of a preview is known to a pixel or two. */
function sizeText(picture, exact) {
    const size = `${whole(picture.fullWidth)} × ${whole(picture.fullHeight)}`;
    return exact ? size : `≈ ${size}`;
}

function frame({ name, picture, exact, key }, chosen, choose) {
    const title = key === 'output' ? 'Show the output alone' : `Compare the output with: ${name}`;
    const pressed = String(key === chosen);
    return element(
        'button',
        {
            type: 'button',
            title,
            'aria-pressed': pressed,
            'data-key': key,
            onclick: () => choose(key),
        },
        picture ? thumbnail(picture) : empty(),
        element('span', { className: 'name' }, name),
        element('span', { className: 'size' }, picture ? sizeText(picture, exact) : '…'),
    );
}

/** ITEMS: { name, picture or null, exact, key }; CHOSEN: a key; CHOOSE is called with one. */
export function drawFilmstrip(items, chosen, choose) {
    const frames = items.map((item) => element('li', {}, frame(item, chosen, choose)));
    byId('filmstrip').replaceChildren(...frames);
}
