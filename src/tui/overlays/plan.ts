// The plan overlay: the text of the plan file, with finished steps marked. It updates while it is open.
import type { TextStyle } from "../../kit/text/ansi.ts";
import { wrapRuns } from "../layout/wrap.ts";
import { good } from "../layout/styles.ts";
import { step, type Key, type State, type UpdateResult } from "../model/state.ts";
import type { BoxLine, OverlayView, OverlayArea } from "./box.ts";
import { handleTextKey, textOverlayView, type TextOverlay } from "./reader.ts";

export type PlanOverlay = { kind: "plan"; text: string; top: number };

export function handlePlanKey(state: State, plan: PlanOverlay, key: Key): UpdateResult {
  const next = handleTextKey(state, toTextOverlay(plan, state.size.columns), key);
  const { overlay } = next.state;
  return overlay?.kind === "reader" ? step({ ...next.state, overlay: { ...plan, top: overlay.top } }) : next;
}

export function planView(plan: PlanOverlay, area: OverlayArea): OverlayView {
  return textOverlayView(toTextOverlay(plan, area.columns), area);
}

function toTextOverlay({ text, top }: PlanOverlay, columns: number): TextOverlay {
  const lines = text.trimEnd().split("\n");
  return { kind: "reader", title: ".skein/plan.md", lines: lines.flatMap((line) => linesOf(line, columns - 4)), top };
}

function linesOf(line: string, columns: number): BoxLine[] {
  const style: TextStyle = /\[[xX]\] /.test(line) ? good : /^#+ /.test(line) ? { bold: true } : {};
  const [mark = ""] = /^\s*(?:[-*+]|\d+[.)])\s+(?:\[[ xX]\]\s+)?/.exec(line) ?? [];
  const hang = { text: " ".repeat(mark.length), style: {} };
  return wrapRuns([{ text: line, style }], columns, hang).map((row) => ({ text: row.map((run) => run.text).join(""), style }));
}
