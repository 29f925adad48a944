// The actions of screen commands. Each returns the next state and effects, and does nothing else.
import { parseHostPattern } from "../../kit/flow/host-pattern.ts";
import { emptyEditLine } from "../../kit/text/line-edit.ts";
import { oneLine, pluralize } from "../../kit/text/cut-text.ts";
import { compactPrompt, slashTable, type SlashName } from "../../protocol/api/slash-commands.ts";
import { loopExample, parseLoopArgument } from "../../protocol/loops/loop-argument.ts";
import { expandChips } from "../composer/chips.ts";
import { focusedBlock, toggleFocused } from "../model/scroll.ts";
import { step, withNotice, type Effect, type State, type UpdateResult } from "../model/state.ts";
import { hintFor } from "./hint.ts";
import { watchFocused } from "../overlays/agents.ts";
import type { Picker } from "../overlays/picker.ts";

type Action = (state: State, argument: string) => UpdateResult;
type PlainEffect = "edit plan" | "show plan" | "suspend" | "hub" | "redraw" | "new" | "undo" | "redo";

/** The action of a command that changes no state. */
export function effectOnly(type: PlainEffect): Action {
  return (state) => step(state, { type });
}

export function needsArgument(name: SlashName, effectOf: (argument: string) => Effect): Action {
  return (state, argument) =>
    argument === ""
      ? step(withNotice(state, `${hintFor(state.bindings, name)} needs an argument: ${slashTable[name].usage}`, "error"))
      : step(state, effectOf(argument));
}

export function openHelp(state: State): UpdateResult {
  return step({ ...state, overlay: { kind: "text", topic: "help", lines: [], top: 0 } });
}

export function openPicker(state: State, purpose: Picker["purpose"], items: Picker["items"]): State {
  return { ...state, overlay: { kind: "picker", purpose, items, filter: emptyEditLine, index: 0 } };
}

export function chooseModel(state: State, name: string): UpdateResult {
  return name === "" ? openChoices(state, "models") : step(state, { type: "model", name });
}

export function chooseAgent(state: State, name: string): UpdateResult {
  return name === "" ? openChoices(state, "agents") : step(state, { type: "agent", name });
}

function openChoices(state: State, purpose: "models" | "agents"): UpdateResult {
  return step(openPicker(state, purpose, null), { type: "list", purpose });
}

export function openHistory(state: State): UpdateResult {
  const { history } = state.composer;
  const items = history
    .map((text, index) => ({ id: String(index), label: oneLine(text, 200), detail: "", preview: text }))
    .filter(({ preview }, index) => history.lastIndexOf(preview) === index)
    .toReversed();
  if (items.length === 0) return step(withNotice(state, "no messages sent in this project yet"));
  return step(openPicker(state, "history", items));
}

/** Without an argument, changes to the next policy. */
export function changePolicy(state: State, name: string): UpdateResult {
  const choices = ["workspace", "plan", "readonly"] as const;
  const chosen = choices.find((choice) => choice === name) ?? null;
  if (name !== "" && chosen === null)
    return step(withNotice(state, `policy takes ${choices.join(", ")}; not "${oneLine(name, 40)}"`, "error"));
  return step(state, { type: "policy", name: chosen });
}

export function openCosts(state: State): UpdateResult {
  return step({ ...state, overlay: { kind: "text", topic: "costs", lines: ["loading…"], top: 0 } }, { type: "read costs" });
}

/** Without an argument, shows the table of the latest race. */
export function startRace(state: State, argument: string): UpdateResult {
  const [, agents = "", task = ""] = /^(\S+)\s+(.+)$/s.exec(argument.trim()) ?? [];
  if (task !== "") return step(state, { type: "race", agents, task });
  if (argument !== "") return step(withNotice(state, `race takes ${slashTable.race.usage}: claude,codex:gpt-5 fix the tests`, "error"));
  return step({ ...state, overlay: { kind: "text", topic: "race", lines: ["loading…"], top: 0 } }, { type: "read race" });
}

/** The passes are turns of the visible session. */
export function startLoop(state: State, argument: string): UpdateResult {
  const parsed = parseLoopArgument(argument);
  if (parsed === null) return step(withNotice(state, `loop takes ${slashTable.loop.usage}: ${loopExample}`, "error"));
  const { state: next, effects } = sendPrompt(() => parsed.task)(state, "");
  return step(next, ...effects.map((effect): Effect => (effect.type === "start" ? { ...effect, until: parsed.until } : effect)));
}

/** A message to a session in which nothing runs is sent at once. */
export function queueMessage(state: State, text: string): UpdateResult {
  if (text === "") return step(withNotice(state, `queue needs an argument: ${slashTable.queue.usage}`, "error"));
  if (state.session === null || (state.activity === null && state.later.length === 0)) return sendPrompt(() => text)(state, "");
  return step(state, { type: "queue", text });
}

export function openReport(topic: Extract<Effect, { type: "report" }>["topic"]): Action {
  return (state) => step({ ...state, overlay: { kind: "text", topic, lines: ["loading…"], top: 0 } }, { type: "report", topic });
}

/** Copies the Markdown of the last answer. */
export function copyAnswer(state: State): UpdateResult {
  const answer = state.transcript.settled.findLast((block) => block.kind === "text");
  if (answer?.kind !== "text") return step(withNotice(state, "there is no answer to copy yet"));
  const size = pluralize(answer.text.trimEnd().split("\n").length, "line");
  return step(state, { type: "copy", text: answer.text, name: `the last answer, ${size}` });
}

/** Sends a prepared message, as if the user had typed it. */
export function sendPrompt(promptOf: (argument: string) => string): Action {
  return (state, argument) => {
    if (state.activity !== null) return step(withNotice(state, "a turn is running; Ctrl+C stops it", "error"));
    if (state.visit !== null) return step(withNotice(state, "this session is only watched", "error"));
    return step({ ...state, activity: "starting", top: "end" }, { type: "start", prompt: promptOf(argument), images: [] });
  };
}

/** Summarises the conversation, to free the context window. Going back before that message undoes it. */
export function compact(state: State): UpdateResult {
  if (!state.transcript.settled.some(({ kind }) => kind === "text" || kind === "tool"))
    return step(withNotice(state, "there is nothing to summarise yet"));
  const { state: next, effects } = sendPrompt(() => compactPrompt)(state, "");
  return step(next, ...effects.map((effect): Effect => (effect.type === "start" ? { ...effect, isCompaction: true } : effect)));
}

/** Without an amount, shows the costs. */
export function setBudget(state: State, amount: string): UpdateResult {
  if (amount === "") return openCosts(state);
  if (amount === "off") return step(state, { type: "budget", usd: null });
  const usd = Number(amount.replace(/^\$/, ""));
  if (Number.isFinite(usd) && usd > 0) return step(state, { type: "budget", usd });
  return step(withNotice(state, `budget takes dollars, for example 0.50, or off; not "${oneLine(amount, 40)}"`, "error"));
}

export function insertMode(state: State): State {
  return { ...state, mode: "insert", focus: null };
}

export function clear(state: State): UpdateResult {
  const isEmpty = state.session?.tip === null && state.activity === null;
  return isEmpty ? step(withNotice(state, "this branch is already empty")) : step(state, { type: "clear" });
}

export function cancel(state: State): UpdateResult {
  const { session, activity, later } = state;
  const queued = later.filter(({ kind }) => kind === "queued");
  // A turn that waits for a limit is stopped like a running one.
  if (session !== null && activity === null && queued.length < later.length)
    return step(withNotice({ ...state, later: queued }, "the wait is over; the turn stays as it is"), {
      type: "cancel",
      session: session.id,
    });
  if (session === null || activity === null) return step(withNotice(state, "no turn is running"));
  return step({ ...state, activity: "stopping" }, { type: "cancel", session: session.id });
}

export function continueTurn(state: State): UpdateResult {
  if (state.session === null || state.activity !== null)
    return step(withNotice(state, state.session === null ? "there is no message yet" : "a turn is already running"));
  const started: State = { ...state, isInterrupted: false, activity: "starting", top: "end" };
  return step(started, { type: "start", prompt: null, images: [] });
}

export function openBlock(state: State): UpdateResult {
  return step(state.focus === null ? insertMode(state) : toggleFocused(state));
}

export function enterBlock(state: State): UpdateResult {
  return focusedBlock(state)?.kind === "session" ? watchFocused(state) : openBlock(state);
}

export function setNet(state: State, value: string): UpdateResult {
  const hosts = value === "" || value === "on" ? undefined : value === "off" ? [] : value.split(/[\s,]+/).filter((host) => host !== "");
  if (hosts?.some((host) => parseHostPattern(host) === null))
    return step(withNotice(state, `net takes on, off or hosts, not "${oneLine(value, 40)}"`, "error"));
  const net = value === "" ? (state.net === "on" ? "off" : "on") : value === "on" ? "on" : "off";
  const change = `network ${hosts?.length ? `of ${oneLine(hosts.join(", "), 100)}` : net} for the tools of the next turn`;
  const text = state.activity === null ? change : `${change}; this turn keeps its network`;
  return step(withNotice({ ...state, net }, text), { type: "net", net, ...(hosts === undefined ? {} : { hosts }) });
}

/** Opens the whole message in an editor: labels of long pastes become their texts. */
export function editPrompt(state: State): UpdateResult {
  return step(state, { type: "edit prompt", text: expandChips(state.unsent.text, state.composer.chips) });
}

/** Starts planning in Insert mode, because the user types next what to plan. */
export function togglePlanning(state: State): UpdateResult {
  const { isPlanning, mode } = state;
  return step({ ...state, mode: isPlanning ? mode : "insert" }, { type: "plan", isOn: !isPlanning });
}

export function executePlan(state: State): UpdateResult {
  if (state.activity === null) return step(state, { type: "execute plan" });
  return step(withNotice(state, "a turn is running; Ctrl+C stops it", "error"));
}

/** Turns that this screen runs in other sessions end with it, so the user is warned of them first. */
export function quit(state: State): UpdateResult {
  const otherSessions = state.running.filter((id) => id !== state.session?.id);
  if (otherSessions.every((id) => state.warned.includes(id))) return step(state, { type: "quit" });
  const turns = otherSessions.length === 1 ? "a turn in another session" : `${otherSessions.length} turns in other sessions`;
  return step(
    withNotice(
      { ...state, warned: otherSessions },
      `quitting stops ${turns}; quit again, or see ${hintFor(state.bindings, "agents")}`,
      "error",
    ),
  );
}
