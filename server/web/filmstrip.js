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

/** ITEMS: { name, picture or null, key }; CHOSEN: a key; CHOOSE is called with one. */
export function drawFilmstrip(items, chosen, choose) {
    byId('filmstrip').replaceChildren(
        ...items.map(({ name, picture, key }) =>
            element(
                'li',
                {},
                element(
                    'button',
                    {
                        type: 'button',
                        'aria-pressed': String(key === chosen),
                        'data-key': key,
                        onclick: () => choose(key),
                        title:
                            key === 'output'
                                ? 'Show the output alone'
                                : `Compare the output with: ${name}`,
                    },
                    picture
                        ? thumbnail(picture)
                        : element('canvas', { width: 72, height: HEIGHT, 'aria-hidden': 'true' }),
                    element('span', { className: 'name' }, name),
                    element(
                        'span',
                        { className: 'size' },
                        picture
                            ? `${whole(picture.fullWidth)} × ${whole(picture.fullHeight)}`
                            : '…',
                    ),
                ),
            ),
        ),
    );
}
