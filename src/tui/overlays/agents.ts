// What runs in this project and what has just ended, whoever started it, with sub-sessions below their parents. Only data
// and what a key makes of it; `agents-view.ts` draws it, `effects/agents.ts` asks the Api.
import { emptyEditLine, type EditLine } from "../../kit/text/line-edit.ts";
import type { TurnInfo } from "../../protocol/api/control.ts";
import { shortId } from "../../protocol/tree/node.ts";
import { indentUnderParents, type IndentedTurn } from "../../protocol/tree/turn-list.ts";
import { applyEditKey } from "../keys/edit-keys.ts";
import { focusedBlock } from "../model/scroll.ts";
import { step, withNotice, type Key, type State, type UpdateResult } from "../model/state.ts";
import { listMoves, moveIndex, handleKeyByTable, slowAfterMs, type PanelKey } from "./panel.ts";

export type AgentsPanel = {
  kind: "agents";
  /** The session one is in. */
  here: string | null;
  /** Null until they were listed; of each session its latest turn. */
  rows: readonly IndentedTurn[] | null;
  /** Which listing is waited for: an answer to another one is of no use. */
  reading: number;
  now: number;
  at: number;
  /** How far back what has ended is shown. */
  since: "recent" | "day";
  steering: { session: string; line: EditLine } | null;
  /** The session whose turn the next press stops. */
  killing: string | null;
  isSlow: boolean;
};

export type AgentsMessage =
  | { what: "listed"; reading: number; rows: readonly TurnInfo[]; now: number }
  /** Why is told by itself; it is tried again. */
  | { what: "failed"; reading: number }
  /** Something was done to one here: they are listed again at once. */
  | { what: "changed" };

/** Where one goes back to from a session that was only opened to be watched, and the mode one was in. */
export type Visit = { home: string | null; mode: State["mode"] };

export type AgentsEffect =
  | { type: "list agents"; reading: number; sinceMs: number; afterMs: number }
  /** Shows a session without making it the one that is worked in; null is one yet to begin. */
  | { type: "visit"; session: string | null; visit: Visit | null }
  | { type: "pause" | "resume" | "kill" | "find ask"; session: string }
  | { type: "send to agent"; session: string; text: string };

const listAgainMs = 1000;
const sinceMs = { recent: 15 * 60_000, day: 24 * 3_600_000 };

/** From a session that is only visited it leads back. */
export function openAgents(state: State): UpdateResult {
  if (state.visit !== null) return goBack(state);
  const nothing = { rows: null, reading: 0, now: 0, at: 0, since: "recent" as const, steering: null, killing: null };
  const overlay: AgentsPanel = { kind: "agents", here: state.session?.id ?? null, ...nothing, isSlow: false };
  const list = { type: "list agents", reading: 0, sinceMs: sinceMs.recent, afterMs: 0 } as const;
  return step({ ...state, overlay }, list, { type: "wake", afterMs: slowAfterMs });
}

function visitFrom(state: State): Visit {
  return state.visit ?? { home: state.session?.id ?? null, mode: state.mode };
}

export function goBack(state: State): UpdateResult {
  if (state.visit === null) return step(withNotice(state, "nothing is watched here; :quit leaves"));
  return step(state, { type: "visit", session: state.visit.home, visit: null });
}

/** The session below that the block in focus stands for, or whose call it is. */
export function watchFocused(state: State): UpdateResult {
  const block = focusedBlock(state);
  const named = block?.kind === "tool" ? /\[session ([0-9a-f-]{36})/.exec(block.result?.text ?? "")?.[1] : undefined;
  const session = block?.kind === "session" ? block.id : named;
  if (session === undefined) return step(withNotice(state, "[ and ] go to the block of a sub-session; then it can be watched"));
  return step(state, { type: "visit", session, visit: visitFrom(state) });
}

export function updateAgents(state: State, panel: AgentsPanel, told: AgentsMessage): UpdateResult {
  if (told.what === "changed") return listAgain(state, panel, 0);
  if (told.reading !== panel.reading) return step(state);
  if (told.what === "failed") return listAgain(state, panel, listAgainMs);
  const seen = new Set<string>();
  const rows = indentUnderParents(told.rows.filter(({ session }) => !seen.has(session.id) && seen.add(session.id) !== undefined));
  const kept = rows.findIndex(({ row }) => row.session.id === chosenTurn(panel)?.session.id);
  const at = kept < 0 ? Math.max(0, moveIndex(panel.at, 0, rows.length)) : kept;
  const { now } = told;
  return listAgain(state, { ...panel, here: state.session?.id ?? null, rows, now, at }, listAgainMs);
}

function listAgain(state: State, panel: AgentsPanel, afterMs: number): UpdateResult {
  const reading = panel.reading + 1;
  const list = { type: "list agents", reading, sinceMs: sinceMs[panel.since], afterMs } as const;
  return step({ ...state, overlay: { ...panel, reading } }, list);
}

export function chosenTurn({ rows, at }: AgentsPanel): TurnInfo | undefined {
  return rows?.[at]?.row;
}

export const agentsKeys: readonly PanelKey<AgentsPanel>[] = [
  { keys: ["j", "down"], summary: "to the next line", run: moves(1) },
  { keys: ["k", "up"], summary: "to the line before", run: moves(-1) },
  { keys: ["ctrl+d", "pagedown"], summary: "ten lines down", run: moves(listMoves["pagedown"]!) },
  { keys: ["ctrl+u", "pageup"], summary: "ten lines up", run: moves(listMoves["pageup"]!) },
  { keys: ["gg"], summary: "to the first", run: moves(-Infinity) },
  { keys: ["G"], summary: "to the last", run: moves(Infinity) },
  { keys: ["enter"], summary: "open it, live or as it was; q, Esc or Space a goes back", run: open },
  { keys: ["s"], summary: "steer: a message that its agent is given next", run: whileItRuns(steer) },
  { keys: ["p"], summary: "pause it, or let it go on", run: whileItRuns(pause) },
  { keys: ["x", "K"], summary: "stop it; twice", run: whileItRuns(kill) },
  { keys: ["a"], summary: "answer its question", run: answer },
  { keys: ["e"], summary: "what has ended: the last quarter of an hour, or a day", run: showEnded },
  { keys: ["escape", "q"], summary: "close it", run: (state) => step({ ...state, overlay: null }) },
];

export function handleAgentsKey(state: State, panel: AgentsPanel, key: Key): UpdateResult {
  if (panel.steering !== null) return steering(state, panel, panel.steering, key);
  const calm = panel.killing === null || key.name === "x" || key.name === "K" ? panel : { ...panel, killing: null };
  return handleKeyByTable(agentsKeys, { ...state, overlay: calm }, calm, key);
}

function steering(state: State, panel: AgentsPanel, { session, line }: NonNullable<AgentsPanel["steering"]>, key: Key): UpdateResult {
  const closed: State = { ...state, overlay: { ...panel, steering: null } };
  if (key.name === "escape") return step(closed);
  if (key.name !== "enter") return step({ ...state, overlay: { ...panel, steering: { session, line: applyEditKey(line, key) } } });
  const text = line.text.trim();
  return text === "" ? step(closed) : step(closed, { type: "send to agent", session, text });
}

function moves(by: number): PanelKey<AgentsPanel>["run"] {
  return (state, panel) => step({ ...state, overlay: { ...panel, at: Math.max(0, moveIndex(panel.at, by, panel.rows?.length ?? 0)) } });
}

function open(state: State, panel: AgentsPanel): UpdateResult {
  const session = chosenTurn(panel)?.session;
  if (session === undefined) return step(state);
  if (session.id === panel.here) return step({ ...state, overlay: null });
  return step(state, { type: "visit", session: session.id, visit: visitFrom(state) });
}

function steer(state: State, panel: AgentsPanel, row: TurnInfo): UpdateResult {
  return step({ ...state, overlay: { ...panel, steering: { session: row.session.id, line: emptyEditLine } } });
}

function pause(state: State, _: AgentsPanel, row: TurnInfo): UpdateResult {
  return step(state, { type: row.state === "paused" ? "resume" : "pause", session: row.session.id });
}

function kill(state: State, panel: AgentsPanel, row: TurnInfo): UpdateResult {
  const { id } = row.session;
  if (panel.killing === id) return step({ ...state, overlay: { ...panel, killing: null } }, { type: "kill", session: id });
  return step(
    withNotice({ ...state, overlay: { ...panel, killing: id } }, `x again stops ${row.session.name ?? shortId(id)} and all below it`),
  );
}

function answer(state: State, panel: AgentsPanel): UpdateResult {
  const row = chosenTurn(panel);
  return row === undefined ? step(state) : step(state, { type: "find ask", session: row.session.id });
}

function showEnded(state: State, panel: AgentsPanel): UpdateResult {
  return listAgain(state, { ...panel, since: panel.since === "day" ? "recent" : "day" }, 0);
}

/** What can only be done to one that has not ended. */
function whileItRuns(run: (state: State, panel: AgentsPanel, row: TurnInfo) => UpdateResult): PanelKey<AgentsPanel>["run"] {
  return (state, panel) => {
    const row = chosenTurn(panel);
    if (row === undefined) return step(state);
    return row.state === "ended" ? step(withNotice(state, "it has ended")) : run(state, panel, row);
  };
}
