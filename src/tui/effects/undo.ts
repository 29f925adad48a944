// Effects of undo and redo: take back the last turn of the visible session with its files, and put it back.
import { oneLine, pluralize } from "../../kit/text/cut-text.ts";
import { hintFor } from "../keys/hint.ts";
import { plainLine } from "../layout/wrap.ts";
import { requireSession, type EffectContext, type EffectHandlers } from "./effect-context.ts";
import { goTo } from "./turns.ts";

export const undoEffects: EffectHandlers<"undo" | "redo"> = {
  undo: (ctx) => takeStep(ctx, "undo"),
  redo: (ctx) => takeStep(ctx, "redo"),
};

async function takeStep(ctx: EffectContext, step: "undo" | "redo"): Promise<void> {
  const { session, prompt, files, changes, kept } = await ctx.api.session[step]({ session: requireSession(ctx).id, dryRun: false });
  const turn = prompt === null ? "the last turn" : `"${oneLine(plainLine(prompt, 40), 40)}"`;
  const filesText = {
    changed: `${pluralize(changes.length, "file")} restored`,
    unchanged: "no files changed",
    unknown: "its files were not recorded",
  };
  const parts = [
    step === "undo" ? `took back ${turn}` : `put back ${turn}`,
    filesText[files],
    ...(kept.length === 0 ? [] : [`kept, changed by others: ${plainLine(kept.slice(0, 3).join(", "), 80)}`]),
    ...(step === "undo" ? [`${hintFor(ctx.bindings, "redo")} puts it back`] : []),
  ];
  await goTo(ctx, session, parts.join("; "));
}
