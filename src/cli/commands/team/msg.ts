// skein msg: a member of a team writes to others and reads what came for it. Only files: no session, no store, no socket.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { replaceFile } from "../../../kit/files/replace-file.ts";
import { Fault, messageOf } from "../../../protocol/api/error.ts";
import { messageRecord, messageKinds, messageText, priorities, type SentMessage } from "../../../protocol/team/mail.ts";
import { jsonFlag, usageLine } from "../../parse/args.ts";
import type { Args, Command, CommandContext } from "../../parse/command.ts";
import { memberFiles, postMail, readInbox, sharedPath, readRoster, type MemberFiles } from "./member-files.ts";
import { jsonText } from "../../print/json.ts";
import { stripControls, printable, styleOf } from "../../terminal/style.ts";
import { tableText } from "../../terminal/table.ts";
import { warningText } from "../../print/print-fault.ts";

export const msg: Command = {
  name: "msg",
  summary: "inside a team: write to other members, read what came",
  usage: "send --to <who> <text|-> | read [--all] | list [--json]",
  positionals: { min: 1, max: 2 },
  verbs: ["send", "read", "list"],
  flags: [
    { name: "to", value: "who", repeat: true, summary: "a member's name or id, a role, all, person" },
    { name: "kind", value: "kind", summary: `what it is meant as: ${messageKinds.join(", ")}` },
    { name: "priority", value: "priority", choices: [...priorities, "medium", "critical"], summary: "how soon it matters" },
    { name: "subject", value: "text", summary: "what it is about, in a line" },
    { name: "reply-to", value: "id", summary: "the message that it answers" },
    { name: "attach", value: "path", repeat: true, summary: "a file of the shared context or of the workspace" },
    { name: "expect-reply", summary: "ask for an answer" },
    { name: "all", summary: "also what was read before" },
    jsonFlag,
  ],
  notes: `\`send\` prints the id of the message. It is put before its readers at their next step.
\`read\` shows what was not read before, the oldest first. \`list\` shows the members and all that came.

Examples:
  skein msg send --to architect --kind question "which port?"
  git diff | skein msg send --to all_reviewers --kind review -
  skein msg read`,
  run: runMsg,
};

type Verb = { words: number; flags: readonly string[]; run: (place: MemberFiles, args: Args, ctx: CommandContext) => Promise<string> };

const verbs: Record<string, Verb> = {
  send: { words: 2, flags: ["to", "kind", "priority", "subject", "reply-to", "attach", "expect-reply"], run: send },
  read: { words: 1, flags: ["all"], run: read },
  list: { words: 1, flags: [], run: list },
};

async function runMsg(args: Args, ctx: CommandContext): Promise<number> {
  const name = args.positionals[0] as string;
  const verb = verbs[name] as Verb;
  const odd = Object.keys(args.flags).find((flag) => flag !== "json" && !verb.flags.includes(flag));
  if (odd !== undefined) throw new Fault("usage", `--${odd} does not go with msg ${name}`, { hint: usageLine(msg) });
  const extra = args.positionals[verb.words];
  if (extra !== undefined) throw new Fault("usage", `msg ${name}: "${extra}" is too much`, { hint: usageLine(msg) });
  ctx.out.write(await verb.run(memberFiles(ctx, "msg"), args, ctx));
  return 0;
}

async function send(place: MemberFiles, args: Args, ctx: CommandContext): Promise<string> {
  const { to, kind, priority, subject } = args.flags;
  const given = args.positionals[1];
  if (to === undefined) throw new Fault("usage", "msg send needs --to <who>", { hint: usageLine(msg) });
  if (given === undefined && subject === undefined)
    throw new Fault("usage", "msg send needs a text, or - to read it from stdin", { hint: usageLine(msg) });
  const body = given === "-" ? await ctx.stdin.text({ wait: true }) : (given ?? "");
  const attached = (args.flags["attach"] ?? []) as string[];
  const value = {
    to,
    kind,
    priority,
    subject,
    body,
    attachments: attached.map((path) => sharedPath(path, place, ctx)),
    reply_to: args.flags["reply-to"],
    requires_response: args.flags["expect-reply"] === true,
  };
  const id = postMail(place, value, ctx);
  return args.flags["json"] ? jsonText({ id }) : `${id}\n`;
}

async function read(place: MemberFiles, args: Args, ctx: CommandContext): Promise<string> {
  const all = readInbox(place);
  const shown = args.flags["all"] ? all : all.filter(({ name }) => name > lastRead(place));
  const last = all.at(-1);
  if (last !== undefined) remember(place, last.name, ctx);
  if (args.flags["json"]) return jsonText(shown.map(({ sent }) => messageRecord(sent, place.team)));
  if (shown.length === 0) return `no ${args.flags["all"] ? "" : "new "}messages\n`;
  return shown.map(({ sent }) => `${messageText(sent).split("\n").map(printable).join("\n")}\n`).join("\n");
}

async function list(place: MemberFiles, args: Args, ctx: CommandContext): Promise<string> {
  const team = readRoster(place);
  const read = lastRead(place);
  const messages = readInbox(place).map(({ name, sent }) => ({ ...sent, isRead: name <= read }));
  if (args.flags["json"]) return jsonText({ agent: place.agent, members: team?.members ?? [], messages: messages.map(heading) });
  const style = styleOf(ctx.out);
  const nameOf = (id: string): string => team?.members.find((member) => member.id === id)?.key ?? id;
  const members = (team?.members ?? []).map(({ id, key, role, agent, state }) =>
    [key, role, agent ?? "", state ?? "", id === place.agent ? `${id} (you)` : id].map(stripControls),
  );
  const rows = messages.map(({ id, from, kind, priority, subject, body, isRead }) =>
    [isRead ? " " : "*", id, nameOf(from), kind, priority, subject || body].map(stripControls),
  );
  const titled = (titles: string[], cells: string[][]): string =>
    tableText(cells, { columns: titles.map((title) => ({ title })), width: ctx.out.columns, paintTitle: style.dim });
  const parts = [
    titled(["MEMBER", "ROLE", "AGENT", "STATE", "ID"], members),
    titled(["", "ID", "FROM", "KIND", "PRIORITY", "ABOUT"], rows),
  ];
  return parts.filter((part) => part !== "").join("\n") || "no members are known, and no messages came\n";
}

function heading({ id, from, kind, priority, subject, sentAt, isRead }: SentMessage & { isRead: boolean }) {
  return { id, from, type: kind, priority, subject, timestamp: new Date(sentAt).toISOString(), isRead };
}

/** Names of files in an inbox sort by time: all up to the last one that was read were read. */
function lastRead(place: MemberFiles): string {
  try {
    return readFileSync(markOf(place), "utf8");
  } catch {
    return "";
  }
}

function remember(place: MemberFiles, name: string, ctx: CommandContext): void {
  try {
    replaceFile(markOf(place), name, { file: 0o600, directory: 0o700 });
  } catch (error) {
    ctx.err.write(warningText(`what was read is not remembered: ${messageOf(error)}`));
  }
}

/** The one place that a member may write; what begins with a dot is no mail. */
function markOf({ outbox }: MemberFiles): string {
  return join(outbox, ".read");
}
