// Tasks in the palette, beside the operators: a step alone does not do them. Their records are like
// those of operators, with START in place of adding a step.
import { page } from './page.js';

const removal = {
    name: 'remove-object',
    title: 'Remove an object',
    summary: 'Paint over somebody or something, and the picture closes there',
    aliases: ['delete', 'erase', 'person', 'retouch', 'inpaint', 'heal', 'stamp'],
};

/** The tasks that OPERATORS, the records of GET /ops, can do. */
export const tasksOf = (operators) =>
    operators
        .filter(({ parts }) => parts.some(({ name }) => name === 'rmask'))
        .map((operator) => ({
            ...removal,
            term: operator.name,
            group: operator.group,
            start: () => page.brush.begin(operator, 'rmask'),
        }));
