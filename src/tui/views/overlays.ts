// Chooses the overlay above the transcript: the open one, a question of an agent, the keys after Space, or the
// completion menu.
import { focusedAsk } from "../model/asks.ts";
import { screenCommands } from "../keys/commands.ts";
import { menuView } from "../composer/menu.ts";
import { keysOf } from "../keys/keymap.ts";
import { drawBox, type OverlayView } from "../overlays/box.ts";
import { renderOverlay } from "../overlays/index.ts";
import type { State } from "../model/state.ts";
import { askView } from "./ask.ts";

export function overlayOf(state: State, height: number): OverlayView | null {
  if (state.overlay !== null) return renderOverlay(state.overlay, { columns: state.size.columns, height, bindings: state.bindings });
  const ask = focusedAsk(state);
  if (ask !== null) return askView(state, ask, height);
  if (state.leader?.isShown !== true) return menuView(state, height);
  return { rows: drawBox("Space, then", leaderLines(state), state.size.columns), cursor: null };
}

function leaderLines({ bindings }: State): string[] {
  return screenCommands.flatMap((command) =>
    keysOf(bindings, command).flatMap((key) =>
      key.startsWith("space ") ? [`${key.slice("space ".length)}  ${command.name} — ${command.summary}`] : [],
    ),
  );
}
