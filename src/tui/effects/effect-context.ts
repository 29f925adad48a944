// The context of every effect: the Api, the options of the next turn, the visible session, and `send` for messages.
import type { Api, SessionOpenParams, TurnStartParams } from "../../protocol/api/api.ts";
import { Fault, messageOf } from "../../protocol/api/error.ts";
import type { ImageData } from "../../protocol/tree/node.ts";
import type { Policy } from "../../protocol/api/policy.ts";
import { sessionLabel, type Session } from "../../protocol/tree/turn.ts";
import type { Bindings } from "../keys/bindings.ts";
import type { UnsentStore } from "../composer/unsent.ts";
import type { SessionFollow } from "./follow.ts";
import { screenHint } from "../model/screen-hint.ts";
import type { Effect, UpdateMessage } from "../model/state.ts";
import type { Suspender } from "../terminal/suspend.ts";
import type { Terminal } from "../terminal/terminal.ts";
import { plainLine } from "../layout/wrap.ts";

/** Resources of the user's machine. They stay local when the Api is a hub. */
export type LocalResources = {
  history: { entries: readonly string[]; add: (text: string) => void };
  unsent: UnsentStore;
  readImage: (path: string) => ImageData;
  /** Writes the branch of a session to a file, in the format of its ending. Returns the path. */
  exportBranch: (target: { api: Api; session: Session; file: string }) => Promise<string>;
  /** The branch of the project's git repository. Null without one. */
  readBranch: () => string | null;
};

export type EffectContext = {
  api: Api;
  directory: string;
  project: string;
  /** Options of the next turn. `agent` and `model` are null again once a turn has started: the session then has them. */
  turn: Omit<TurnStartParams, "session" | "prompt">;
  open: SessionOpenParams;
  session: Session | null;
  local: LocalResources;
  /** Pasted images by path. They are read at once, because a screenshot may be deleted before it is sent. */
  pastedImages: Map<string, ImageData>;
  /** Search of files for the menu. `nextQuery` waits for the running search. */
  files: { isSearching: boolean; nextQuery: string | null };
  /** The policies that the screen changes between. `act` is the configured one, or workspace if that is plan. */
  policies: Record<PolicySlot, Policy>;
  bindings: Bindings;
  /** The session that was visible before planning. Undefined if planning did not start on this screen. */
  sessionBeforePlanning?: Session | null;
  editor: {
    command: () => string;
    edit: (command: string, file: string) => Promise<number | string>;
    /** Returns the changed text. Throws if the editor fails. */
    editText: (command: string, text: string) => Promise<string>;
  };
  /** Takes back the last graft, move or rename. Undefined if there is none. */
  lastChange?: { text: string; takeBack: () => Promise<Session> };
  /** Called for each session that becomes visible. The last one can be resumed later. */
  onSession: (session: Session) => void;
  /** The feed of the visible session. */
  following: SessionFollow | null;
  /** Sessions in which this screen runs a turn, by id. */
  running: Map<string, Session>;
  /** Connects to the hub again. Null if turns run in this process. */
  connectHub: ((how: { start: boolean }) => Promise<Api>) | null;
  isHubLost: boolean;
  send: (message: UpdateMessage) => void;
  redraw: () => void;
  quit: () => void;
} & Pick<Terminal, "copy" | "notify"> &
  Pick<Suspender, "lendTerminal" | "suspend">;

export type PolicySlot = "act" | "workspace" | "plan" | "readonly";

type EffectHandler<T extends Effect["type"]> = (ctx: EffectContext, effect: Extract<Effect, { type: T }>) => Promise<unknown> | void;

export type EffectHandlers<T extends Effect["type"] = Effect["type"]> = { [K in T]: EffectHandler<K> };

export function setSession(ctx: EffectContext, session: Session): void {
  ctx.session = session;
  ctx.onSession(session);
}

export function requireSession({ session }: EffectContext): Session {
  if (session === null) throw new Fault("usage", "there is no message yet", { hint: "type a message first" });
  return session;
}

export function describeError(error: unknown): { text: string; hint: string | null } {
  return { text: messageOf(error), hint: error instanceof Fault ? screenHint(error.hint ?? null) : null };
}

/** The label of a session for a notice: without control characters, at most 60 characters. */
export function sessionTitle(session: Session): string {
  return plainLine(sessionLabel(session), 60);
}
