// Which command a key means: one's own keys first, then those of the table. Knows nothing of what commands do.
import { nearestWord } from "../../kit/text/nearest-word.ts";
import type { Bindings } from "./bindings.ts";
import { screenCommands, type ScreenCommand } from "./commands.ts";

export function commandOfKey(bindings: Bindings, key: string): ScreenCommand | undefined {
  const own = bindings[key];
  if (own !== undefined) return screenCommands.find((command) => command.name === own);
  return screenCommands.find((command) => command.keys?.includes(key) === true);
}

export function commandOfLeader(bindings: Bindings, key: string): ScreenCommand | undefined {
  const own = bindings[`space ${key}`];
  if (own !== undefined) return screenCommands.find((command) => command.name === own);
  return screenCommands.find((command) => command.leader === key);
}

/** Of the commands whose keys also work while a message is being typed; a key of one's own does if it types nothing. */
export function commandEverywhere(bindings: Bindings, key: string): ScreenCommand | undefined {
  const command = commandOfKey(bindings, key);
  const isOwn = bindings[key] !== undefined && /^(ctrl\+.*|f\d+|page(up|down))$/.test(key);
  return isOwn || command?.everywhere === true ? command : undefined;
}

/** Whether this key may be the first of a pair. */
export function beginsPair(bindings: Bindings, key: string): boolean {
  return Array.from(key).length === 1 && commandOfKey(bindings, key + key) !== undefined;
}

/** The keys that mean a command, in Normal mode and after Space. */
export function keysOf(bindings: Bindings, command: ScreenCommand): { keys: string[]; leaders: string[] } {
  const own = Object.keys(bindings).filter((key) => bindings[key] === command.name);
  const leaders = command.leader === undefined ? [] : [`space ${command.leader}`];
  const all = [...own, ...[...(command.keys ?? []), ...leaders].filter((key) => bindings[key] === undefined)];
  const [keys, afterSpace] = [all.filter((key) => !key.startsWith("space ")), all.filter((key) => key.startsWith("space "))];
  return { keys, leaders: afterSpace.map((key) => key.slice("space ".length)) };
}

/** What Tab makes of the beginning of a command: as far as all that fit agree, and these. */
export function completedWord(word: string): { text: string; fitting: string[] } {
  const fitting = screenCommands.flatMap(({ name, typed }) => (typed !== undefined && name.startsWith(word) ? [name] : []));
  const [first = word, ...others] = fitting;
  let shared = first.length;
  while (others.some((other) => !other.startsWith(first.slice(0, shared)))) shared -= 1;
  return { text: fitting.length === 1 ? `${first} ` : first.slice(0, shared), fitting };
}

/** Any beginning that means one command is enough: `:q`. */
export function commandOfWord(word: string): ScreenCommand | { near: string | null } {
  const typed = screenCommands.filter((command) => command.typed !== undefined);
  const exact = typed.find((command) => command.name === word);
  const begun = typed.filter((command) => word !== "" && command.name.startsWith(word));
  const names = typed.map((command) => command.name);
  return exact ?? (begun.length === 1 && begun[0] !== undefined ? begun[0] : { near: nearestWord(word, names) });
}
