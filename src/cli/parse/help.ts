// Renders help in 80 columns from the tables of commands and flags.
import { usageLine } from "./args.ts";
import type { Command, Flag } from "./command.ts";

const width = 80;

export function commandHelp(command: Command): string {
  const aliases = command.aliases?.length ? `\nAlso: ${command.aliases.map((alias) => `skein ${alias}`).join(", ")}\n` : "";
  const groups = flagGroupsOf(command);
  const leftWidth = columnWidth(groups.flatMap(({ flags }) => flags.map(flagWords)));
  const flags = groups.map(({ title, flags }) => {
    const rows = flags.map((flag) => [flagWords(flag), flagText(flag)] as const);
    return `${sentenceStart(title)}:\n${twoColumns(rows, leftWidth)}`;
  });
  const notes = command.notes ? `\n${paragraphs(command.notes.trim())}\n` : "";
  return `${sentence(command.summary)}\n\nUsage: ${wrap(usageLine(command), width - 9).join("\n         ")}\n${aliases}\n${flags.join("\n")}${notes}`;
}

/** The flags in the groups of the command. Flags in no group are the last group. */
export function flagGroupsOf({ flags, flagGroups = [] }: Command): { title: string; flags: Flag[] }[] {
  const find = (names: readonly string[]) => names.flatMap((name) => flags.find((flag) => flag.name === name) ?? []);
  const groups = flagGroups.map(({ title, names }) => ({ title, flags: find(names) }));
  const grouped = new Set(groups.flatMap((group) => group.flags));
  const others = {
    title: flagGroups.length === 0 ? "flags" : "other flags",
    flags: [...flags.filter((flag) => !grouped.has(flag)), helpFlag],
  };
  return [...groups.filter((group) => group.flags.length > 0), others];
}

type CommandGroup = { title: string | null; commands: readonly Command[] };

/** A group without a title is listed only with `withHidden`. */
export function mainHelp(groups: readonly CommandGroup[], version: string, { withHidden = false } = {}): string {
  const listed = groups.flatMap(({ title, commands }) =>
    title === null && !withHidden ? [] : [{ title: title ?? "inside a team", commands }],
  );
  const leftWidth = columnWidth(listed.flatMap(({ commands }) => commands.map(({ name }) => name)));
  const texts = listed.map(({ title, commands }) => {
    const rows = commands.map((command) => [command.name, command.summary] as const);
    return `${sentenceStart(title)}:\n${twoColumns(rows, leftWidth)}`;
  });
  return `skein ${version}: one command line for every coding agent

Usage: skein [flags] ["task"]         the screen; without a terminal, run
       skein <command> [flags]

The first day:
${twoColumns(firstDay, columnWidth(firstDay.map(([left]) => left)))}
${texts.join("\n")}
\`skein <command> --help\` shows the help of a command.
`;
}

/** The commands that a newcomer needs. */
const firstDay = [
  ["skein", "open the screen"],
  ['skein "fix the tests"', "open the screen and send a task; `skein run` does it without a screen"],
  ["skein -c, skein -r", "continue the latest session, or choose one"],
  ["skein -m opus, skein -a codex", "with another model or agent"],
  ["skein list, skein show", "your sessions, and the tree of one"],
  ["skein undo", "take back the last turn, with its files"],
  ["skein fork", "try something else from here; the old branch stays"],
  ["skein models, skein agents", "which models and agents can be used"],
  ["skein auth login", "which key or sign-in each vendor needs"],
  ["skein doctor, skein demo", "check this machine; see skein work without a key"],
] as const;

const helpFlag: Flag = { name: "help", short: "h", summary: "show this help" };

function flagWords(flag: Flag): string {
  const value = flag.isValueOptional === true ? ` [${flag.value}]` : ` <${flag.value}>`;
  return `${flag.short ? `-${flag.short}, ` : "    "}--${flag.name}${flag.value === undefined ? "" : value}`;
}

function flagText(flag: Flag): string {
  const choices = flag.choices && !flag.takesOthers ? ` [${flag.choices.join("|")}]` : "";
  return `${flag.summary}${choices}${flag.repeat ? " (may be repeated)" : ""}`;
}

function columnWidth(texts: readonly string[]): number {
  return Math.min(30, Math.max(...texts.map((text) => text.length)));
}

/** Two columns. A long left side gets its own line. */
function twoColumns(rows: readonly (readonly [string, string])[], leftWidth: number): string {
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
  return `${sentenceStart(text)}${text.endsWith(".") ? "" : "."}`;
}

function sentenceStart(text: string): string {
  return `${text[0]?.toUpperCase()}${text.slice(1)}`;
}
