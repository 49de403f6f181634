// The picture that a step gets, alone in the window, for a tool that works on it: the brush or the
// handles.
import { failed } from './connection.js';
import { byId } from './element.js';
import { page, stepList, viewer } from './page.js';
import { openPicture } from './picture.js';
import { planText } from './plan.js';
import { fullRun } from './runner.js';
import { showPictures } from './stages.js';

const before = (step) => stepList.active.slice(0, stepList.active.indexOf(step));

export class Bench {
    constructor() {
        this.tool = null; // { step, layer, left() }: its step in the list, and what is drawn over it
        this.site = null; // { input, text, picture }: the picture, and its causes; null: none
        this.entering = null; // AbortController
    }

    /** Returns whether TOOL can work now. A later tool ends the way of an earlier one. */
    async enter(tool) {
        if (this.tool === tool) return true;
        this.leave();
        const { signal } = (this.entering = new AbortController());
        const { input, device } = page;
        const steps = before(tool.step);
        const text = planText(steps);
        try {
            const picture = steps.length
                ? await openPicture((await fullRun({ input, steps, device }, { signal })).blob)
                : input.picture;
            const isStill = input === page.input && tool.step && text === planText(before(tool.step));
            if (isStill && !signal.aborted) {
                this.tool = tool;
                this.site = { input, text, picture };
                return true;
            }
            if (picture !== input.picture) picture.close();
        } catch (error) {
            if (!signal.aborted) failed(error);
        }
        return false;
    }

    leave() {
        this.entering?.abort();
        if (!this.site) return;
        const { tool, site } = this;
        this.tool = this.site = null;
        const focus = tool.left();
        stepList.refresh();
        showPictures();
        if (site.picture !== site.input.picture) site.picture.close();
        if (focus) (byId('steps').querySelector(focus) ?? viewer.canvas).focus();
    }

    /** After a change of the plan or of the picture. */
    changed() {
        const { tool, site } = this;
        if (!site) return;
        const isKept = tool.step && site.input === page.input;
        if (!isKept || site.text !== planText(before(tool.step))) this.leave();
        else viewer.paint(); // its handles follow the fields
    }
}
