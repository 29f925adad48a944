// Effects of plans: start and stop planning, edit, show and execute the plan. Also suspends the screen.
import { relative } from "node:path";
import { pluralize } from "../../kit/text/cut-text.ts";
import { stripAnsi } from "../../kit/text/ansi.ts";
import { hintFor } from "../keys/hint.ts";
import { parseSteps } from "../model/plan-steps.ts";
import type { EffectHandlers, EffectContext } from "./effect-context.ts";
import { readPlan, setPlanning } from "./planning.ts";
import { nextAgent } from "./settings.ts";
import { carryDraft, enterSession, startTurn } from "./turns.ts";

export const planEffects: EffectHandlers<
  "plan" | "execute plan" | "edit plan" | "read plan" | "show plan" | "read finished plan" | "suspend"
> = {
  plan: (ctx, { isOn }) => (isOn ? startPlanning(ctx) : stopPlanning(ctx)),
  /** Executes the plan in a new session. The engine links it to the session that planned. */
  "execute plan": async (ctx) => {
    const { api, directory, send } = ctx;
    const plan = await api.plan.read({ directory });
    if (plan.text.trim() === "") return send({ type: "notice", text: noPlan(ctx) });
    const task = taskOf(plan.text, relative(directory, plan.file));
    const session = await api.session.open({ ...ctx.open, ...nextAgent(ctx), find: { by: "new" }, task, plan });
    setPlanning(ctx, false);
    carryDraft(ctx);
    await enterSession(ctx, session);
    await startTurn(ctx, { prompt: task, images: [] });
  },
  "edit plan": async (ctx) => {
    const { api, directory, lendTerminal, editor, send } = ctx;
    const command = editor.command();
    const { file } = await api.plan.make({ directory });
    const exitCode = await lendTerminal(() => editor.edit(command, file));
    const { text } = await api.plan.read({ directory });
    await readPlan(ctx, ctx.session);
    const planText = text.trim() === "" ? "the plan is empty" : `the plan has ${pluralize(text.trimEnd().split("\n").length, "line")}`;
    const problem = exitCode === notFound ? `${command} was not found` : `${command} ended with ${exitCode}`;
    send({ type: "notice", text: exitCode === 0 ? planText : `${problem}; ${planText}` });
  },
  "read plan": (ctx) => readPlan(ctx, ctx.session),
  "show plan": async (ctx) => {
    const { text } = await ctx.api.plan.read({ directory: ctx.directory });
    ctx.send(text.trim() === "" ? { type: "notice", text: noPlan(ctx) } : { type: "plan shown", text: stripAnsi(text) });
  },
  "read finished plan": async ({ api, directory, session, send }) => {
    if (session === null) return;
    const { text } = await api.plan.read({ directory });
    send({ type: "plan ready", session: session.id, text: stripAnsi(text) });
  },
  suspend: ({ suspend }) => suspend(),
};

function noPlan({ bindings }: EffectContext): string {
  return `there is no plan yet: ${hintFor(bindings, "plan", "Space p")} plans, ${hintFor(bindings, "edit-plan", "Space e")} opens an editor`;
}

/** Exit code of a shell for a missing program. */
const notFound = 127;

/** Opens a new session for planning. The earlier conversation is not part of it. Throws if the plan policy can't be enforced. */
async function startPlanning(ctx: EffectContext): Promise<void> {
  const { api, turn, policies, directory } = ctx;
  const agent = nextAgent(ctx);
  await api.turn.check({ ...turn, ...agent, policy: policies.plan, isNew: false, directory });
  ctx.sessionBeforePlanning = ctx.session;
  ctx.open = { ...ctx.open, ...agent };
  setPlanning(ctx, true);
  carryDraft(ctx);
  await enterSession(ctx, null);
}

async function stopPlanning(ctx: EffectContext): Promise<void> {
  const { api, directory, sessionBeforePlanning: previous = null } = ctx;
  delete ctx.sessionBeforePlanning;
  setPlanning(ctx, false);
  carryDraft(ctx);
  await enterSession(ctx, previous === null ? null : await api.session.find({ wanted: previous.id, directory }));
}

/** The prompt of the execution. It asks to tick steps only if the plan has steps. */
function taskOf(text: string, file: string): string {
  if (parseSteps(text).length === 0) return "Carry out the plan.";
  return `Carry out the plan. As soon as a step is done, mark it with [x] in ${file}, in place.`;
}
