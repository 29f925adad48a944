// The state of the screen, the messages that change it and the effects that it asks for. Types and data only.
// Nothing here is changed in place: `update` returns the next state.
import { emptyEditLine, type EditLine } from "../../kit/text/line-edit.ts";
import type { Ask, PendingTurn, QueuedInput } from "../../protocol/api/control.ts";
import type { Event } from "../../protocol/tree/event.ts";
import type { EnforcedPolicy, PolicyName } from "../../protocol/api/policy.ts";
import type { BranchComparison, SessionView } from "../../protocol/tree/views.ts";
import type { Session, Turn } from "../../protocol/tree/turn.ts";
import { zeroSpent, zeroUsage, type Spent, type Usage } from "../../protocol/tree/usage.ts";
import type { Bindings } from "../keys/bindings.ts";
import type { Block } from "./blocks.ts";
import { emptyComposer, type Composer } from "../composer/composer.ts";
import type { Drafts } from "../composer/drafts.ts";
import type { UnsentMessage } from "../composer/unsent.ts";
import type { BoxLine } from "../overlays/box.ts";
import type { PickerItem } from "../overlays/picker.ts";
import type { Search } from "../search/search.ts";
import { noBlocks, type TranscriptBlocks } from "./transcript.ts";
import type { PathPrefixes } from "../views/sentence.ts";
import type { ScrollPosition } from "../views/window.ts";
import type { Overlay, PanelMessage } from "../overlays/index.ts";
import type { AgentsEffect, Visit } from "../overlays/agents.ts";
import type { SessionsEffect } from "../overlays/sessions.ts";
import type { TreeEffect } from "../overlays/tree.ts";
import type { PlanStep } from "./plan-steps.ts";

export type Mode = "normal" | "insert" | "command" | "search";

export type State = {
  size: Size;
  pathPrefixes: PathPrefixes;
  bindings: Bindings;
  /** Whether the terminal has reported that it has the focus. */
  hasFocus: boolean;
  mode: Mode;
  /** Null until the first message, so that opening the screen stores nothing. */
  session: Session | null;
  transcript: TranscriptBlocks;
  allOpen: boolean;
  /** Ids of blocks that the user opened or folded. */
  toggled: ReadonlySet<string>;
  /** `failed` has the blocks whose image the terminal could not draw. */
  images: { canDraw: boolean; failed: ReadonlySet<string> };
  focus: string | null;
  /** The first visible row of the transcript. "end" follows new rows. */
  top: ScrollPosition | "end";
  unsent: EditLine;
  composer: Composer;
  /** Unsent messages of other sessions. Null until the first session is shown. */
  drafts: Drafts | null;
  /** The next session takes over the unsent message: it is a fork of this one. */
  carriesDraft: boolean;
  search: Search | null;
  /** The text after the colon. */
  commandLine: EditLine;
  /** The current work of the turn, as the status bar shows it. Null when no turn runs. */
  activity: string | null;
  /** A snapshot of the files takes longer than a moment. Calls wait for it. */
  isRecordingFiles: boolean;
  /** The process that runs the turn. Null when it is this screen. */
  runner: string | null;
  /** The process of the last turn was killed. Enter on an empty prompt continues the turn. */
  isInterrupted: boolean;
  isHubLost: boolean;
  usage: Usage;
  total: Spent;
  /** Tokens of the latest request of this path: the context that the next one starts with. */
  contextTokens: number;
  about: About;
  /** Null while nothing runs. */
  clock: Clock | null;
  /** The policy of the next turn. */
  policy: PolicyName;
  /** Whether the next turn writes a plan instead of carrying out the message. */
  isPlanning: boolean;
  /** Steps of the plan that the visible session executes. */
  steps: readonly PlanStep[];
  /** Network for the tools of the next turn. */
  net: "on" | "off";
  /** Network of the latest turn: as requested, and as enforced. */
  turnNet: { requested: "on" | "off"; net: EnforcedPolicy["net"] } | null;
  sandbox: "on" | "off" | "partly";
  asks: readonly Ask[];
  askFocus: AskFocus;
  queue: readonly QueuedInput[];
  /** Turns of the session that wait for a limit or for the turns before them. */
  later: readonly PendingTurn[];
  leader: { since: number; isShown: boolean } | null;
  /** The first key of a pair: `g` of `gg`. */
  pending: string | null;
  /** Set while the visible session is only watched. */
  visit: Visit | null;
  /** The overlay above the transcript. It gets all keys. */
  overlay: Overlay | null;
  notice: { text: string; isError: boolean } | null;
  /** Esc was the latest key and closed nothing: the next Esc goes back to an earlier message. */
  hasEscaped: boolean;
  /** Time of the latest Ctrl+C, in milliseconds. */
  stoppedAt: number | null;
  /** Sessions whose turns end when this screen quits, and those of them that the user was warned about. */
  running: readonly string[];
  warned: readonly string[];
};

/** Facts that are always visible, and those of the first screen. */
export type About = {
  version: string;
  directory: string;
  /** The branch of the project's git repository. Null without one. */
  branch: string | null;
  /** Agent and model of the next turn. Null until they are known. */
  agent: string | null;
  model: string | null;
  contextWindow: number | null;
  /** Why the next turn can't start, and what to type. */
  problem: { text: string; hint: string | null } | null;
};

/** Times in milliseconds since 1970: now, the start of the turn, and the start of its current activity. */
export type Clock = { now: number; turnSince: number; activity: string; activitySince: number };

/** The state of the answer to the first question. */
export type AskFocus = {
  /** Index of the chosen option; `options.length` for a typed answer. The first one is chosen at the start. */
  option: number;
  isPostponed: boolean;
  /** Whether the user selected the question. Before that, it gets keys only while the prompt is empty. */
  isSelected: boolean;
  line: EditLine;
};

export const noAskFocus: AskFocus = { option: 0, isPostponed: false, isSelected: false, line: emptyEditLine };

export type Size = { columns: number; rows: number };

/** `name` is the key ("a", "G", "enter", "ctrl+c"). `text` is the typed text, or empty. */
export type Key = { name: string; text: string };

export type UpdateMessage =
  | { type: "key"; key: Key; now: number }
  | { type: "paste"; text: string }
  | MouseMessage
  | { type: "set"; fields: Partial<Pick<State, PlainField>> }
  | ImagesMessage
  /** Sent several times per second while something runs. */
  | { type: "clock"; now: number }
  | { type: "about"; about: Partial<About> }
  /** Sent when the time of a `wake` effect has passed. */
  | { type: "tick"; now: number }
  | SessionOpened
  | { type: "choose session" }
  | { type: "event"; event: Event }
  | { type: "sub-session event"; session: string; event: Event }
  /** The process that runs the turn of `session`. Null when it is this screen. */
  | { type: "runner"; session: string; runner: string | null }
  | { type: "later"; session: string; pending: readonly PendingTurn[] }
  | { type: "history"; entries: readonly string[] }
  | { type: "unsent"; unsent: UnsentMessage; more: number }
  | { type: "found files"; query: string; files: readonly string[]; problem: string | null }
  /** The result of `attach`. `path` is null if the pasted path is no image and stays text. */
  | { type: "attached"; path: string | null; text: string; problem: string | null }
  /** `plan` is the current text of the plan file, if it was read. */
  | { type: "steps"; session: string | null; steps: readonly PlanStep[]; plan?: string }
  | { type: "plan shown"; text: string }
  /** The plan of a session whose planning turn has ended. */
  | { type: "plan ready"; session: string; text: string }
  /** Puts a text into the prompt, in place of the unsent message. */
  | { type: "prompt"; text: string }
  /** `text` is null if the agent already has the message. */
  | { type: "taken back"; input: string; text: string | null }
  | { type: "listed"; purpose: "models" | "agents"; items: readonly PickerItem[] }
  | { type: "costs"; lines: readonly BoxLine[] }
  /** `isLive`: the lines change, so they are read again while they are shown. */
  | { type: "report"; topic: "diff" | "writers" | "context" | "login" | "mcp" | "race"; lines: readonly BoxLine[]; isLive?: boolean }
  | { type: "notice"; text: string; isError?: true }
  | { type: "visited"; visit: Visit | null }
  /** A question of another session, to be answered here. */
  | { type: "ask found"; ask: Ask }
  | { type: "asks"; asks: readonly Ask[] }
  /** The question is closed. */
  | { type: "answered"; ask: string }
  | { type: "compared"; comparison: BranchComparison }
  | PanelMessage
  /** Without `session`, the failure belongs to the visible session. */
  | { type: "failed"; session?: string; text: string; hint: string | null }
  | { type: "refused"; session?: string; unsent: string; text: string; hint: string | null };

export type MessageOf<T extends UpdateMessage["type"]> = Extract<UpdateMessage, { type: T }>;

/** Fields that can be set alone, because no other field depends on them. */
type PlainField =
  | "size"
  | "hasFocus"
  | "session"
  | "running"
  | "isHubLost"
  | "isPlanning"
  | "policy"
  | "net"
  | "overlay"
  | "visit"
  | "carriesDraft"
  | "notice";

/** `row` of a click is a row of the screen. `selected` is sent when the button is released. */
export type MouseMessage = { type: "wheel"; rows: number } | { type: "click"; row: number } | { type: "selected"; text: string };

export type ImagesMessage = { type: "images"; canDraw: boolean } | { type: "not drawn"; block: string; problem: string };

/** A session as it was read. If it is the visible one, the scroll position stays. */
export type SessionOpened = {
  type: "opened";
  session: Session | null;
  blocks: readonly Block[];
  turns: readonly Turn[];
  runner?: string | null;
  contextTokens?: number;
} & Partial<Pick<SessionView, "asks" | "queue" | "open" | "pending">>;

export type Effect =
  /** Without a prompt, continues an interrupted turn. `images` are the pasted paths. */
  | { type: "start"; prompt: string | null; images: readonly string[]; isCompaction?: true; until?: string }
  /** Sends a message as a turn of its own, after the running ones. */
  | { type: "queue"; text: string }
  /** Sets the check of the following turns; null removes it. An empty command shows it. */
  | { type: "check"; command: string | null }
  /** Runs a shell command of the user. Its output becomes part of the conversation. */
  | { type: "execute"; command: string; unsent: string }
  | { type: "add to history"; text: string }
  | { type: "attach"; path: string; text: string }
  | { type: "find files"; query: string }
  /** With `orStart` the message starts a turn if the running one has ended meanwhile. */
  | { type: "steer"; session: string; text: string; orStart: boolean }
  /** Withdraws a queued message and puts it into the prompt. */
  | { type: "take back"; session: string; input: string }
  | { type: "cancel"; session: string }
  | { type: "answer"; ask: string; text: string }
  /** Reads the session again, because the screen may differ from the store. */
  | { type: "reload" }
  | { type: "clear" | "new" }
  /** Forks before this message of the user, and puts its text into the prompt. */
  | { type: "go back"; node: string }
  /** Opens the text in the user's editor. */
  | { type: "edit prompt"; text: string }
  /** Changes the policy of the next turns. Null changes to the next one. */
  | { type: "policy"; name: "workspace" | "plan" | "readonly" | null }
  /** Without `at`, forks at the tip of the session. */
  | { type: "fork"; name: string | null; at?: string }
  /** Without `session`, renames the visible session. */
  | { type: "rename"; name: string; session?: string }
  /** `query` is a name, an id or the end of an id. A node moves the visible session. */
  | { type: "switch"; query: string }
  /** Copies to the clipboard of the terminal. The notice names the text, or quotes it. */
  | { type: "copy"; text: string; name?: string }
  /** Writes the visible branch to a file. An empty name chooses one. */
  | { type: "export"; file: string }
  | { type: "report"; topic: "diff" | "writers" | "context" | "login" | "mcp" }
  /** Starts a race from the visible session. */
  | { type: "race"; agents: string; task: string }
  | { type: "read race"; afterMs?: number }
  | { type: "undo" | "redo" }
  /** Takes back the last graft, move or rename of the tree panel. */
  | { type: "take back change" }
  | TreeEffect
  | AgentsEffect
  | SessionsEffect
  /** Without `hosts` the named hosts stay. */
  | { type: "net"; net: "on" | "off"; hosts?: string[] }
  | { type: "plan"; isOn: boolean }
  | { type: "execute plan" | "edit plan" | "read plan" | "show plan" | "read finished plan" | "list asks" | "read costs" }
  | { type: "hub" | "redraw" | "suspend" | "quit" }
  | { type: "model" | "agent"; name: string }
  | { type: "list"; purpose: "models" | "agents" }
  /** Sets the limit for each following turn; null removes it. */
  | { type: "budget"; usd: number | null }
  | { type: "wake"; afterMs: number }
  | { type: "notify"; text: string };

export type UpdateResult = { state: State; effects: Effect[] };

export function step(state: State, ...effects: Effect[]): UpdateResult {
  return { state, effects };
}

/** Shows a text above the prompt until the next key. */
export function withNotice(state: State, text: string, level: "info" | "error" = "info"): State {
  return { ...state, notice: { text, isError: level === "error" } };
}

export function firstState(
  options: Pick<State, "size" | "net" | "sandbox"> & Partial<Pick<State, "pathPrefixes" | "bindings" | "isPlanning" | "policy" | "about">>,
): State {
  return {
    pathPrefixes: { project: "", home: "" },
    bindings: { preset: "plain", own: {} },
    isPlanning: false,
    policy: "workspace",
    about: { version: "", directory: "", branch: null, agent: null, model: null, contextWindow: null, problem: null },
    ...options,
    hasFocus: false,
    mode: "insert",
    session: null,
    transcript: noBlocks,
    allOpen: false,
    toggled: new Set(),
    images: { canDraw: false, failed: new Set() },
    focus: null,
    top: "end",
    unsent: emptyEditLine,
    composer: emptyComposer,
    drafts: null,
    carriesDraft: false,
    search: null,
    commandLine: emptyEditLine,
    activity: null,
    isRecordingFiles: false,
    runner: null,
    isInterrupted: false,
    isHubLost: false,
    usage: zeroUsage,
    total: zeroSpent,
    contextTokens: 0,
    clock: null,
    steps: [],
    turnNet: null,
    asks: [],
    askFocus: noAskFocus,
    queue: [],
    later: [],
    leader: null,
    pending: null,
    visit: null,
    overlay: null,
    notice: null,
    hasEscaped: false,
    stoppedAt: null,
    running: [],
    warned: [],
  };
}
