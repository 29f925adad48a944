// All that the screen shows, as data. Nothing in here is changed in place; `update` makes the next state from it.
import { emptyEditLine, type EditLine } from "../../kit/text/line-edit.ts";
import type { Ask, QueuedInput } from "../../protocol/api/control.ts";
import type { Event } from "../../protocol/tree/event.ts";
import type { EnforcedPolicy } from "../../protocol/api/policy.ts";
import type { BranchComparison, SessionView } from "../../protocol/tree/views.ts";
import type { Session, Turn } from "../../protocol/tree/turn.ts";
import { zeroSpent, zeroUsage, type Spent, type Usage } from "../../protocol/tree/usage.ts";
import type { Bindings } from "../keys/bindings.ts";
import type { Block } from "./blocks.ts";
import { emptyComposer, type Composer } from "../composer/composer.ts";
import type { UnsentDraft } from "../composer/unsent.ts";
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
  places: PathPrefixes;
  bindings: Bindings;
  /** Whether the terminal has said that it is being looked at. */
  isInFront: boolean;
  mode: Mode;
  /** Null until the first message: a look around leaves nothing behind. */
  session: Session | null;
  transcript: TranscriptBlocks;
  allOpen: boolean;
  /** Blocks that are not as `allOpen` and their kind would have them. */
  toggled: ReadonlySet<string>;
  /** Whether the terminal draws images, and the blocks of those that it can't draw. */
  images: { canDraw: boolean; failed: ReadonlySet<string> };
  focus: string | null;
  /** The first row of the transcript in view; "end" follows what is added. */
  top: ScrollPosition | "end";
  draft: EditLine;
  composer: Composer;
  /** What was searched for last. */
  search: Search | null;
  /** What follows the colon. */
  commandLine: EditLine;
  /** What the turn is doing; null when none runs. */
  activity: string | null;
  /** Who runs the turn, when it is not this screen. */
  runner: string | null;
  /** Its process was killed during the last turn: an empty prompt goes on with it. */
  isInterrupted: boolean;
  /** The hub does not answer. */
  isLost: boolean;
  usage: Usage;
  total: Spent;
  /** Whether the next message is planned about, and nothing carried out. */
  isPlanning: boolean;
  /** Of the plan that the shown session executes. */
  steps: readonly PlanStep[];
  /** What the next turn's tools are to have. */
  net: "on" | "off";
  /** What the latest turn's were to have, and what they really had. */
  turnNet: { asked: "on" | "off"; net: EnforcedPolicy["net"] } | null;
  sandbox: "on" | "off" | "partly";
  asks: readonly Ask[];
  answer: EditLine;
  asking: AskFocus;
  queue: readonly QueuedInput[];
  leader: { since: number; isShown: boolean } | null;
  /** The first key of a pair: `g` of `gg`. */
  pending: string | null;
  /** The session that is shown was only opened to be watched. */
  visit: Visit | null;
  /** What lies over the transcript and takes all keys. */
  overlay: Overlay | null;
  notice: { text: string; isError: boolean } | null;
  /** When Ctrl+C was pressed last. */
  stoppedAt: number | null;
  /** Sessions in which turns run that end with this screen, and those that the person was warned of. */
  running: readonly string[];
  warned: readonly string[];
};

/** Which option is chosen of the first question: none at first; behind the last one an answer is typed. */
export type AskFocus = {
  at: number;
  isPutOff: boolean;
  /** Whether the person went to it: until then it takes no keys that may be meant for something else. */
  isTakenUp: boolean;
};

export const noAskFocus: AskFocus = { at: -1, isPutOff: false, isTakenUp: false };

export type Size = { columns: number; rows: number };

/** `name` is the key ("a", "G", "enter", "ctrl+c"), `text` what it types, if anything. */
export type Key = { name: string; text: string };

export type UpdateMessage =
  | { type: "key"; key: Key; at: number }
  | { type: "paste"; text: string }
  | { type: "wheel"; by: number }
  | { type: "resized"; size: Size }
  | { type: "in front"; isInFront: boolean }
  | ImagesMessage
  /** Some time passed that an effect asked to be told of. */
  | { type: "tick"; at: number }
  | SessionOpened
  /** The first message opened it. */
  | { type: "begun"; session: Session }
  | { type: "event"; event: Event }
  /** Of a sub-session below the one that is named. */
  | { type: "below"; session: string; event: Event }
  /** Who runs the turn of that session, when it is not this screen. */
  | { type: "runner"; session: string; runner: string | null }
  /** In which sessions turns end with this screen. */
  | { type: "running"; sessions: readonly string[] }
  | { type: "connection"; is: "lost" | "found" }
  /** What was sent in this project before. */
  | { type: "history"; entries: readonly string[] }
  /** What a screen that is gone left in its prompt. */
  | { type: "unsent"; unsent: UnsentDraft; more: number }
  | { type: "found files"; query: string; files: readonly string[]; problem: string | null }
  /** What a pasted path is: an image, or only text. */
  | { type: "attached"; path: string | null; text: string; problem: string | null }
  | { type: "planning"; isOn: boolean; net: "on" | "off" }
  /** With the plan's file as it is now, where it was read. */
  | { type: "steps"; session: string | null; steps: readonly PlanStep[]; plan?: string }
  | { type: "plan shown"; text: string }
  | { type: "net"; net: "on" | "off" }
  /** Null: the agent has it already. */
  | { type: "taken back"; input: string; text: string | null }
  | { type: "listed"; purpose: "models" | "agents"; items: readonly PickerItem[] }
  | { type: "costs"; lines: readonly string[] }
  | { type: "told"; text: string; isError?: true }
  /** One is somewhere else now: what was chosen from is closed. */
  | { type: "went"; text: string }
  | { type: "renamed"; session: Session }
  | { type: "visited"; visit: Visit | null }
  /** A question of a session that is not shown, to be answered here. */
  | { type: "asked"; ask: Ask }
  | { type: "asks"; asks: readonly Ask[] }
  /** It needs no answer any more. */
  | { type: "answered"; ask: string }
  | { type: "compared"; comparison: BranchComparison }
  | PanelMessage
  /** Without a session it is of whatever is shown. */
  | { type: "failed"; session?: string; text: string; hint: string | null }
  | { type: "refused"; session?: string; draft: string; text: string; hint: string | null };

export type ImagesMessage = { type: "images"; canDraw: boolean } | { type: "not drawn"; block: string; problem: string };

/** A session as it stands; shown again, the view stays where it was. */
export type SessionOpened = {
  type: "opened";
  session: Session | null;
  blocks: readonly Block[];
  turns: readonly Turn[];
  runner?: string | null;
} & Partial<Pick<SessionView, "below" | "asks" | "queue" | "open">>;

export type Effect =
  /** Without a prompt it goes on with what an interrupted turn left. Images by the paths they were pasted as. */
  | { type: "start"; prompt: string | null; images: readonly string[] }
  /** A command of the person's; its output becomes part of the conversation. */
  | { type: "execute"; command: string; draft: string }
  | { type: "remember"; text: string }
  | { type: "attach"; path: string; text: string }
  | { type: "find files"; query: string }
  | { type: "steer"; session: string; text: string }
  /** A message that waits comes back into the prompt. */
  | { type: "take back"; session: string; input: string }
  | { type: "cancel"; session: string }
  | { type: "answer"; ask: string; text: string }
  /** What is shown may not be what is stored. */
  | { type: "reload" }
  | { type: "hub" }
  | { type: "clear" }
  /** Where the session is, unless a node is named. */
  | { type: "fork"; name: string | null; at?: string }
  /** This session, unless one is named. */
  | { type: "rename"; name: string; session?: string }
  /** To a session, or with this one to a node: a name, an id or its tail. */
  | { type: "switch"; wanted: string }
  /** Into the terminal's clipboard. */
  | { type: "copy"; text: string }
  | TreeEffect
  | AgentsEffect
  | SessionsEffect
  | { type: "net"; net: "on" | "off" }
  | { type: "plan"; isOn: boolean }
  | { type: "execute plan" | "edit plan" | "read plan" | "show plan" | "suspend" | "list asks" }
  | { type: "model"; name: string }
  | { type: "agent"; name: string }
  /** What there is to choose from. */
  | { type: "list"; purpose: "models" | "agents" }
  | { type: "read costs" }
  /** What each turn may cost from now on. */
  | { type: "budget"; usd: number | null }
  | { type: "wake"; afterMs: number }
  | { type: "notify"; text: string }
  | { type: "redraw" }
  | { type: "quit" };

export type UpdateResult = { state: State; effects: Effect[] };

export function step(state: State, ...effects: Effect[]): UpdateResult {
  return { state, effects };
}

/** Says something above the prompt, until the next key. */
export function withNotice(state: State, text: string, how: "told" | "error" = "told"): State {
  return { ...state, notice: { text, isError: how === "error" } };
}

export function firstState(
  parts: Pick<State, "size" | "net" | "sandbox"> & Partial<Pick<State, "places" | "bindings" | "isPlanning">>,
): State {
  return {
    places: { project: "", home: "" },
    bindings: {},
    isPlanning: false,
    ...parts,
    isInFront: false,
    mode: "insert",
    session: null,
    transcript: noBlocks,
    allOpen: false,
    toggled: new Set(),
    images: { canDraw: false, failed: new Set() },
    focus: null,
    top: "end",
    draft: emptyEditLine,
    composer: emptyComposer,
    search: null,
    commandLine: emptyEditLine,
    activity: null,
    runner: null,
    isInterrupted: false,
    isLost: false,
    usage: zeroUsage,
    total: zeroSpent,
    steps: [],
    turnNet: null,
    asks: [],
    answer: emptyEditLine,
    asking: noAskFocus,
    queue: [],
    leader: null,
    pending: null,
    visit: null,
    overlay: null,
    notice: null,
    stoppedAt: null,
    running: [],
    warned: [],
  };
}
