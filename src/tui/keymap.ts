// Which command a key means. Knows the table and nothing of what commands do.
import { nearestWord } from "../kit/nearest.ts";
import { screenCommands, type ScreenCommand } from "./commands.ts";

export function commandOfKey(name: string): ScreenCommand | undefined {
  return screenCommands.find((command) => command.keys?.includes(name) === true);
}

export function commandOfLeader(name: string): ScreenCommand | undefined {
  return screenCommands.find((command) => command.leader === name);
}

/** Whether this key may be the first of a pair. */
export function beginsPair(name: string): boolean {
  return screenCommands.some((command) => command.keys?.some((key) => key.length === 2 && key[0] === name && key[1] === name) === true);
}

/** Any beginning that means one command is enough: `:q`. */
export function commandOfWord(word: string): ScreenCommand | { near: string | null } {
  const typed = screenCommands.filter((command) => command.typed !== undefined);
  const exact = typed.find((command) => command.name === word);
  const begun = typed.filter((command) => word !== "" && command.name.startsWith(word));
  const names = typed.map((command) => command.name);
  return exact ?? (begun.length === 1 && begun[0] !== undefined ? begun[0] : { near: nearestWord(word, names) });
}
