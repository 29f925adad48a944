// What every effect works with: the Api, how turns are taken, which session is shown, and where messages go.
import { plainText } from "../../kit/ansi.ts";
import { oneLine } from "../../kit/text.ts";
import type { Api, SessionOpen, TurnStart } from "../../protocol/api.ts";
import { Fault, messageOf } from "../../protocol/error.ts";
import { shortId, type ImageData } from "../../protocol/node.ts";
import type { Policy } from "../../protocol/policy.ts";
import type { Session } from "../../protocol/turn.ts";
import type { UnsentPlace } from "../composer/unsent.ts";
import type { Following } from "./follow.ts";
import type { Effect, Message } from "../state.ts";

/** What only the person's own machine has, wherever the Api lives. */
export type OwnThings = {
  history: { entries: readonly string[]; add: (text: string) => void };
  unsent: UnsentPlace;
  readImage: (path: string) => ImageData;
};

export type Doing = {
  api: Api;
  directory: string;
  /** The one that the directory belongs to. */
  project: string;
  /** How every turn is taken. Who takes it and with which model stays the session's: once one has begun both are null again. */
  turn: Omit<TurnStart, "session" | "prompt">;
  open: SessionOpen;
  session: Session | null;
  own: OwnThings;
  /** Images that were pasted, by path: a screenshot may be gone before it is sent. */
  pasted: Map<string, ImageData>;
  /** The files that are asked for next, while others are being looked for. */
  files: { isAsking: boolean; query: string | null };
  /** How turns are taken that act, and those that plan. */
  policies: { act: Policy; plan: Policy };
  /** What was shown before planning began; undefined where it did not begin here. */
  left?: Session | null;
  editor: { command: () => string; edit: (command: string, file: string) => Promise<number | string> };
  /** Gives the terminal back while something else has it. */
  away: <T>(act: () => Promise<T>) => Promise<T>;
  /** Stops until the shell lets us go on. */
  toShell: () => Promise<void>;
  /** Told of each session that is shown, for whoever wants to resume it. */
  onSession: (session: Session) => void;
  /** The feed of what is shown. */
  following: Following | null;
  /** Sessions in which this screen runs a turn, by id. */
  running: Map<string, Session>;
  /** Another way to the hub; null when turns run in this process. */
  reach: ((how: { start: boolean }) => Promise<Api>) | null;
  isLost: boolean;
  send: (message: Message) => void;
  /** Into the terminal's clipboard, where it has one; whether it was sent. */
  copy: (text: string) => boolean;
  notify: (text: string) => void;
  /** Where something else has written on the terminal. */
  redraw: () => void;
  quit: () => void;
};

type ActionOf<T extends Effect["type"]> = (doing: Doing, effect: Extract<Effect, { type: T }>) => Promise<unknown> | void;

/** What is done for these effects. */
export type Actions<T extends Effect["type"] = Effect["type"]> = { [K in T]: ActionOf<K> };

export function setSession(doing: Doing, session: Session): void {
  doing.session = session;
  doing.onSession(session);
}

export function spoken({ session }: Doing): Session {
  if (session === null) throw new Fault("usage", "nothing was said yet", { hint: "type a message first" });
  return session;
}

export function told(error: unknown): { text: string; hint: string | null } {
  return { text: messageOf(error), hint: error instanceof Fault ? (error.hint ?? null) : null };
}

export function nameOf({ name, id }: Session): string {
  return oneLine(plainText(name ?? shortId(id)), 60);
}
