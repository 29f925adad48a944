// What lies over the transcript: an overlay that was opened, a question of the agent's with the answer being typed, or the
// keys after Space.
import { inView, layOut } from "../../kit/lay-out.ts";
import { wrapRuns } from "../cards/wrap.ts";
import { screenCommands } from "../commands.ts";
import { menuView } from "../composer/menu.ts";
import { keysOf } from "../keymap.ts";
import { boxed, type OverlayView } from "../overlays/box.ts";
import { viewOfOverlay } from "../overlays/index.ts";
import type { State } from "../state.ts";

export function overlayOf(state: State, height: number): OverlayView | null {
  if (state.overlay !== null) return viewOfOverlay(state.overlay, { columns: state.size.columns, height, bindings: state.bindings });
  if (state.asks.length > 0) return askOverlay(state, height);
  if (state.leader?.isShown !== true) return menuView(state, height);
  return { rows: boxed("Space, then", leaderLines(state), state.size.columns), cursor: null };
}

function leaderLines({ bindings }: State): string[] {
  return screenCommands.flatMap((command) => keysOf(bindings, command).leaders.map((key) => `${key}  ${command.summary}`));
}

function askOverlay(state: State, height: number): OverlayView {
  const [ask] = state.asks;
  const { columns } = state.size;
  const lines = wrapRuns([{ text: ask?.question ?? "", look: {} }], columns - 4).map((row) => row.map((run) => run.text).join(""));
  const options = (ask?.options ?? []).map((option, at) => `${at + 1}. ${option}`);
  const input = inView(layOut("answer > ", state.answer, columns - 4), 3);
  const room = Math.max(1, height - input.rows.length - 2);
  const told = [...lines, ...options].slice(0, room);
  const rows = boxed("the agent asks; Ctrl+C stops the turn", [...told, ...input.rows], columns);
  return { rows, cursor: { row: 1 + told.length + input.cursor.row, column: 2 + input.cursor.column } };
}
