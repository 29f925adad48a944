// Checks the user's key bindings from the configuration key `keys`. Throws a Fault that suggests the nearest name.
import { nearestWord } from "../../kit/text/nearest-word.ts";
import { Fault } from "../../protocol/api/error.ts";
import { screenCommands } from "./commands.ts";

/** Bindings of the user: `ctrl+t`, `gg` or `space g` → the name of a command, or `none`. */
export type Bindings = Readonly<Record<string, string>>;

const namedKeys = new Set([
  ..."enter tab backspace delete insert home end pageup pagedown up down left right".split(" "),
  ...Array.from({ length: 12 }, (_, index) => `f${index + 1}`),
]);
const fixedUses: Record<string, string> = { escape: "closes the open mode or overlay", space: "is the leader", "ctrl+c": "stops the turn" };

export function checkBindings(config: Readonly<Record<string, string>>): Bindings {
  return Object.fromEntries(Object.entries(config).map(([key, name]) => [parseKey(key), checkName(key, name)]));
}

function checkName(key: string, name: string): string {
  if (name === "none" || screenCommands.some((command) => command.name === name)) return name;
  const names = screenCommands.map((command) => command.name);
  const nearest = nearestWord(name, names);
  throw new Fault("config", `keys: "${key}" names the command "${name}", which does not exist`, {
    hint: nearest === null ? "docs/KEYS.md lists the names" : `did you mean "${nearest}"?`,
  });
}

/** The internal name of a key: `Page Down` is `pagedown`, `Ctrl+T` is `ctrl+t`. A single character stays as it is. */
function parseKey(text: string): string {
  const [, leader, key = ""] = /^(space\s+)?(.*)$/is.exec(text.trim()) ?? [];
  const name = nameOfKey(key);
  const fixedUse = leader === undefined ? fixedUses[name] : undefined;
  if (fixedUse !== undefined) throw new Fault("config", `keys: "${text}" ${fixedUse} and can't be bound`);
  if (!isKey(name) || (leader !== undefined && isPair(name)))
    throw new Fault("config", `keys: "${text}" is not a key`, { hint: keyHint(name) });
  return leader === undefined ? name : `space ${name}`;
}

function nameOfKey(key: string): string {
  if (Array.from(key).length === 1 || isPair(key)) return key;
  return key.toLowerCase().replace(/\s+/g, "");
}

function isKey(name: string): boolean {
  const bare = name.replace(/^ctrl\+/, "");
  return namedKeys.has(bare) || /^[^\s\p{Cc}]$/u.test(bare) || isPair(name);
}

function isPair(name: string): boolean {
  return /^(.)\1$/su.test(name);
}

function keyHint(name: string): string {
  const names = [...namedKeys].flatMap((key) => [key, `ctrl+${key}`]);
  const nearest = nearestWord(name, names);
  return nearest === null ? 'a key is written like "J", "gg", "ctrl+t", "pagedown", "f2" or "Space g"' : `did you mean "${nearest}"?`;
}
