// Makes elements. Text is never parsed as HTML.

const SVG = 'http://www.w3.org/2000/svg';

function fill(node, attributes, children) {
    for (const [name, value] of Object.entries(attributes ?? {})) {
        if (value === undefined || value === null || value === false) continue;
        if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
        else if (
            name in node &&
            typeof node[name] !== 'object' &&
            !name.includes('-') &&
            node.namespaceURI !== SVG
        )
            node[name] = value;
        else node.setAttribute(name, value === true ? '' : value);
    }
    node.append(
        ...children
            .flat()
            .filter((child) => child !== null && child !== undefined && child !== false),
    );
    return node;
}

export function element(tag, attributes, ...children) {
    return fill(document.createElement(tag), attributes, children);
}

export function drawing(tag, attributes, ...children) {
    return fill(document.createElementNS(SVG, tag), attributes, children);
}

export const byId = (id) => document.getElementById(id);

const grouped = new Intl.NumberFormat('en');
export const whole = (number) => grouped.format(Math.round(number));

/** A time of MS in three digits: in ms up to 999, in s from there on. */
export function milliseconds(ms) {
    const [time, unit] = ms < 999.5 ? [ms, 'ms'] : [ms / 1000, 's'];
    if (time >= 999.5) return `${whole(time)} ${unit}`;
    return `${time < 0.1 ? time.toFixed(3) : time.toPrecision(3)} ${unit}`;
}

export function byteCount(bytes) {
    if (bytes < 1000) return `${bytes} B`;
    return bytes < 1e6 ? `${(bytes / 1e3).toFixed(1)} kB` : `${(bytes / 1e6).toFixed(2)} MB`;
}
