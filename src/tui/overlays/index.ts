// What lies over the transcript, as one table: what a key does in it, and how it looks.
import { step, type Key, type State, type UpdateResult } from "../model/state.ts";
import type { OverlayView, OverlayArea } from "./box.ts";
import { planView, handlePlanKey, type PlanOverlay } from "./plan.ts";
import { pickerView, handlePickerKey, type Picker } from "./picker.ts";
import { handleTextKey, textOverlayView, type TextOverlay } from "./reader.ts";
import { agentsView } from "./agents-view.ts";
import { handleAgentsKey, updateAgents, type AgentsPanel, type AgentsMessage } from "./agents.ts";
import { sessionsView } from "./sessions-view.ts";
import { handleSessionsKey, updateSessions, type SessionsPanel, type SessionsMessage } from "./sessions.ts";
import { treeView } from "./tree-view.ts";
import { handleTreeKey, updateTree, type TreePanel, type TreeMessage } from "./tree.ts";

export type Overlay = TextOverlay | Picker | PlanOverlay | TreePanel | AgentsPanel | SessionsPanel;

/** What is told to one of them, by its kind; of no use when it is not there. */
export type PanelMessage =
  | { type: "tree"; told: TreeMessage }
  | { type: "agents"; told: AgentsMessage }
  | { type: "sessions"; told: SessionsMessage };

type Part<O> = { press: (state: State, overlay: O, key: Key) => UpdateResult; view: (overlay: O, room: OverlayArea) => OverlayView };

export const overlays: { [K in Overlay["kind"]]: Part<Extract<Overlay, { kind: K }>> } = {
  reader: { press: handleTextKey, view: textOverlayView },
  plan: { press: handlePlanKey, view: planView },
  picker: { press: handlePickerKey, view: pickerView },
  tree: { press: handleTreeKey, view: treeView },
  agents: { press: handleAgentsKey, view: agentsView },
  sessions: { press: handleSessionsKey, view: sessionsView },
};

export function handleOverlayKey(state: State, overlay: Overlay, key: Key): UpdateResult {
  return overlays[overlay.kind].press(state, overlay as never, key);
}

export function handleOverlayWheel(state: State, overlay: Overlay, by: number): UpdateResult {
  return handleOverlayKey(state, overlay, { name: by > 0 ? "down" : "up", text: "" });
}

/** Says that it is still being looked for; what comes at once is shown without it. */
export function markOverlaySlow(state: State): State {
  return state.overlay !== null && "isSlow" in state.overlay ? { ...state, overlay: { ...state.overlay, isSlow: true } } : state;
}

export function renderOverlay(overlay: Overlay, room: OverlayArea): OverlayView {
  return overlays[overlay.kind].view(overlay as never, room);
}

export function updateOverlay(state: State, message: PanelMessage): UpdateResult {
  const { overlay } = state;
  if (overlay?.kind === "reader" && overlay.under !== undefined) {
    const below = updateOverlay({ ...state, overlay: overlay.under }, message);
    return { ...below, state: { ...below.state, overlay: { ...overlay, under: below.state.overlay ?? overlay.under } } };
  }
  if (overlay?.kind === "tree" && message.type === "tree") return updateTree(state, overlay, message.told);
  if (overlay?.kind === "agents" && message.type === "agents") return updateAgents(state, overlay, message.told);
  if (overlay?.kind === "sessions" && message.type === "sessions") return updateSessions(state, overlay, message.told);
  return step(state);
}
