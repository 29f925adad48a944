// The source of axe-core, to be evaluated in a page: its Content-Security-Policy refuses added scripts.
import axe from "axe-core";

export const axeSource = axe.source;
