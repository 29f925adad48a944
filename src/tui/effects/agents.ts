// Effects of the agents panel: lists turns and pauses, resumes, stops or steers them, in any process.
import { Fault } from "../../protocol/api/error.ts";
import { turnsOfProject } from "../../protocol/tree/turn-list.ts";
import { sessionTitle, type EffectHandlers, type EffectContext } from "./effect-context.ts";
import { enterSession } from "./turns.ts";

export const agentsEffects: EffectHandlers<"list agents" | "visit" | "pause" | "resume" | "kill" | "find ask" | "send to agent"> = {
  "list agents": async ({ api, send, project }, { reading, sinceMs, afterMs }) => {
    if (afterMs > 0) await Bun.sleep(afterMs);
    const now = Date.now();
    const rows = turnsOfProject(await api.turn.list({ endedSince: now - sinceMs }), project);
    send({ type: "agents", message: { type: "listed", reading, rows, now } });
  },
  visit: async (ctx, { session, visit }) => {
    const target = session === null ? null : await ctx.api.session.find({ wanted: session, directory: ctx.directory });
    await enterSession(ctx, target, visit === null ? "work" : "watch");
    ctx.send({ type: "visited", visit });
  },
  pause: async (ctx, { session }) => notifyState(ctx, await ctx.api.turn.pause({ session, force: false })),
  resume: async (ctx, { session }) => notifyState(ctx, await ctx.api.turn.resume({ session })),
  kill: async ({ api, directory, send }, { session }) => {
    const { outcome } = await api.turn.kill({ session, force: false });
    const title = sessionTitle(await api.session.find({ wanted: session, directory }));
    send({ type: "agents", message: { type: "changed" } });
    const results = { "not-running": "has already ended", stopped: "was stopped", killed: "was killed", withdrawn: "was withdrawn" };
    send({ type: "notice", text: `${title} ${results[outcome]}` });
  },
  "send to agent": async ({ api, send }, { session, text }) => {
    await api.turn.steer({ session, text });
    send({ type: "notice", text: "sent to its agent" });
  },
  "find ask": async ({ api, send }, { session }) => {
    const [ask] = await api.ask.list({ session });
    if (ask === undefined) throw new Fault("usage", "this session has no open question");
    send({ type: "ask found", ask });
  },
};

function notifyState({ send }: EffectContext, { state }: { state: "running" | "paused" | "not-running" }): void {
  send({ type: "agents", message: { type: "changed" } });
  const texts = { running: "resumed", paused: "paused; press p to resume", "not-running": "the turn has already ended" };
  send({ type: "notice", text: texts[state] });
}
