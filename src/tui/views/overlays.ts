// What lies over the transcript: the help, the keys after Space, and a question of the agent's with the answer being typed.
import { inView, layOut } from "../../kit/lay-out.ts";
import { fit, wrapRuns, type Row } from "../cards/wrap.ts";
import { fixedKeys, screenCommands } from "../commands.ts";
import type { State } from "../state.ts";

export type Overlay = { rows: Row[]; cursor: { row: number; column: number } | null };

export function overlayOf(state: State, height: number): Overlay | null {
  if (state.help !== null) return { rows: helpRows(state.help, state.size.columns, height), cursor: null };
  if (state.asks.length > 0) return askOverlay(state, height);
  return state.leader?.isShown === true ? { rows: boxed("Space, then", leaderLines(), state.size.columns), cursor: null } : null;
}

/** `key  what it does`, for the help and docs/KEYS.md. */
export function helpLines(): [keys: string, summary: string][] {
  const ofCommands = screenCommands.map(({ keys = [], leader, typed, summary }): [string, string] => {
    const ways = [...keys.map(keyName), ...(leader === undefined ? [] : [`Space ${leader}`])];
    return [[...ways, ...(typed === undefined ? [] : [`:${typed.name} ${typed.usage}`.trim()])].join(", "), summary];
  });
  return [...fixedKeys.map(({ keys, summary }): [string, string] => [keys, summary]), ...ofCommands];
}

function keyName(key: string): string {
  if (key.length === 1 || key[0] === key[1]) return key;
  return key.replace("page", "page ").replace(/(^|[+ ])[a-z]/g, (start) => start.toUpperCase());
}

function helpRows(from: number, columns: number, height: number): Row[] {
  const lines = helpLines();
  const keyColumns = Math.max(...lines.map(([keys]) => keys.length)) + 2;
  const texts = lines.map(([keys, summary]) => keys.padEnd(keyColumns) + summary);
  const room = Math.max(1, height - 2);
  const first = Math.min(from, Math.max(0, texts.length - room));
  return boxed("help: j and k scroll, Esc closes it", texts.slice(first, first + room), columns);
}

function leaderLines(): string[] {
  return screenCommands.flatMap(({ leader, summary }) => (leader === undefined ? [] : [`${leader}  ${summary}`]));
}

function askOverlay(state: State, height: number): Overlay {
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

function boxed(title: string, lines: readonly string[], columns: number): Row[] {
  const inner = Math.max(1, columns - 4);
  const head = fit(` ${title} `, inner);
  const edge = { color: 6 };
  const row = (text: string): Row => {
    const shown = fit(text, inner);
    const rest = " ".repeat(Math.max(0, inner - Bun.stringWidth(shown)));
    return [
      { text: "│ ", look: edge },
      { text: shown + rest, look: {} },
      { text: " │", look: edge },
    ];
  };
  return [
    [{ text: `┌─${head}${"─".repeat(Math.max(0, columns - Bun.stringWidth(head) - 3))}┐`, look: edge }],
    ...lines.map(row),
    [{ text: `└${"─".repeat(Math.max(0, columns - 2))}┘`, look: edge }],
  ];
}
