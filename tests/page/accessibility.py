# SPDX-License-Identifier: Apache-2.0
"""Whether everybody can use what the page shows: axe-core's rules, the size of texts, and the width, in each window and scheme."""
import fcntl

import pytest

from npm import npm_packages

# Contrast, which takes ten times as long as all other rules, depends on the scheme and hardly on the width: it is looked at in two.
# The scheme changes once: another one styles and paints the whole page anew.
WINDOWS = (375, "light", True), (1440, "light", False), (768, "dark", True), (2560, "dark", False)
PHONE = (375, "light", True), (375, "dark", True)

LOOK = """const [parts, enabled] = arguments;
    const hidden = parts.filter((part) => !document.querySelector(part)?.checkVisibility());
    const small = new Set();
    for (const part of parts) {
        const walker = document.createTreeWalker(document.querySelector(part) ?? new Text(), NodeFilter.SHOW_TEXT);
        while (walker.nextNode()) {
            const parent = walker.currentNode.parentElement, scale = parent.closest('svg')?.getScreenCTM().a ?? 1;
            if (!walker.currentNode.data.trim() || !parent.getClientRects().length) continue;
            const size = parseFloat(getComputedStyle(parent).fontSize) * scale;
            if (size && size < 12.95) small.add(parent.outerHTML.slice(0, 90)); // 0: hidden from sight alone
        }
    }
    const { violations } = hidden.length || !window.axe ? { violations: [] } : await axe.run(parts.map((part) => [part]), { rules: { 'color-contrast': { enabled } } });
    const wrong = violations.map((rule) => [rule.id, rule.nodes.slice(0, 3).map((node) => node.html.slice(0, 200))]);
    const tooWide = document.documentElement.scrollWidth - innerWidth;
    return { hidden, small: [...small], tooWide: Math.max(0, tooWide), violations: wrong };"""
FINE = {"hidden": [], "small": [], "tooWide": 0, "violations": []}


class Eye:
    """Looks at parts of a page: all must be shown. SOURCE: axe-core; None: texts and widths alone are looked at."""

    def __init__(self, source):
        self.source = source

    def __call__(self, page, *parts, windows=WINDOWS):
        """Afterwards the window is as it was."""
        before = page.sized
        if self.source and not page.run("return Boolean(window.axe)"):
            page.run(self.source + "; window.axe = axe")
        try:
            for width, scheme, contrast in windows:
                page.size(width, 900)
                page.scheme(scheme)
                page.wait(f"innerWidth === {width} && document.documentElement.dataset.theme === '{scheme}' && !document.getAnimations().length", painted=True)
                found = page.run(f"return (async (...arguments) => {{ {LOOK} }})(...arguments)", parts or ["html"], contrast)
                assert found == FINE, (width, scheme, found)
        finally:
            page.scheme(None)
            page.size(*before)
            page.wait(f"innerWidth === {before[0]}")


def axe_core(tmp_path_factory):
    """Its text, as locked in package-lock.json with its digest; None where npm cannot fetch it. Processes of one run share it."""
    folder = tmp_path_factory.getbasetemp()
    folder = (folder.parent if folder.name.startswith("popen-") else folder) / "axe"
    folder.mkdir(exist_ok=True)
    path = folder / "node_modules/axe-core/axe.min.js"
    with open(folder / "lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            return (path if path.exists() else npm_packages(folder, develop=False) / "axe-core/axe.min.js").read_text(encoding="utf-8")
        except pytest.skip.Exception:
            return None
