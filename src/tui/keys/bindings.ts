// The keys of the configuration key `keys`, checked: what is no key or no command is told with the nearest.
import { nearestWord } from "../../kit/text/nearest-word.ts";
import { Fault } from "../../protocol/api/error.ts";
import { screenCommands } from "./commands.ts";

/** The person's own keys and what they mean: `ctrl+t`, `gg`, `space g` → the name of a command, or `none`. */
export type Bindings = Readonly<Record<string, string>>;

const namedKeys = new Set([
  ..."enter tab backspace delete insert home end pageup pagedown up down left right".split(" "),
  ...Array.from({ length: 12 }, (_, at) => `f${at + 1}`),
]);
const fixed: Record<string, string> = { escape: "leaves what is open", space: "is the leader", "ctrl+c": "stops the turn" };

export function checkBindings(written: Readonly<Record<string, string>>): Bindings {
  return Object.fromEntries(Object.entries(written).map(([key, name]) => [parsedKey(key), checkedName(key, name)]));
}

function checkedName(key: string, name: string): string {
  if (name === "none" || screenCommands.some((command) => command.name === name)) return name;
  const near = nearestWord(
    name,
    screenCommands.map((command) => command.name),
  );
  throw new Fault("config", `keys: "${key}" names the command "${name}", which does not exist`, {
    hint: near === null ? "docs/KEYS.md lists the names" : `did you mean "${near}"?`,
  });
}

/** As keys are called on the screen: `Page Down` is `pagedown`, `Ctrl+T` is `ctrl+t`; a single character stays as it is. */
function parsedKey(written: string): string {
  const [, leader, key = ""] = /^(space\s+)?(.*)$/is.exec(written.trim()) ?? [];
  const name = nameOfKey(key);
  const taken = leader === undefined ? fixed[name] : undefined;
  if (taken !== undefined) throw new Fault("config", `keys: "${written}" ${taken} and can't mean anything else`);
  if (!isKey(name) || (leader !== undefined && isPair(name)))
    throw new Fault("config", `keys: "${written}" is no key`, { hint: keyHint(name) });
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
  const [first, second, ...more] = name;
  return first !== undefined && first === second && more.length === 0;
}

function keyHint(name: string): string {
  const near = nearestWord(
    name,
    [...namedKeys].flatMap((key) => [key, `ctrl+${key}`]),
  );
  return near === null ? 'a key is written like "J", "gg", "ctrl+t", "pagedown", "f2" or "Space g"' : `did you mean "${near}"?`;
}
