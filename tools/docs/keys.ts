// Prints docs/KEYS.md: the prose of keys.md with the tables of commands and panels.
import { fixedKeys, screenCommands } from "../../src/tui/keys/commands.ts";
import { panelHelp, keysText } from "../../src/tui/keys/help.ts";
import { fillTemplate, markdownTable } from "./template.ts";

export function printKeysDocs(): string {
  const commands = [
    ...fixedKeys.map(({ keys, summary }) => [quoteKeys(keys), summary, ""]),
    ...screenCommands.map((command) => [quoteKeys(keysText(command, {})), command.summary, `\`${command.name}\``]),
  ];
  const panels = panelHelp.map(({ title, lines }) => {
    const rows = lines.map(([keys, summary]) => [quoteKeys(keys), summary]);
    return `## ${title}\n\n${markdownTable(["keys", "effect"], rows)}`;
  });
  return fillTemplate("keys", { keys: [markdownTable(["keys", "effect", "name"], commands), ...panels].join("\n\n") });
}

function quoteKeys(keys: string): string {
  return keys
    .split(", ")
    .map((key) => `\`${key.replaceAll("|", "\\|")}\``)
    .join(", ");
}
