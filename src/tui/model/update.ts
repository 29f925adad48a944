// Computes the next state and the effects of a message. Pure: no clock, no Api, no terminal.
import { stripAnsi } from "../../kit/text/ansi.ts";
import { insertText } from "../../kit/text/line-edit.ts";
import { oneLine, pluralize } from "../../kit/text/cut-text.ts";
import { shortId } from "../../protocol/tree/node.ts";
import { addSpent, zeroSpent, zeroUsage, withSubSessions } from "../../protocol/tree/usage.ts";
import { expandChips } from "../composer/chips.ts";
import { swapDraft } from "../composer/drafts.ts";
import { withFiles } from "../composer/menu.ts";
import { attach, paste, restoreInput, withText } from "../composer/type.ts";
import { restoreUnsent } from "../composer/unsent.ts";
import { focusedAsk, handleAskPaste, withFocusedAsk, withAsks, withoutAsk } from "./asks.ts";
import { withAttention } from "./attention.ts";
import { speakerOf, speakersOf, type Block } from "./blocks.ts";
import { comparisonLines } from "../overlays/comparison.ts";
import { handleOverlayKey, markOverlaySlow, updateOverlay } from "../overlays/index.ts";
import { withItems } from "../overlays/picker.ts";
import { openSessions } from "../overlays/sessions.ts";
import { openText, withLines } from "../overlays/text-overlay.ts";
import { scrollBy, toggleAt } from "./scroll.ts";
import {
  step,
  withNotice,
  type Effect,
  type ImagesMessage,
  type MessageOf,
  type MouseMessage,
  type UpdateMessage,
  type SessionOpened,
  type State,
  type UpdateResult,
} from "./state.ts";
import { blockCount, noBlocks, withBlocks, withDraft } from "./transcript.ts";
import { runSearch } from "../search/search.ts";
import { enforcedPolicy, updateBySubSession, updateByEvent } from "./update-by-event.ts";
import { baseModeOf, endLeader, leaderTick, pressKey } from "./update-by-key.ts";

export function update(state: State, message: UpdateMessage): UpdateResult {
  switch (message.type) {
    case "key":
      return pressKey(state, message.key, message.now);
    case "paste":
      return pasteText(endLeader(state), stripAnsi(message.text));
    case "wheel":
    case "click":
    case "selected":
      return updateByMouse(state, message);
    case "set":
      return step({ ...state, ...message.fields });
    case "images":
    case "not drawn":
      return step(withImages(state, message));
    case "clock":
      return step({ ...state, clock: nextClock(state, message.now) });
    case "about":
      return step({ ...state, about: { ...state.about, ...message.about } });
    case "tick":
      return step(leaderTick(markOverlaySlow(state), message.now));
    case "opened":
      return step(withOpened(state, message));
    case "choose session":
      return openSessions(state);
    case "event":
      return withAttention(updateByEvent(state, message.event), message.event);
    case "sub-session event":
      return message.session === state.session?.id ? withAttention(updateBySubSession(state, message.event), message.event) : step(state);
    case "runner":
      return step(state.session?.id === message.session ? { ...state, runner: message.runner } : state);
    case "later":
      return step(state.session?.id === message.session ? { ...state, later: message.pending } : state);
    case "history":
      return step({ ...state, composer: { ...state.composer, history: message.entries } });
    case "unsent":
      return restoreUnsent(state, message);
    case "found files":
      return step(withFiles(state, message));
    case "attached":
      return attach(message.problem === null ? state : withNotice(state, message.problem, "error"), message);
    case "compared":
      return step(openText(state, "comparison", comparisonLines(message.comparison), state.overlay));
    case "visited":
      return step(withVisit(state, message.visit));
    case "ask found":
      return step(withFocusedAsk({ ...state, overlay: null }, message.ask));
    case "asks":
      return step(message.asks.toReversed().reduce(withFocusedAsk, state));
    case "answered":
      return step(withoutAsk(state, message.ask));
    case "agents":
    case "sessions":
    case "tree":
      return updateOverlay(state, message);
    case "steps":
      return step(withSteps(state, message));
    case "plan shown":
      return step(openText(state, "plan", linesOf(message.text)));
    case "prompt":
      return step(withText({ ...state, mode: "insert" }, message.text));
    case "plan ready":
      return step(withReadyPlan(state, message));
    case "taken back":
      return restoreInput(state, message);
    case "listed":
      return step(withItems(state, message.purpose, message.items));
    case "report":
      return step(withLines(state, message.topic, message.lines), ...readAgain(state, message));
    case "costs":
      return step(withLines(state, "costs", message.lines));
    case "notice":
      return step(withNotice(state, oneLine(message.text, 300), message.isError === true ? "error" : "info"));
    case "failed":
      return step(withFailure(state, message));
    case "refused":
      return step(withRefusal(state, message));
  }
}

/** A live table is read again as long as it is shown. */
function readAgain({ overlay }: State, { topic, isLive }: MessageOf<"report">): Effect[] {
  return isLive === true && overlay?.kind === "text" && overlay.topic === topic ? [{ type: "read race", afterMs: 1_000 }] : [];
}

function withVisit(state: State, visit: State["visit"]): State {
  return { ...state, overlay: null, visit, mode: visit === null ? (state.visit?.mode ?? state.mode) : baseModeOf(state) };
}

function updateByMouse(state: State, message: MouseMessage): UpdateResult {
  const { overlay } = state;
  switch (message.type) {
    case "wheel":
      if (overlay === null) return step(scrollBy(state, message.rows));
      return handleOverlayKey(state, overlay, { name: message.rows > 0 ? "down" : "up", text: "" });
    case "click":
      return step(overlay === null ? toggleAt(state, message.row) : state);
    case "selected":
      return step(state, { type: "copy", text: message.text, name: pluralize(message.text.split("\n").length, "line") });
  }
}

function nextClock({ activity, clock }: State, now: number): State["clock"] {
  if (activity === null) return null;
  const activitySince = clock?.activity === activity ? clock.activitySince : now;
  return { now, turnSince: clock?.turnSince ?? now, activity, activitySince };
}

function withImages(state: State, message: ImagesMessage): State {
  const { images } = state;
  if (message.type === "images") return { ...state, images: { ...images, canDraw: message.canDraw } };
  const failed = new Set(images.failed).add(message.block);
  return withNotice({ ...state, images: { ...images, failed } }, `the terminal can't draw an image: ${oneLine(message.problem, 200)}`);
}

function pasteText(state: State, text: string): UpdateResult {
  const line = text.replace(/\s+/g, " ");
  if (state.overlay !== null) return handleOverlayKey(state, state.overlay, { name: "paste", text: line });
  const ask = focusedAsk(state);
  if (ask !== null) return step(handleAskPaste(state, ask, text));
  if (state.mode === "command") return step({ ...state, commandLine: insertText(state.commandLine, line) });
  if (state.mode === "search" && state.search !== null)
    return step(runSearch(state, state.search, insertText(state.search.line, line.trim())));
  return paste(state, text);
}

function withOpened(state: State, message: SessionOpened): State {
  const { session, turns, open = null, asks = [], queue = [], pending = [] } = message;
  const ended = turns.filter((turn) => turn.endedAt !== null);
  const lastTurn = turns.at(-1);
  const isInterrupted = open === null ? lastTurn?.status === "killed" : open.state === "interrupted";
  const isRunning = open !== null && !isInterrupted;
  const isSameSession = session !== null && session.id === state.session?.id;
  return {
    ...withAsks(swapDraft(state, session), asks),
    session,
    transcript: openedTranscript(message),
    ...(isSameSession ? {} : { toggled: new Set(), focus: null, search: null, top: "end" }),
    activity: isRunning
      ? open.state === "paused"
        ? "paused"
        : "working"
      : isSameSession && state.activity === "starting"
        ? "starting"
        : null,
    clock: null,
    contextTokens: message.contextTokens ?? 0,
    runner: message.runner ?? null,
    isInterrupted,
    ...(lastTurn === undefined ? {} : enforcedPolicy(state, lastTurn)),
    queue,
    later: pending,
    usage: lastTurn?.usage ?? zeroUsage,
    total: ended.map(withSubSessions).reduce(addSpent, zeroSpent),
  };
}

function withSteps(state: State, { session, steps, plan }: MessageOf<"steps">): State {
  if (session !== (state.session?.id ?? null)) return state;
  return plan === undefined ? { ...state, steps } : withLines({ ...state, steps }, "plan", linesOf(plan));
}

/** Shows the plan below the turn that wrote it, once for each version. */
function withReadyPlan(state: State, { session, text }: MessageOf<"plan ready">): State {
  if (session !== state.session?.id || text.trim() === "") return state;
  const { settled } = state.transcript;
  const last = settled.findLast(({ kind }) => kind === "plan");
  if (last?.kind === "plan" && last.text === text) return state;
  return { ...state, transcript: withBlocks(state.transcript, { id: `plan-${settled.length}`, kind: "plan", text }) };
}

function linesOf(plan: string): string[] {
  return plan.trimEnd().split("\n");
}

/** The recorded path and the streamed drafts. The feed of a running turn sends the drafts once more. */
function openedTranscript({ blocks, turns, open = null }: SessionOpened): State["transcript"] {
  const lastTurn = turns.at(-1);
  const isUnanswered = open !== null && lastTurn !== undefined && blocks.at(-1)?.kind === "user";
  const nextSpeaker = isUnanswered ? speakerOf(lastTurn) : null;
  const path: State["transcript"] = { ...noBlocks, settled: blocks, speakers: speakersOf(turns), nextSpeaker };
  const transcript = (open?.drafts ?? []).reduce((current, { key, text }) => withDraft(current, key, text), path);
  if (open?.state !== "interrupted") return transcript;
  const text = "The process of this turn ended unexpectedly. This is its output until then.";
  return { ...transcript, writing: [...transcript.writing, { id: "interrupted", kind: "note", text, isLive: true }] };
}

/** Shows a failure: as a block, or as a notice if it belongs to another session or an overlay is open. */
function withFailure(state: State, { session, text, hint }: { session?: string; text: string; hint: string | null }): State {
  if (session !== undefined && state.session !== null && session !== state.session.id)
    return withNotice(state, oneLine(`session ${shortId(session)}: ${text}`, 300), "error");
  if (state.overlay !== null || state.isHubLost)
    return withNotice(state, oneLine(hint === null ? text : `${text.replace(/\.$/, "")}: ${hint}`, 300), "error");
  const block: Block = { id: `failed-${blockCount(state.transcript)}`, kind: "error", text, hint };
  const last = state.transcript.settled.at(-1);
  // A message that is sent again fails again. Its block is there already.
  if (last?.kind === "error" && last.text === text && last.hint === hint) return state;
  return { ...state, transcript: withBlocks(state.transcript, block) };
}

/** Shows why a message was refused. Its turn has not started. */
function withRefusal(state: State, message: MessageOf<"refused">): State {
  const activity = state.activity === "starting" ? null : state.activity;
  const failed = withFailure(state, message);
  // The block may look like a part of the first screen, so the rule above the prompt says it too.
  const next = failed.notice === state.notice ? withNotice(failed, oneLine(`not sent: ${message.text}`, 300), "error") : failed;
  return { ...restoreMessage(next, message.unsent), activity };
}

/** Puts a refused message back into the prompt, before the text that was typed since. */
function restoreMessage(state: State, text: string): State {
  const { unsent, composer } = state;
  const { sent } = composer;
  const isLastSent = sent !== null && expandChips(sent.message.text, sent.chips).trim() === text;
  const typed = isLastSent ? sent.message.text : text;
  const chips = isLastSent ? [...sent.chips, ...composer.chips] : composer.chips;
  return {
    ...state,
    unsent: { text: typed + unsent.text, cursor: typed.length + unsent.cursor },
    composer: { ...composer, chips, undo: [], sent: null },
  };
}
