// The colour scheme and the panels, as they were left: attributes and properties of the root. Not a
// module, and before the style sheets: so the page is drawn once.
globalThis.look = (() => {
    const KEY = 'burin-look';
    const LOW = 10; // a sheet up to this height shows its tabs alone
    const root = document.documentElement;
    const system = matchMedia('(prefers-color-scheme: dark)');
    const usual = {
        scheme: 'system', // or light, dark
        steps: 'open', // the panels: or closed
        statistics: innerWidth < 1180 ? 'closed' : 'open', // there is no room beside the picture
        stepsWidth: 0, // in pixels; 0: as the style sheet has them
        statisticsWidth: 0,
        sheet: 44, // its height on a telephone, in hundredths of the window's
    };
    const chosen = {}; // of these; the others follow the window
    try {
        const stored = JSON.parse(localStorage.getItem(KEY)) ?? {};
        for (const name of Object.keys(usual))
            if (typeof stored[name] === typeof usual[name]) chosen[name] = stored[name];
    } catch {
        // Storage may be forbidden or hold anything.
    }

    const kept = () => ({ ...usual, ...chosen });

    function show() {
        const { scheme, steps, statistics, sheet, ...widths } = kept();
        const isDark = scheme === 'system' ? system.matches : scheme === 'dark';
        root.dataset.theme = isDark ? 'dark' : 'light';
        root.dataset.stepsPanel = steps;
        root.dataset.statisticsPanel = statistics;
        for (const name of ['steps', 'statistics']) {
            const width = widths[`${name}Width`];
            root.style.setProperty(`--${name}`, width ? `${width}px` : '');
        }
        root.style.setProperty('--sheet', sheet);
        root.dataset.sheet = sheet > LOW ? 'open' : 'closed';
    }

    show();
    system.addEventListener('change', show);
    return {
        usual,
        get: (name) => kept()[name],
        set(name, value) {
            chosen[name] = value;
            show();
            try {
                localStorage.setItem(KEY, JSON.stringify(chosen));
            } catch {
                // The look lasts as long as the page.
            }
        },
    };
})();
