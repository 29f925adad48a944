// Answers to questions of agents, and which questions there are in the project.
import { oneLine } from "../../kit/text/cut-text.ts";
import type { Ask } from "../../protocol/api/control.ts";
import { Fault } from "../../protocol/api/error.ts";
import type { EffectHandlers, EffectContext } from "./effect-context.ts";
import { startTurn } from "./turns.ts";

export const askEffects: EffectHandlers<"answer" | "list asks"> = { answer, "list asks": listAsks };

const mostListed = 20;

/** A turn that ended with its question goes on when it is answered. */
async function answer(ctx: EffectContext, { ask, text }: { ask: string; text: string }): Promise<void> {
  const { api, send } = ctx;
  const answered = await recorded(ctx, ask, text);
  send({ type: "answered", ask });
  if (answered === null) return send({ type: "told", text: "that question is closed already" });
  const { session } = answered;
  if (session !== ctx.session?.id) return send({ type: "told", text: `answered: ${oneLine(answered.answer ?? text, 100)}` });
  if (ctx.following?.openTurn === null && (await api.ask.list({ session })).length === 0)
    await startTurn(ctx, { prompt: null, images: [] });
}

/** Null where it was answered elsewhere meanwhile, or nobody waits for it any more. */
async function recorded({ api }: EffectContext, ask: string, text: string): Promise<Ask | null> {
  try {
    return await api.ask.answer({ ask, text });
  } catch (error) {
    if (error instanceof Fault && (error.code === "ask-closed" || error.code === "ask-unknown")) return null;
    throw error;
  }
}

/** The oldest first. */
async function listAsks({ api, directory, project, send }: EffectContext): Promise<void> {
  const asks = [];
  for (const ask of (await api.ask.list({ session: null })).slice(-mostListed))
    if ((await api.session.find({ wanted: ask.session, directory })).project === project) asks.push(ask);
  send(asks.length === 0 ? { type: "told", text: "no question waits for an answer" } : { type: "asks", asks });
}
