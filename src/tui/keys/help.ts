// Renders the table of commands as help: for the overlay, the palette and docs/KEYS.md.
import type { Bindings } from "./bindings.ts";
import { screenCommands, type ScreenCommand } from "./commands.ts";
import type { KeyPreset } from "../../protocol/api/settings.ts";
import { fixedKeys } from "./fixed-keys.ts";
import { keysOf } from "./keymap.ts";
import { agentsKeys } from "../overlays/agents.ts";
import { sessionsKeys } from "../overlays/sessions.ts";
import type { BoxLine } from "../overlays/box.ts";
import { changedFilesKeys } from "../overlays/file-writers.ts";
import { treeKeys } from "../overlays/tree.ts";
import { blanks, styled, wrapRuns } from "../layout/wrap.ts";

/** Pairs of keys and summary, for the help and docs/KEYS.md. */
export function helpLines(bindings: Bindings): [keys: string, summary: string][] {
  const commandLines = screenCommands.map((command): [string, string] => [keysText(command, bindings), command.summary]);
  const fixedLines = fixedKeys[bindings.preset].map(({ keys, summary }): [string, string] => [keys, summary]);
  return [...fixedLines, ...commandLines.filter(([keys]) => keys !== "")];
}

/** In fewer columns than this the summary of a key is on a row of its own. */
const twoColumns = 60;

/** The whole help, with keys in one column if there is room for a second one. */
export function helpText(bindings: Bindings, columns: number): BoxLine[] {
  const layOut = columns < twoColumns ? (help: [string, string][]) => inRows(help, columns - 4) : inColumns;
  const panels = panelHelp.flatMap(({ title, lines }): BoxLine[] => ["", styled(title, { bold: true }), ...layOut(lines)]);
  const other = bindings.preset === "plain" ? "vi" : "plain";
  return [...layOut(helpLines(bindings)), "", switchText(other), ...panels];
}

/** How to change the preset. */
export function switchText(preset: KeyPreset): string {
  return `${preset === "vi" ? "Keys like those of vi" : "Keys without modes"}: skein config set keys ${preset}`;
}

function inColumns(help: readonly [keys: string, summary: string][]): string[] {
  const keyColumns = Math.max(...help.map(([keys]) => keys.length)) + 2;
  return help.map(([keys, summary]) => keys.padEnd(keyColumns) + summary);
}

function inRows(help: readonly [keys: string, summary: string][], columns: number): BoxLine[] {
  return help.flatMap(([keys, summary]) => [styled(keys, { bold: true }), ...wrapRuns([styled(`  ${summary}`)], columns, blanks(2))]);
}

/** All keys of a command, and its typed form: `Space m, :model [vendor/id]`. Empty if the preset has none. */
export function keysText(command: ScreenCommand, bindings: Bindings): string {
  const { name, typed } = command;
  const typedForm = typed === undefined ? [] : [`${bindings.preset === "vi" ? ":" : "/"}${name} ${typed}`.trim()];
  return [...keysOf(bindings, command).map(keyName), ...typedForm].join(", ");
}

export const panelHelp: readonly { title: string; lines: [keys: string, summary: string][] }[] = [
  { title: "In the tree", lines: linesOf(treeKeys) },
  { title: "In the agents panel", lines: linesOf(agentsKeys) },
  { title: "In the sessions panel; any other key edits the filter", lines: linesOf(sessionsKeys) },
  { title: "In the changed files", lines: linesOf(changedFilesKeys) },
];

function linesOf(table: readonly { keys: readonly string[]; summary: string }[]): [string, string][] {
  return table.map(({ keys, summary }) => [keys.map(keyName).join(", "), summary]);
}

function keyName(key: string): string {
  if (key.length === 1 || key[0] === key[1]) return key;
  if (key === "escape") return "Esc";
  if (key.startsWith("space ")) return `Space ${keyName(key.slice("space ".length))}`;
  return key.replace("page", "page ").replace(/(^|[+ ])[a-z]/g, (start) => start.toUpperCase());
}
