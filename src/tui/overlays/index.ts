// What lies over the transcript, as one table: what a key does in it, and how it looks.
import { step, type Key, type State, type Step } from "../state.ts";
import type { OverlayView, Room } from "./box.ts";
import { planView, pressInPlan, type PlanOverlay } from "./plan.ts";
import { pickerView, pressInPicker, type Picker } from "./picker.ts";
import { pressInReader, readerView, type Reader } from "./reader.ts";
import { agentsView } from "./agents-view.ts";
import { pressInAgents, takeInAgents, type AgentsPanel, type AgentsTold } from "./agents.ts";
import { sessionsView } from "./sessions-view.ts";
import { pressInSessions, takeInSessions, type SessionsPanel, type SessionsTold } from "./sessions.ts";
import { treeView } from "./tree-view.ts";
import { pressInTree, takeInTree, type TreePanel, type TreeTold } from "./tree.ts";

export type Overlay = Reader | Picker | PlanOverlay | TreePanel | AgentsPanel | SessionsPanel;

/** What is told to one of them, by its kind; of no use when it is not there. */
export type PanelMessage =
  | { type: "tree"; told: TreeTold }
  | { type: "agents"; told: AgentsTold }
  | { type: "sessions"; told: SessionsTold };

type Part<O> = { press: (state: State, overlay: O, key: Key) => Step; view: (overlay: O, room: Room) => OverlayView };

export const overlays: { [K in Overlay["kind"]]: Part<Extract<Overlay, { kind: K }>> } = {
  reader: { press: pressInReader, view: readerView },
  plan: { press: pressInPlan, view: planView },
  picker: { press: pressInPicker, view: pickerView },
  tree: { press: pressInTree, view: treeView },
  agents: { press: pressInAgents, view: agentsView },
  sessions: { press: pressInSessions, view: sessionsView },
};

export function pressInOverlay(state: State, overlay: Overlay, key: Key): Step {
  return overlays[overlay.kind].press(state, overlay as never, key);
}

export function wheelInOverlay(state: State, overlay: Overlay, by: number): Step {
  return pressInOverlay(state, overlay, { name: by > 0 ? "down" : "up", text: "" });
}

/** Says that it is still being looked for; what comes at once is shown without it. */
export function slowOverlay(state: State): State {
  return state.overlay !== null && "isSlow" in state.overlay ? { ...state, overlay: { ...state.overlay, isSlow: true } } : state;
}

export function viewOfOverlay(overlay: Overlay, room: Room): OverlayView {
  return overlays[overlay.kind].view(overlay as never, room);
}

export function takeInOverlay(state: State, message: PanelMessage): Step {
  const { overlay } = state;
  if (overlay?.kind === "reader" && overlay.under !== undefined) {
    const below = takeInOverlay({ ...state, overlay: overlay.under }, message);
    return { ...below, state: { ...below.state, overlay: { ...overlay, under: below.state.overlay ?? overlay.under } } };
  }
  if (overlay?.kind === "tree" && message.type === "tree") return takeInTree(state, overlay, message.told);
  if (overlay?.kind === "agents" && message.type === "agents") return takeInAgents(state, overlay, message.told);
  if (overlay?.kind === "sessions" && message.type === "sessions") return takeInSessions(state, overlay, message.told);
  return step(state);
}
