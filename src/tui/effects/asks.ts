// Effects of questions: answers one, and lists those of the project.
import { homeProject } from "../../protocol/tree/turn.ts";
import { oneLine } from "../../kit/text/cut-text.ts";
import { Fault } from "../../protocol/api/error.ts";
import type { EffectHandlers } from "./effect-context.ts";
import { startTurn } from "./turns.ts";

const maxListed = 20;

export const askEffects: EffectHandlers<"answer" | "list asks"> = {
  /** Stores the answer. If the turn ended with its question, a new turn continues it. */
  answer: async (ctx, { ask, text }) => {
    const { api, send } = ctx;
    const answered = await api.ask.answer({ ask, text }).catch((error: unknown) => {
      // The question was answered elsewhere, or its turn is gone.
      if (error instanceof Fault && (error.code === "ask-closed" || error.code === "ask-unknown")) return null;
      throw error;
    });
    send({ type: "answered", ask });
    if (answered === null) return send({ type: "notice", text: "that question is already closed" });
    const { session } = answered;
    if (session !== ctx.session?.id) return send({ type: "notice", text: `answered: ${oneLine(answered.answer ?? text, 100)}` });
    if (ctx.following?.openTurn === null && (await api.ask.list({ session })).length === 0)
      await startTurn(ctx, { prompt: null, images: [] });
  },
  /** Lists the open questions of the project, oldest first. */
  "list asks": async ({ api, directory, project, send }) => {
    const asks = [];
    for (const ask of (await api.ask.list({ session: null })).slice(-maxListed))
      if (homeProject(await api.session.find({ wanted: ask.session, directory })) === project) asks.push(ask);
    send(asks.length === 0 ? { type: "notice", text: "no open questions" } : { type: "asks", asks });
  },
};
