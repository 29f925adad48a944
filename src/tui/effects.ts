// What the screen asks for, done through the Api. What comes of it goes back as messages; nothing here is on the screen.
import { oneLine } from "../kit/text.ts";
import type { Api, SessionOpen, TurnStart } from "../protocol/api.ts";
import { Fault, messageOf } from "../protocol/error.ts";
import type { Session } from "../protocol/turn.ts";
import { coalesce } from "./coalesce.ts";
import type { Effect, Message } from "./state.ts";

export type Doing = {
  api: Api;
  directory: string;
  /** How every turn is taken. Who takes it and with which model stays the session's: after a turn both are null again. */
  turn: Omit<TurnStart, "session" | "prompt">;
  open: SessionOpen;
  session: Session | null;
  /** Told of each session that is shown, for whoever wants to resume it. */
  onSession: (session: Session) => void;
  send: (message: Message) => void;
  quit: () => void;
};

export async function doEffect(doing: Doing, effect: Effect): Promise<void> {
  try {
    await actions[effect.type](doing, effect as never);
  } catch (error) {
    doing.send({ type: "failed", ...told(error) });
  }
}

/** Shows a session as it is stored; null is one that is yet to begin. */
export async function enter(doing: Doing, session: Session | null): Promise<void> {
  const { api, directory } = doing;
  if (session === null) return doing.send({ type: "opened", session, nodes: [], turns: [] });
  setSession(doing, session);
  await api.session.use({ session: session.id, directory });
  const nodes = session.tip === null ? [] : await api.node.path({ node: session.tip });
  const taken = new Set(nodes.map((node) => node.turn));
  const { turns } = await api.session.tree({ session: session.id, archived: true });
  doing.send({ type: "opened", session, nodes, turns: turns.filter((turn) => taken.has(turn.id)) });
}

type Actions = { [T in Effect["type"]]: (doing: Doing, effect: Extract<Effect, { type: T }>) => Promise<unknown> | void };

const actions: Actions = {
  start: (doing, { prompt }) => start(doing, prompt),
  steer: ({ api }, { session, text }) => api.turn.steer({ session, text }),
  cancel: ({ api }, { session }) => api.turn.cancel({ session }),
  answer: ({ api }, { ask, text }) => api.ask.answer({ ask, text }),
  watch: watchBelow,
  clear,
  fork: async (doing, { name }) => enter(doing, await doing.api.session.fork({ session: spoken(doing).id, at: null, name })),
  net: ({ turn }, { net }) => void (turn.policy = { ...turn.policy, net }),
  model: setModel,
  agent: setAgent,
  wake: ({ send }, { afterMs }) => void setTimeout(() => send({ type: "tick", at: performance.now() }), afterMs),
  quit: (doing) => doing.quit(),
};

async function start(doing: Doing, prompt: string): Promise<void> {
  const { api, directory, send, turn } = doing;
  const { push, flush } = coalesce((events) => events.forEach((event) => send({ type: "event", event })));
  let isTaken = false;
  let session = doing.session;
  try {
    if (session === null) {
      session = await api.session.open({ ...doing.open, task: prompt });
      await api.session.use({ session: session.id, directory });
      setSession(doing, session);
      send({ type: "begun", session });
    }
    for await (const event of api.turn.start({ ...turn, session: session.id, prompt })) {
      isTaken = true;
      if (event.type === "turn.ended" && event.sessionId === doing.session?.id) setSession(doing, event.session);
      push(event);
    }
    Object.assign(turn, { agent: null, model: null });
  } catch (error) {
    flush();
    send(isTaken ? { type: "failed", ...told(error) } : { type: "refused", draft: prompt, ...told(error) });
  } finally {
    flush();
    if (session !== null) send({ type: "turn over", session: session.id });
  }
}

function setSession(doing: Doing, session: Session): void {
  doing.session = session;
  doing.onSession(session);
}

/** A sub-session tells of its own questions; it may not have begun yet. */
async function watchBelow(doing: Doing, { session }: { session: string }): Promise<void> {
  let seq = 0;
  for (let isEnded = false; !isEnded;) {
    for await (const event of doing.api.turn.watch({ session, afterSeq: seq, until: "idle" })) {
      seq = event.seq;
      isEnded ||= event.type === "turn.ended";
      if (event.type === "ask.opened" || event.type === "ask.closed") doing.send({ type: "event", event });
      if (event.type === "session.spawned") void doEffect(doing, { type: "watch", session: event.session });
    }
    if (!isEnded) await Bun.sleep(100);
  }
}

/** What runs in the old branch goes on there, unseen. */
async function clear(doing: Doing): Promise<void> {
  const { api } = doing;
  const forked = await api.session.fork({ session: spoken(doing).id, at: null, name: null });
  await enter(doing, await api.session.move({ session: forked.id, node: null }));
}

function spoken({ session }: Doing): Session {
  if (session === null) throw new Fault("usage", "nothing was said yet", { hint: "type a message first" });
  return session;
}

async function setModel(doing: Doing, { name }: { name: string | null }): Promise<void> {
  const { api, turn, directory, send } = doing;
  const agent = takerOf(doing);
  if (name !== null) {
    await api.turn.check({ ...turn, model: name, agent, isNew: false, directory });
    turn.model = name;
    if (doing.session === null) doing.open = { ...doing.open, model: name };
  }
  const kept = doing.session === null ? doing.open.model : doing.session.agent === agent ? doing.session.model : null;
  send({ type: "told", text: `${name === null ? "" : "from now on "}${oneLine(turn.model ?? kept ?? "the default model", 100)} answers` });
}

/** The model of the one before is not the new one's. */
async function setAgent(doing: Doing, { name }: { name: string | null }): Promise<void> {
  const { api, turn, directory, send } = doing;
  if (name !== null && name !== takerOf(doing)) {
    await api.turn.check({ ...turn, model: null, agent: name, isNew: false, directory });
    Object.assign(turn, { agent: name, model: null });
    if (doing.session === null) doing.open = { ...doing.open, agent: name, model: null };
  }
  send({ type: "told", text: `${name === null ? "" : "from now on "}${oneLine(takerOf(doing), 100)} takes the turns` });
}

function takerOf({ turn, session, open }: Doing): string {
  return turn.agent ?? session?.agent ?? open.agent;
}

function told(error: unknown): { text: string; hint: string | null } {
  return { text: messageOf(error), hint: error instanceof Fault ? (error.hint ?? null) : null };
}
