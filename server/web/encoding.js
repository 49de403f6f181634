// How pictures are written: the chosen type and its options. The choice is the page's, so that it
// stays for the next picture and holds for all pictures of a queue.
import { writtenFormats } from './formats.js';

/** The daemon's parameters of these names; `usual` is its default. */
export const ranges = {
    quality: { min: 1, max: 100, usual: 85 },
    effort: { min: 0, max: 6, usual: 4 },
    compression: { min: 0, max: 3, usual: 1 },
    palette: { usual: false },
    colors: { min: 2, max: 256, usual: 256 },
    dither: { usual: false },
    lossless: { usual: false },
    progressive: { usual: false },
    max_bytes: { min: 1, usual: null },
};

/** `type` is null until the user chooses one: until then a picture keeps its type. */
export const choice = {
    type: null,
    ...Object.fromEntries(Object.entries(ranges).map(([name, { usual }]) => [name, usual])),
};

export const formatOf = (type) => writtenFormats.find(({ name }) => name === type);

/** The names of the options that have an effect on a file of TYPE with this choice. */
export function optionsOf(type) {
    const able = formatOf(type).abilities ?? [];
    const lossless = able.includes('lossless') && choice.lossless;
    const palette = able.includes('palette') && choice.palette;
    return Object.keys(ranges).filter((name) => {
        if (name === 'colors' || name === 'dither') return palette;
        if (name !== 'quality' && name !== 'max_bytes') return able.includes(name);
        return able.includes('quality') && !lossless;
    });
}

/** The chosen type, or INPUTTYPE, and the options that differ from the daemon's defaults. */
export function encodingFor(inputType) {
    const type = choice.type ?? inputType;
    const set = optionsOf(type).filter((name) => choice[name] !== ranges[name].usual);
    return { type, options: Object.fromEntries(set.map((name) => [name, String(choice[name])])) };
}

/** For example "WebP, quality 70, at most 20.0 kB". SIZE: a function that writes bytes. */
export function describe({ type, options }, size) {
    const words = Object.entries(options).map(([name, value]) => {
        if (name === 'max_bytes') return `at most ${size(Number(value))}`;
        return value === 'true' ? name : `${name} ${value}`;
    });
    return [formatOf(type).title, ...words].join(', ');
}
