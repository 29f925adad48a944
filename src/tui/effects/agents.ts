// The agents panel's list and what is done to a turn, whichever process runs it, through the Api.
import { Fault } from "../../protocol/api/error.ts";
import { sessionLabel, type EffectHandlers, type EffectContext } from "./effect-context.ts";
import { enterSession } from "./turns.ts";

export const agentsEffects: EffectHandlers<"list agents" | "visit" | "pause" | "resume" | "kill" | "find ask" | "send to agent"> = {
  "list agents": (doing, effect) =>
    listAgents(doing, effect).catch((error: unknown) => {
      doing.send({ type: "agents", told: { what: "failed", reading: effect.reading } });
      throw error;
    }),
  visit: async (doing, { session, visit }) => {
    const found = session === null ? null : await doing.api.session.find({ wanted: session, directory: doing.directory });
    await enterSession(doing, found, visit === null ? "work" : "watch");
    doing.send({ type: "visited", visit });
  },
  pause: async (doing, { session }) => tellState(doing, await doing.api.turn.pause({ session, force: false })),
  resume: async (doing, { session }) => tellState(doing, await doing.api.turn.resume({ session })),
  kill,
  "send to agent": async ({ api, send }, { session, text }) => {
    await api.turn.steer({ session, text });
    send({ type: "told", text: "its agent is given that next" });
  },
  "find ask": async ({ api, send }, { session }) => {
    const [ask] = await api.ask.list({ session });
    if (ask === undefined) throw new Fault("usage", "it asks nothing");
    send({ type: "asked", ask });
  },
};

type Listing = { reading: number; sinceMs: number; afterMs: number };

async function listAgents(ctx: EffectContext, { reading, sinceMs, afterMs }: Listing): Promise<void> {
  const { api, send, project } = ctx;
  if (afterMs > 0) await Bun.sleep(afterMs);
  const now = Date.now();
  const rows = (await api.turn.list({ endedSince: now - sinceMs })).filter(({ session }) => session.project === project);
  send({ type: "agents", told: { what: "listed", reading, rows, now } });
}

function tellState({ send }: EffectContext, { state }: { state: "running" | "paused" | "not-running" }): void {
  send({ type: "agents", told: { what: "changed" } });
  send({
    type: "told",
    text: { running: "it goes on", paused: "it stands still; p lets it go on", "not-running": "it does not run any more" }[state],
  });
}

async function kill({ api, directory, send }: EffectContext, { session }: { session: string }): Promise<void> {
  const { outcome } = await api.turn.kill({ session, force: false });
  const name = sessionLabel(await api.session.find({ wanted: session, directory }));
  send({ type: "agents", told: { what: "changed" } });
  const words = { "not-running": "did not run any more", stopped: "was stopped", killed: "was stopped by force" };
  send({ type: "told", text: `${name} ${words[outcome]}` });
}
