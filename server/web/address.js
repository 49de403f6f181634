// The address holds, after the #, the state that can be shared: steps with their parameters, which
// of them are off, and the device. Never the picture.

const readable = (text) =>
    encodeURIComponent(text).replace(/%(3A|3D|2C|3B|2B)/g, (code) => decodeURIComponent(code));

export function readAddress(hash = location.hash) {
    const found = { steps: '', off: '', device: 'auto' };
    for (const item of hash.replace(/^#/, '').split('&')) {
        const equals = item.indexOf('=');
        const name = item.slice(0, equals);
        if (equals < 0 || !Object.hasOwn(found, name)) continue;
        try {
            found[name] = decodeURIComponent(item.slice(equals + 1));
        } catch {
            // an invalid part is ignored
        }
    }
    return found;
}

/** STEPS: the plan's text; OFF: the numbers of steps that are switched off. */
export function addressOf({ steps, off, device }) {
    const items = [];
    if (steps) items.push(`steps=${readable(steps)}`);
    if (off) items.push(`off=${readable(off)}`);
    if (device !== 'auto') items.push(`device=${readable(device)}`);
    return location.pathname + location.search + (items.length ? `#${items.join('&')}` : '');
}
