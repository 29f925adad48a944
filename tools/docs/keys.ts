// Prints docs/KEYS.md: the prose of keys.md with the tables of commands of both presets, and of the panels.
import { keyPresets, type KeyPreset } from "../../src/protocol/api/settings.ts";
import { screenCommands } from "../../src/tui/keys/commands.ts";
import { fixedKeys } from "../../src/tui/keys/fixed-keys.ts";
import { panelHelp, keysText } from "../../src/tui/keys/help.ts";
import { fillTemplate, markdownTable } from "./template.ts";

export function printKeysDocs(): string {
  const panels = panelHelp.map(({ title, lines }) => {
    const rows = lines.map(([keys, summary]) => [quoteKeys(keys), summary]);
    return `## ${title}\n\n${markdownTable(["keys", "effect"], rows)}`;
  });
  const tables = keyPresets.map((preset) => [`${preset}-keys`, presetTable(preset)]);
  return fillTemplate("keys", { ...Object.fromEntries(tables), panels: panels.join("\n\n") });
}

function presetTable(preset: KeyPreset): string {
  const commands = screenCommands.flatMap((command) => {
    const keys = keysText(command, { preset, own: {} });
    return keys === "" ? [] : [[quoteKeys(keys), command.summary, `\`${command.name}\``]];
  });
  const fixed = fixedKeys[preset].map(({ keys, summary }) => [quoteKeys(keys), summary, ""]);
  return markdownTable(["keys", "effect", "name"], [...fixed, ...commands]);
}

function quoteKeys(keys: string): string {
  return keys
    .split(", ")
    .map((key) => `\`${key.replaceAll("|", "\\|")}\``)
    .join(", ");
}
