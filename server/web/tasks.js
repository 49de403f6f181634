// Tasks in the palette, beside the operators: what people come for, in their words. Their records are
// like those of operators, with START in place of adding a step.
import { byId } from './element.js';
import { page, stepList } from './page.js';
import { openSaving } from './saving.js';

const thumbnail = {
    name: 'thumbnail',
    title: 'Thumbnail',
    summary: 'A small copy, 320 pixels wide',
    aliases: ['thumb', 'thumbs', 'miniature', 'preview', 'small', 'smaller', 'icon'],
};

const removal = {
    name: 'remove-object',
    title: 'Remove an object',
    summary: 'Paint over somebody or something, and the picture closes there',
    advice:
        'Paint over it on the picture. It is cut out, and the picture closes around it: lines that run behind it may shift.',
    aliases: ['delete', 'erase', 'person', 'retouch', 'inpaint', 'heal', 'stamp'],
};

const compression = {
    name: 'compress',
    title: 'Compress',
    term: 'Save…',
    summary: 'Save with the type, the quality or the size that you choose',
    aliases: ['filesize', 'convert', 'export', 'format', 'kilobytes', 'megabytes', 'optimize', 'quality'],
    addsNoStep: true,
    start: () => (page.input ? openSaving() : byId('open').click()),
};

/** The tasks that OPERATORS, the records of GET /ops, can do. */
export function tasksOf(operators) {
    const resize = operators.find(({ name }) => name === 'resize');
    const remover = operators.find(({ parts }) => parts.some(({ name }) => name === 'rmask'));
    const by = (task, operator, start) =>
        operator ? [{ term: operator.name, group: operator.group, start, ...task }] : [];
    return [
        ...by(removal, remover, () => page.brush.begin(remover, 'rmask', removal)),
        ...by(thumbnail, resize, () => stepList.add(resize, { values: { width: '320' } })),
        ...by(compression, resize),
    ];
}
