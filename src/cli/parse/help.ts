// Renders help in 80 columns from the tables of commands and flags.
import { usageLine } from "./args.ts";
import type { Command, Flag } from "./command.ts";

const width = 80;

export function commandHelp(command: Command): string {
  const aliases = command.aliases?.length ? `\nAlso: ${command.aliases.map((alias) => `skein ${alias}`).join(", ")}\n` : "";
  const flags = [...command.flags, helpFlag].map((flag) => [flagWords(flag), flagText(flag)] as const);
  const notes = command.notes ? `\n${paragraphs(command.notes.trim())}\n` : "";
  return `${sentence(command.summary)}\n\nUsage: ${wrap(usageLine(command), width - 9).join("\n         ")}\n${aliases}\nFlags:\n${twoColumns(flags)}${notes}`;
}

export function mainHelp(commands: readonly Command[], version: string): string {
  const rows = commands.map((command) => [command.name, command.summary] as const);
  return `skein ${version}: one command line for every coding agent

Usage: skein <command> [flags]
       skein -p "task" [flags]      the same as skein run "task"

Commands:
${twoColumns(rows)}
${examples}
\`skein <command> --help\` shows the help of a command.
`;
}

const helpFlag: Flag = { name: "help", short: "h", summary: "show this help" };

const examples = `Examples:
  skein run "explain what this project does"
  git diff | skein run "review this change" --tool-level none
  skein run "continue" --continue
  skein doctor
`;

function flagWords(flag: Flag): string {
  const value = flag.isValueOptional === true ? ` [${flag.value}]` : ` <${flag.value}>`;
  return `${flag.short ? `-${flag.short}, ` : "    "}--${flag.name}${flag.value === undefined ? "" : value}`;
}

function flagText(flag: Flag): string {
  const choices = flag.choices ? ` [${flag.choices.join("|")}]` : "";
  return `${flag.summary}${choices}${flag.repeat ? " (may be repeated)" : ""}`;
}

/** Two columns. A long left side gets its own line. */
function twoColumns(rows: readonly (readonly [string, string])[]): string {
  const leftWidth = Math.min(30, Math.max(...rows.map(([left]) => left.length)));
  const indent = " ".repeat(leftWidth + 4);
  return rows
    .map(([left, text]) => {
      const lines = wrap(text, width - indent.length);
      const head = left.length > leftWidth ? `  ${left}\n${indent}` : `  ${left.padEnd(leftWidth)}  `;
      return `${head}${lines.join(`\n${indent}`)}`.trimEnd() + "\n";
    })
    .join("");
}

/** Joins consecutive lines of prose to one paragraph. Indented lines are examples and stay as they are. */
function paragraphs(text: string): string {
  return text
    .replace(/(?<=^\S.*)\n(?=\S)/gm, " ")
    .split("\n")
    .flatMap((line) => (line.startsWith(" ") ? [line] : wrap(line, width)))
    .join("\n");
}

function wrap(text: string, columns: number): string[] {
  return Bun.wrapAnsi(text, columns).split("\n");
}

function sentence(text: string): string {
  return `${text[0]?.toUpperCase()}${text.slice(1)}${text.endsWith(".") ? "" : "."}`;
}
