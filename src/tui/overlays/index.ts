// The table of overlays: how each handles keys, and how it is drawn.
import { step, type Key, type State, type UpdateResult } from "../model/state.ts";
import type { OverlayView, OverlayArea } from "./box.ts";
import { pickerView, handlePickerKey, type Picker } from "./picker.ts";
import { handleTextKey, textOverlayView, type TextOverlay } from "./text-overlay.ts";
import { agentsView } from "./agents-view.ts";
import { handleAgentsKey, updateAgents, type AgentsPanel, type AgentsMessage } from "./agents.ts";
import { sessionsView } from "./sessions-view.ts";
import { handleSessionsKey, updateSessions, type SessionsPanel, type SessionsMessage } from "./sessions.ts";
import { treeView } from "./tree-view.ts";
import { handleTreeKey, updateTree, type TreePanel, type TreeMessage } from "./tree.ts";

export type Overlay = TextOverlay | Picker | TreePanel | AgentsPanel | SessionsPanel;

/** Data for a panel. It is dropped if the panel is not open. */
export type PanelMessage =
  | { type: "tree"; message: TreeMessage }
  | { type: "agents"; message: AgentsMessage }
  | { type: "sessions"; message: SessionsMessage };

type OverlayHandlers<O> = {
  press: (state: State, overlay: O, key: Key) => UpdateResult;
  view: (overlay: O, area: OverlayArea) => OverlayView;
};

const overlays: { [K in Overlay["kind"]]: OverlayHandlers<Extract<Overlay, { kind: K }>> } = {
  text: { press: handleTextKey, view: textOverlayView },
  picker: { press: handlePickerKey, view: pickerView },
  tree: { press: handleTreeKey, view: treeView },
  agents: { press: handleAgentsKey, view: agentsView },
  sessions: { press: handleSessionsKey, view: sessionsView },
};

export function handleOverlayKey(state: State, overlay: Overlay, key: Key): UpdateResult {
  return overlays[overlay.kind].press(state, overlay as never, key);
}

/** Lets an open panel show that it is loading. Data that arrives quickly is shown without that. */
export function markOverlaySlow(state: State): State {
  return state.overlay !== null && "isSlow" in state.overlay ? { ...state, overlay: { ...state.overlay, isSlow: true } } : state;
}

export function renderOverlay(overlay: Overlay, area: OverlayArea): OverlayView {
  return overlays[overlay.kind].view(overlay as never, area);
}

export function updateOverlay(state: State, message: PanelMessage): UpdateResult {
  const { overlay } = state;
  if (overlay?.kind === "text" && overlay.under !== undefined) {
    const updated = updateOverlay({ ...state, overlay: overlay.under }, message);
    return { ...updated, state: { ...updated.state, overlay: { ...overlay, under: updated.state.overlay ?? overlay.under } } };
  }
  if (overlay?.kind === "tree" && message.type === "tree") return updateTree(state, overlay, message.message);
  if (overlay?.kind === "agents" && message.type === "agents") return updateAgents(state, overlay, message.message);
  if (overlay?.kind === "sessions" && message.type === "sessions") return updateSessions(state, overlay, message.message);
  return step(state);
}
