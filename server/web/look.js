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
    const kept = { ...usual };
    try {
        const stored = JSON.parse(localStorage.getItem(KEY)) ?? {};
        for (const name of Object.keys(usual))
            if (typeof stored[name] === typeof usual[name]) kept[name] = stored[name];
    } catch {
        // Storage may be forbidden or hold anything.
    }

    function show() {
        const isDark = kept.scheme === 'system' ? system.matches : kept.scheme === 'dark';
        root.dataset.theme = isDark ? 'dark' : 'light';
        root.dataset.stepsPanel = kept.steps;
        root.dataset.statisticsPanel = kept.statistics;
        for (const name of ['steps', 'statistics']) {
            const width = kept[`${name}Width`];
            root.style.setProperty(`--${name}`, width ? `${width}px` : '');
        }
        root.style.setProperty('--sheet', kept.sheet);
        root.dataset.sheet = kept.sheet > LOW ? 'open' : 'closed';
    }

    show();
    system.addEventListener('change', show);
    return {
        usual,
        get: (name) => kept[name],
        set(name, value) {
            kept[name] = value;
            show();
            try {
                localStorage.setItem(KEY, JSON.stringify(kept));
            } catch {
                // The look lasts as long as the page.
            }
        },
    };
})();
