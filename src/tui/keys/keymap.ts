// Finds the command of a key: the user's bindings first, then the table of commands. Runs nothing.
import { nearestWord } from "../../kit/text/nearest-word.ts";
import { slashNameOf } from "../../protocol/api/slash-commands.ts";
import { typesNothing, type Bindings } from "./bindings.ts";
import { screenCommands, type ScreenCommand } from "./commands.ts";

export function commandOfKey({ preset, own }: Bindings, key: string): ScreenCommand | undefined {
  const userBinding = own[key];
  if (userBinding !== undefined) return screenCommands.find((command) => command.name === userBinding);
  return screenCommands.find((command) => presetKeys(preset, command).includes(key));
}

/** The keys of a command in a preset. A key that works everywhere is in both, unless `plain` names others. */
function presetKeys(preset: Bindings["preset"], { keys = [], plain, everywhere }: ScreenCommand): readonly string[] {
  if (preset === "vi") return keys;
  return plain ?? (everywhere === true ? keys : []);
}

/** The command of a key that also works while the user types. A user binding works there if its key types nothing. */
export function commandEverywhere(bindings: Bindings, key: string): ScreenCommand | undefined {
  const command = commandOfKey(bindings, key);
  const isUserBinding = bindings.own[key] !== undefined && typesNothing(key);
  return isUserBinding || bindings.preset === "plain" || command?.everywhere === true ? command : undefined;
}

/** Whether the key may be the first of a pair like `gg`. */
export function startsPair(bindings: Bindings, key: string): boolean {
  return Array.from(key).length === 1 && commandOfKey(bindings, key + key) !== undefined;
}

/** All keys of a command: the user's first, keys after Space last. */
export function keysOf({ preset, own }: Bindings, command: ScreenCommand): string[] {
  const userKeys = Object.keys(own).filter((key) => own[key] === command.name);
  const allKeys = [...userKeys, ...presetKeys(preset, command).filter((key) => own[key] === undefined)];
  return allKeys.toSorted((a, b) => Number(a.startsWith("space ")) - Number(b.startsWith("space ")));
}

/** Completes the beginning of a command name: the matching names, and their common prefix. */
export function completeCommandName(word: string): { text: string; matches: string[] } {
  const matches = screenCommands.flatMap(({ name, typed }) => (typed !== undefined && name.startsWith(word) ? [name] : []));
  const [first = word, ...others] = matches;
  let shared = first.length;
  while (others.some((name) => !name.startsWith(first.slice(0, shared)))) shared -= 1;
  return { text: matches.length === 1 ? `${first} ` : first.slice(0, shared), matches };
}

/** Finds a typed command by its name or alias, or by a prefix that only one command has: `:q`. */
export function commandOfWord(word: string): ScreenCommand | { nearest: string | null } {
  const typedCommands = screenCommands.filter((command) => command.typed !== undefined);
  const exact = typedCommands.find((command) => command.name === (slashNameOf(word) ?? word));
  const prefixMatches = typedCommands.filter((command) => word !== "" && command.name.startsWith(word));
  const names = typedCommands.map((command) => command.name);
  return exact ?? (prefixMatches.length === 1 && prefixMatches[0] !== undefined ? prefixMatches[0] : { nearest: nearestWord(word, names) });
}
