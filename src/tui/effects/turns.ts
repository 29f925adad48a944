// A session on the screen: shown as it is stored, its turns started and steered, its branches cleared and forked.
import type { Event } from "../../protocol/event.ts";
import type { Node } from "../../protocol/node.ts";
import type { Session } from "../../protocol/turn.ts";
import { coalesce } from "../coalesce.ts";
import { nameOf, setSession, spoken, told, type Actions, type Doing } from "./doing.ts";
import { goOnAsBefore } from "./planning.ts";
import { imageAt } from "./typing.ts";

export const turnActions: Actions<"start" | "execute" | "steer" | "cancel" | "answer" | "watch" | "clear" | "fork"> = {
  start,
  execute: (doing, { command, draft }) =>
    take(doing, { draft, task: command }, (session) =>
      doing.api.bash.execute({ session, command, timeoutMs: doing.turn.timeoutMs, policy: doing.turn.policy }),
    ),
  steer: ({ api }, { session, text }) => api.turn.steer({ session, text }),
  cancel: ({ api }, { session }) => api.turn.cancel({ session }),
  answer: ({ api }, { ask, text }) => api.ask.answer({ ask, text }),
  watch: watchBelow,
  clear,
  fork,
};

/** Shows a session as it is stored; null is one that is yet to begin. */
export async function enter(doing: Doing, session: Session | null): Promise<void> {
  const { api, directory } = doing;
  if (session === null) {
    doing.session = null;
    doing.send({ type: "opened", session, nodes: [], turns: [] });
    return goOnAsBefore(doing, session, []);
  }
  setSession(doing, session);
  await api.session.use({ session: session.id, directory });
  const tree = await api.session.tree({ session: session.id, archived: true });
  const nodes = pathTo(session.tip, tree.nodes);
  const taken = new Set(nodes.map((node) => node.turn));
  const turns = tree.turns.filter((turn) => taken.has(turn.id));
  doing.send({ type: "opened", session, nodes, turns });
  await goOnAsBefore(doing, session, turns);
}

function pathTo(tip: string | null, nodes: readonly Node[]): Node[] {
  const known = new Map(nodes.map((node) => [node.id, node]));
  const path: Node[] = [];
  for (let node = known.get(tip ?? ""); node !== undefined; node = known.get(node.parent ?? "")) path.push(node);
  return path.reverse();
}

export async function start(doing: Doing, { prompt, images }: { prompt: string; images: readonly string[] }): Promise<void> {
  const { api, turn } = doing;
  await take(doing, { draft: prompt, task: prompt }, (session) =>
    api.turn.start({ ...turn, session, prompt, images: images.map((path) => imageAt(doing, path)) }),
  );
}

/** A turn in the session that is shown, or in one that it begins. */
async function take(
  doing: Doing,
  { draft, task }: { draft: string; task: string },
  begin: (session: string) => AsyncIterable<Event>,
): Promise<void> {
  const { api, directory, send, turn } = doing;
  const { push, flush } = coalesce((events) => events.forEach((event) => send({ type: "event", event })));
  let isTaken = false;
  let session = doing.session;
  try {
    if (session === null) {
      session = await api.session.open({ ...doing.open, task });
      await api.session.use({ session: session.id, directory });
      setSession(doing, session);
      send({ type: "begun", session });
    }
    for await (const event of begin(session.id)) {
      isTaken = true;
      if (event.type === "turn.ended" && event.sessionId === doing.session?.id) setSession(doing, event.session);
      push(event);
    }
    Object.assign(turn, { agent: null, model: null });
  } catch (error) {
    flush();
    send(isTaken ? { type: "failed", ...told(error) } : { type: "refused", draft, ...told(error) });
  } finally {
    flush();
    if (session !== null) send({ type: "turn over", session: session.id });
  }
}

/** A sub-session tells what it does, and its own questions; it may not have begun yet. */
async function watchBelow(doing: Doing, { session }: { session: string }): Promise<void> {
  const { push, flush } = coalesce((events) => events.forEach((event) => doing.send({ type: "event", event })));
  let seq = 0;
  for (let isEnded = false; !isEnded;) {
    for await (const event of doing.api.turn.watch({ session, afterSeq: seq, until: "idle" })) {
      seq = event.seq;
      isEnded ||= event.type === "turn.ended";
      push(event);
      if (event.type === "session.spawned")
        watchBelow(doing, { session: event.session }).catch((error: unknown) => doing.send({ type: "failed", ...told(error) }));
    }
    flush();
    if (!isEnded) await Bun.sleep(100);
  }
}

async function fork(doing: Doing, { name, at = null }: { name: string | null; at?: string | null }): Promise<void> {
  const forked = await doing.api.session.fork({ session: spoken(doing).id, at, name });
  await enter(doing, forked);
  doing.send({ type: "went", text: `now in the fork ${nameOf(forked)}; files stay as they are` });
}

/** What runs in the old branch goes on there, unseen. */
async function clear(doing: Doing): Promise<void> {
  const { api } = doing;
  const forked = await api.session.fork({ session: spoken(doing).id, at: null, name: null });
  await enter(doing, await api.session.move({ session: forked.id, node: null }));
}
