// Checks the configuration key `keys`: a preset, and the user's own bindings. Throws a Fault that suggests the nearest name.
import { nearestWord } from "../../kit/text/nearest-word.ts";
import { Fault } from "../../protocol/api/error.ts";
import { keyPresets, type KeyPreset, type Settings } from "../../protocol/api/settings.ts";
import { slashNameOf } from "../../protocol/api/slash-commands.ts";
import { screenCommands } from "./commands.ts";

export type Bindings = {
  preset: KeyPreset;
  /** Bindings of the user: `ctrl+t`, `gg` or `space g` → the name of a command, or `none`. */
  own: Readonly<Record<string, string>>;
};

const namedKeys = new Set([
  ..."enter tab shift+tab backspace delete insert home end pageup pagedown up down left right".split(" "),
  ...Array.from({ length: 12 }, (_, index) => `f${index + 1}`),
]);
const fixedUses: Record<string, string> = { escape: "closes the open mode or overlay", space: "is the leader", "ctrl+c": "stops the turn" };

/** `config` is the name of a preset, or a map of keys with an optional entry `preset`. */
export function checkBindings(config: Settings["keys"]): Bindings {
  const { preset: presetName = "plain", ...map } = typeof config === "string" ? { preset: config } : config;
  const preset = keyPresets.find((name) => name === presetName);
  if (preset === undefined) {
    const nearest = nearestWord(presetName, keyPresets);
    throw new Fault("config", `keys: there is no preset "${presetName}"`, {
      hint: nearest === null ? `use ${keyPresets.join(" or ")}` : `did you mean "${nearest}"?`,
    });
  }
  const own = Object.entries(map).map(([key, name]) => [parseKey(key, preset), checkName(key, name)]);
  return { preset, own: Object.fromEntries(own) };
}

/** Whether a key types nothing, so that a command can have it while the user types. */
export function typesNothing(key: string): boolean {
  return /^(ctrl\+.*|f\d+|page(up|down)|shift\+tab)$/.test(key);
}

function checkName(key: string, name: string): string {
  const fullName = slashNameOf(name) ?? name;
  if (name === "none" || screenCommands.some((command) => command.name === fullName)) return fullName;
  const names = screenCommands.map((command) => command.name);
  const nearest = nearestWord(name, names);
  throw new Fault("config", `keys: "${key}" names the command "${name}", which does not exist`, {
    hint: nearest === null ? "docs/KEYS.md lists the names" : `did you mean "${nearest}"?`,
  });
}

/** The internal name of a key: `Page Down` is `pagedown`, `Ctrl+T` is `ctrl+t`. A single character stays as it is. */
function parseKey(text: string, preset: KeyPreset): string {
  const [, leader, key = ""] = /^(space\s+)?(.*)$/is.exec(text.trim()) ?? [];
  const name = nameOfKey(key);
  const fixedUse = leader === undefined ? fixedUses[name] : undefined;
  if (fixedUse !== undefined) throw new Fault("config", `keys: "${text}" ${fixedUse} and can't be bound`);
  if (!isKey(name) || (leader !== undefined && isPair(name)))
    throw new Fault("config", `keys: "${text}" is not a key`, { hint: keyHint(name) });
  const parsed = leader === undefined ? name : `space ${name}`;
  if (preset === "vi" || typesNothing(parsed)) return parsed;
  throw new Fault("config", `keys: "${text}" types text, because the preset "plain" has no modes`, {
    hint: 'bind a key such as "ctrl+t" or "f2", or add "preset": "vi"',
  });
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
