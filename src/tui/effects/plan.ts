// Planning, the plan in an editor, and carrying it out; and the whole screen put aside for the shell.
import { relative } from "node:path";
import { pluralize } from "../../kit/text/cut-text.ts";
import { stripAnsi } from "../../kit/text/ansi.ts";
import { parseSteps } from "../model/plan-steps.ts";
import type { EffectHandlers, EffectContext } from "./effect-context.ts";
import { readPlan, setPlanning } from "./planning.ts";
import { nextAgent } from "./settings.ts";
import { enterSession, startTurn } from "./turns.ts";

export const planEffects: EffectHandlers<"plan" | "execute plan" | "edit plan" | "read plan" | "show plan" | "suspend"> = {
  plan: (doing, { isOn }) => (isOn ? beginPlanning(doing) : leavePlanning(doing)),
  "execute plan": executePlan,
  "edit plan": editPlan,
  "read plan": (doing) => readPlan(doing, doing.session),
  "show plan": showPlan,
  suspend: ({ suspend: toShell }) => toShell(),
};

const noPlan = "there is no plan yet: Space p plans one, Space e writes it";

/** The talk before it is left out, and stays where it is: the first message opens a session. Nothing begins where plans can't be held to. */
async function beginPlanning(ctx: EffectContext): Promise<void> {
  const { api, turn, policies, directory } = ctx;
  const taker = nextAgent(ctx);
  await api.turn.check({ ...turn, ...taker, policy: policies.plan, isNew: false, directory });
  ctx.sessionBeforePlanning = ctx.session;
  ctx.open = { ...ctx.open, ...taker };
  setPlanning(ctx, true);
  await enterSession(ctx, null);
}

async function leavePlanning(ctx: EffectContext): Promise<void> {
  const { api, directory, sessionBeforePlanning: left = null } = ctx;
  delete ctx.sessionBeforePlanning;
  setPlanning(ctx, false);
  await enterSession(ctx, left === null ? null : await api.session.find({ wanted: left.id, directory }));
}

/** The engine knows who planned it, and links the two. */
async function executePlan(ctx: EffectContext): Promise<void> {
  const { api, directory, send } = ctx;
  const plan = await api.plan.read({ directory });
  if (plan.text.trim() === "") return send({ type: "told", text: noPlan });
  const task = taskOf(plan.text, relative(directory, plan.file));
  const session = await api.session.open({ ...ctx.open, ...nextAgent(ctx), find: { by: "new" }, task, plan });
  setPlanning(ctx, false);
  await enterSession(ctx, session);
  await startTurn(ctx, { prompt: task, images: [] });
}

/** The plan says what; only where its steps can be ticked, it is asked for here and not in the system prompt. */
function taskOf(text: string, file: string): string {
  if (parseSteps(text).length === 0) return "Carry out the plan.";
  return `Carry out the plan. As soon as a step is done, mark it with [x] in ${file}, in place.`;
}

/** What a shell says of a program that is not there. */
const notFound = 127;

async function editPlan(ctx: EffectContext): Promise<void> {
  const { api, directory, lendTerminal: away, editor, send } = ctx;
  const command = editor.command();
  const { file } = await api.plan.make({ directory });
  const ended = await away(() => editor.edit(command, file));
  const { text } = await api.plan.read({ directory });
  await readPlan(ctx, ctx.session);
  const now = text.trim() === "" ? "the plan is empty" : `the plan has ${pluralize(text.trimEnd().split("\n").length, "line")}`;
  const how = ended === notFound ? `${command} was not found` : `${command} ended with ${ended}`;
  send({ type: "told", text: ended === 0 ? now : `${how}; ${now}` });
}

async function showPlan({ api, directory, send }: EffectContext): Promise<void> {
  const { text } = await api.plan.read({ directory });
  send(text.trim() === "" ? { type: "told", text: noPlan } : { type: "plan shown", text: stripAnsi(text) });
}
