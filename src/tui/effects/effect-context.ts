// What every effect works with: the Api, how turns are taken, which session is shown, and where messages go.
import { stripAnsi } from "../../kit/text/ansi.ts";
import { oneLine } from "../../kit/text/cut-text.ts";
import type { Api, SessionOpenParams, TurnStartParams } from "../../protocol/api/api.ts";
import { Fault, messageOf } from "../../protocol/api/error.ts";
import { shortId, type ImageData } from "../../protocol/tree/node.ts";
import type { Policy } from "../../protocol/api/policy.ts";
import type { Session } from "../../protocol/tree/turn.ts";
import type { UnsentStore } from "../composer/unsent.ts";
import type { SessionFollow } from "./follow.ts";
import type { Effect, UpdateMessage } from "../model/state.ts";

/** What only the person's own machine has, wherever the Api lives. */
export type LocalResources = {
  history: { entries: readonly string[]; add: (text: string) => void };
  unsent: UnsentStore;
  readImage: (path: string) => ImageData;
};

export type EffectContext = {
  api: Api;
  directory: string;
  /** The one that the directory belongs to. */
  project: string;
  /** How every turn is taken. Who takes it and with which model stays the session's: once one has begun both are null again. */
  turn: Omit<TurnStartParams, "session" | "prompt">;
  open: SessionOpenParams;
  session: Session | null;
  local: LocalResources;
  /** Images that were pasted, by path: a screenshot may be gone before it is sent. */
  pasted: Map<string, ImageData>;
  /** The files that are asked for next, while others are being looked for. */
  files: { isAsking: boolean; query: string | null };
  /** How turns are taken that act, and those that plan. */
  policies: { act: Policy; plan: Policy };
  /** What was shown before planning began; undefined where it did not begin here. */
  sessionBeforePlanning?: Session | null;
  editor: { command: () => string; edit: (command: string, file: string) => Promise<number | string> };
  /** Gives the terminal back while something else has it. */
  lendTerminal: <T>(act: () => Promise<T>) => Promise<T>;
  /** Stops until the shell lets us go on. */
  suspend: () => Promise<void>;
  /** Told of each session that is shown, for whoever wants to resume it. */
  onSession: (session: Session) => void;
  /** The feed of what is shown. */
  following: SessionFollow | null;
  /** Sessions in which this screen runs a turn, by id. */
  running: Map<string, Session>;
  /** Another way to the hub; null when turns run in this process. */
  connectHub: ((how: { start: boolean }) => Promise<Api>) | null;
  isLost: boolean;
  send: (message: UpdateMessage) => void;
  /** Into the terminal's clipboard, where it has one; whether it was sent. */
  copy: (text: string) => boolean;
  notify: (text: string) => void;
  /** Where something else has written on the terminal. */
  redraw: () => void;
  quit: () => void;
};

type EffectHandler<T extends Effect["type"]> = (ctx: EffectContext, effect: Extract<Effect, { type: T }>) => Promise<unknown> | void;

/** What is done for these effects. */
export type EffectHandlers<T extends Effect["type"] = Effect["type"]> = { [K in T]: EffectHandler<K> };

export function setSession(ctx: EffectContext, session: Session): void {
  ctx.session = session;
  ctx.onSession(session);
}

export function requireSession({ session }: EffectContext): Session {
  if (session === null) throw new Fault("usage", "nothing was said yet", { hint: "type a message first" });
  return session;
}

export function describeError(error: unknown): { text: string; hint: string | null } {
  return { text: messageOf(error), hint: error instanceof Fault ? (error.hint ?? null) : null };
}

export function sessionLabel({ name, id }: Session): string {
  return oneLine(stripAnsi(name ?? shortId(id)), 60);
}
