// Renders the manual page in roff from the tables of commands and flags.
import { exitCodes, faultExitCodes } from "../../protocol/api/error.ts";
import { usageLine } from "./args.ts";
import type { Command, Flag } from "./command.ts";
import { flagGroupsOf } from "./help.ts";

type CommandGroup = { title: string | null; commands: readonly Command[] };

export function manPage(groups: readonly CommandGroup[], version: string): string {
  const sections = groups.map(({ title, commands }) => section(title ?? "inside a team", commands.map(commandText).join("")));
  return `.TH SKEIN 1 "" "skein ${escape(version)}"
.SH NAME
skein \\- one command line for every coding agent
.SH SYNOPSIS
.B skein
[flags] ["task"]
.br
.B skein
<command> [flags]
.SH DESCRIPTION
In a terminal, skein opens a full screen with the project's current session. A task is sent to the agent at once.
Without a terminal, and with \\fB\\-p\\fR, skein runs the task and prints the answer.
${sections.join("")}${section("exit status", exitText())}.SH SEE ALSO
The directory docs of the installation.
`;
}

function section(title: string, text: string): string {
  return `.SH ${escape(title.toUpperCase())}\n${text}`;
}

function commandText(command: Command): string {
  const groups = flagGroupsOf(command).map(({ title, flags }, _index, all) => {
    const heading = all.length === 1 ? "" : `.PP\n.I ${escape(title)}\n`;
    return `${heading}${flags.map(flagText).join("")}`;
  });
  const notes = command.notes === undefined ? "" : `.PP\n${notesText(command.notes.trim())}`;
  return `.SS ${escape(usageLine(command))}\n${escape(command.summary)}.\n${groups.join("")}${notes}`;
}

function flagText({ name, short, value, isValueOptional, choices, summary }: Flag): string {
  const words = `${short === undefined ? "" : `\\fB\\-${short}\\fR, `}\\fB${escape(`--${name}`)}\\fR`;
  const argument = value === undefined ? "" : isValueOptional === true ? ` [\\fI${escape(value)}\\fR]` : ` \\fI${escape(value)}\\fR`;
  const values = choices === undefined ? "" : ` (${choices.join(", ")})`;
  return `.TP\n${words}${argument}\n${escape(`${summary}${values}`)}\n`;
}

/** Indented lines are examples and stay as they are. */
function notesText(notes: string): string {
  const blocks = notes.split(/\n(?=\s)|(?<=\n {1,8}.*)\n(?=\S)|\n\n/).filter((block) => block.trim() !== "");
  return blocks.map((block) => (/^\s/.test(block) ? `.nf\n${escape(block)}\n.fi\n` : `.PP\n${escape(block)}\n`)).join("");
}

function exitText(): string {
  const codes = Object.entries({ ...exitCodes, usage: faultExitCodes.usage, config: faultExitCodes.config }).toSorted(
    ([, a], [, b]) => a - b,
  );
  return codes.map(([status, code]) => `.TP\n.B ${code}\n${escape(status)}\n`).join("");
}

/** A backslash, a leading dot or quote and a dash have a meaning in roff. */
function escape(text: string): string {
  return text
    .replaceAll("\\", "\\e")
    .replaceAll("-", "\\-")
    .replace(/^(?=[.'])/gm, "\\&");
}
