// The agents panel: running and recently ended turns of this project, from any process, sub-sessions under their parents.
// Pure. `agents-view.ts` draws it, `effects/agents.ts` calls the Api.
import { emptyEditLine, type EditLine } from "../../kit/text/line-edit.ts";
import type { TurnInfo } from "../../protocol/api/control.ts";
import { sessionLabel } from "../../protocol/tree/turn.ts";
import { indentUnderParents, type IndentedTurn } from "../../protocol/tree/turn-list.ts";
import { applyEditKey } from "../keys/edit-keys.ts";
import { hintFor } from "../keys/hint.ts";
import { focusedBlock } from "../model/scroll.ts";
import { step, withNotice, type Key, type State, type UpdateResult } from "../model/state.ts";
import { confirm, handleKeyByTable, listKeys, moveIndex, openPanel, type PanelKey, type PanelState } from "./panel.ts";

export type AgentsPanel = PanelState & {
  kind: "agents";
  /** The latest turn of each session. Null until they are listed. */
  rows: readonly IndentedTurn[] | null;
  /** How far back ended turns are listed. */
  since: "recent" | "day";
  steering: { session: string; line: EditLine } | null;
  /** The session whose turn another press of x stops. */
  confirming: string | null;
};

export type AgentsMessage =
  | { type: "listed"; reading: number; rows: readonly TurnInfo[]; now: number }
  /** The reason is shown by another message. The turns are listed again. */
  | { type: "failed"; reading: number }
  /** An action here changed a turn. The turns are listed again at once. */
  | { type: "changed" };

/** While another session is watched: the session and the mode to return to. */
export type Visit = { home: string | null; mode: State["mode"] };

export type AgentsEffect =
  | { type: "list agents"; reading: number; sinceMs: number; afterMs: number }
  /** Shows a session without making it the current one of the project. A null session is a new one. */
  | { type: "visit"; session: string | null; visit: Visit | null }
  | { type: "pause" | "resume" | "kill" | "find ask"; session: string }
  | { type: "send to agent"; session: string; text: string };

const listAgainMs = 1000;
const sinceMs = { recent: 15 * 60_000, day: 24 * 3_600_000 };

/** While a session is watched, goes back to the previous session instead. */
export function openAgents(state: State): UpdateResult {
  if (state.visit !== null) return leaveVisit(state);
  const fields = { kind: "agents", rows: null, since: "recent", steering: null, confirming: null } as const;
  return openPanel<AgentsPanel>(state, fields, (panel) => listEffect(panel, 0));
}

function visitFrom(state: State): Visit {
  return state.visit ?? { home: state.session?.id ?? null, mode: state.mode };
}

export function leaveVisit(state: State): UpdateResult {
  if (state.visit === null)
    return step(withNotice(state, `no session is being watched; ${hintFor(state.bindings, "quit")} leaves the screen`));
  return step(state, { type: "visit", session: state.visit.home, visit: null });
}

/** Watches the sub-session of the block in focus: a sub-session block, or the call that started it. */
export function watchFocused(state: State): UpdateResult {
  const block = focusedBlock(state);
  const spawnedId = block?.kind === "tool" ? /\[session ([0-9a-f-]{36})/.exec(block.result?.text ?? "")?.[1] : undefined;
  const session = block?.kind === "session" ? block.id : spawnedId;
  if (session === undefined)
    return step(withNotice(state, `focus the block of a sub-session first, with ${state.bindings.preset === "vi" ? "[ or ]" : "Alt+Up"}`));
  return step(state, { type: "visit", session, visit: visitFrom(state) });
}

export function updateAgents(state: State, panel: AgentsPanel, message: AgentsMessage): UpdateResult {
  if (message.type === "changed") return listAgain(state, panel, 0);
  if (message.reading !== panel.reading) return step(state);
  if (message.type === "failed") return listAgain(state, panel, listAgainMs);
  const listed = new Set<string>();
  const rows = indentUnderParents(message.rows.filter(({ session }) => !listed.has(session.id) && listed.add(session.id) !== undefined));
  const chosen = rows.findIndex(({ row }) => row.session.id === chosenTurn(panel)?.session.id);
  const index = chosen < 0 ? moveIndex(panel.index, 0, rows.length) : chosen;
  const { now } = message;
  return listAgain(state, { ...panel, currentSession: state.session?.id ?? null, rows, now, index }, listAgainMs);
}

function listAgain(state: State, panel: AgentsPanel, afterMs: number): UpdateResult {
  const overlay = { ...panel, reading: panel.reading + 1 };
  return step({ ...state, overlay }, listEffect(overlay, afterMs));
}

function listEffect({ reading, since }: AgentsPanel, afterMs: number): AgentsEffect {
  return { type: "list agents", reading, sinceMs: sinceMs[since], afterMs };
}

export function chosenTurn({ rows, index }: AgentsPanel): TurnInfo | undefined {
  return rows?.[index]?.row;
}

export const agentsKeys: readonly PanelKey<AgentsPanel>[] = [
  ...listKeys<AgentsPanel>(({ rows }) => rows?.length ?? 0),
  { keys: ["enter"], summary: "watch the session; Esc goes back", run: open },
  { keys: ["s"], summary: "steer: send a message to its agent", run: ifRunning(steer) },
  { keys: ["p"], summary: "pause or resume it", run: ifRunning(pause) },
  { keys: ["x", "K"], summary: "stop it; press twice", run: ifRunning(kill), asksTwice: true },
  { keys: ["a"], summary: "answer its question", run: answer },
  { keys: ["e"], summary: "ended turns of the last 15 minutes, or of a day", run: showEnded },
  { keys: ["escape", "q"], summary: "close the panel", run: (state) => step({ ...state, overlay: null }) },
];

export function handleAgentsKey(state: State, panel: AgentsPanel, key: Key): UpdateResult {
  const { steering } = panel;
  if (steering === null) return handleKeyByTable(agentsKeys, state, panel, key);
  const { session, line } = steering;
  const closed: State = { ...state, overlay: { ...panel, steering: null } };
  if (key.name === "escape") return step(closed);
  if (key.name !== "enter") return step({ ...state, overlay: { ...panel, steering: { session, line: applyEditKey(line, key) } } });
  const text = line.text.trim();
  return text === "" ? step(closed) : step(closed, { type: "send to agent", session, text });
}

function open(state: State, panel: AgentsPanel): UpdateResult {
  const session = chosenTurn(panel)?.session;
  if (session === undefined) return step(state);
  if (session.id === panel.currentSession) return step({ ...state, overlay: null });
  return step(state, { type: "visit", session: session.id, visit: visitFrom(state) });
}

function steer(state: State, panel: AgentsPanel, turn: TurnInfo): UpdateResult {
  return step({ ...state, overlay: { ...panel, steering: { session: turn.session.id, line: emptyEditLine } } });
}

function pause(state: State, _: AgentsPanel, turn: TurnInfo): UpdateResult {
  return step(state, { type: turn.state === "paused" ? "resume" : "pause", session: turn.session.id });
}

function kill(state: State, panel: AgentsPanel, { session }: TurnInfo): UpdateResult {
  const question = `press x again to stop ${sessionLabel(session)} and its sub-sessions`;
  return confirm(state, panel, question, { type: "kill", session: session.id });
}

function answer(state: State, panel: AgentsPanel): UpdateResult {
  const turn = chosenTurn(panel);
  return turn === undefined ? step(state) : step(state, { type: "find ask", session: turn.session.id });
}

function showEnded(state: State, panel: AgentsPanel): UpdateResult {
  return listAgain(state, { ...panel, since: panel.since === "day" ? "recent" : "day" }, 0);
}

/** Runs an action on the chosen turn, unless the turn has ended. */
function ifRunning(run: (state: State, panel: AgentsPanel, turn: TurnInfo) => UpdateResult): PanelKey<AgentsPanel>["run"] {
  return (state, panel) => {
    const turn = chosenTurn(panel);
    if (turn === undefined) return step(state);
    return turn.state === "ended" ? step(withNotice(state, "the turn has ended")) : run(state, panel, turn);
  };
}
