// The table of commands as lines of help: for the overlay, the palette and docs/KEYS.md.
import type { Bindings } from "./bindings.ts";
import { fixedKeys, screenCommands, type ScreenCommand } from "./commands.ts";
import { keysOf } from "./keymap.ts";
import { agentsKeys } from "../overlays/agents.ts";
import { sessionsKeys } from "../overlays/sessions.ts";
import { treeKeys } from "../overlays/tree.ts";

/** `key  what it does`, for the help and docs/KEYS.md. */
export function helpLines(bindings: Bindings): [keys: string, summary: string][] {
  const ofCommands = screenCommands.map((command): [string, string] => [keysText(command, bindings), command.summary]);
  return [...fixedKeys.map(({ keys, summary }): [string, string] => [keys, summary]), ...ofCommands];
}

/** All ways to a command: `Space m, :model [vendor/id]`. */
export function keysText(command: ScreenCommand, bindings: Bindings): string {
  const { name, typed } = command;
  const { keys, leaders } = keysOf(bindings, command);
  const ways = [...keys.map(keyName), ...leaders.map((key) => `Space ${keyName(key)}`)];
  return [...ways, ...(typed === undefined ? [] : [`:${name} ${typed}`.trim()])].join(", ");
}

/** The keys within each panel. */
export const panelHelp: readonly { title: string; lines: [keys: string, summary: string][] }[] = [
  { title: "In the tree", lines: linesOf(treeKeys) },
  { title: "Among the agents", lines: linesOf(agentsKeys) },
  { title: "Among the sessions; any other key types what to find", lines: linesOf(sessionsKeys) },
];

function linesOf(table: readonly { keys: readonly string[]; summary: string }[]): [string, string][] {
  return table.map(({ keys, summary }) => [keys.map(keyName).join(", "), summary]);
}

function keyName(key: string): string {
  if (key.length === 1 || key[0] === key[1]) return key;
  if (key === "escape") return "Esc";
  return key.replace("page", "page ").replace(/(^|[+ ])[a-z]/g, (start) => start.toUpperCase());
}
