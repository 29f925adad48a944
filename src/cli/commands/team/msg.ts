// skein msg: sends and reads messages of a team member. Uses only files: no session, no store, no socket.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { replaceFile } from "../../../kit/files/replace-file.ts";
import { Fault, messageOf } from "../../../protocol/api/error.ts";
import { messageRecord, messageKinds, messageText, priorities, type SentMessage } from "../../../protocol/team/mail.ts";
import { checkVerb, jsonFlag, usageLine } from "../../parse/args.ts";
import type { Args, Command, CommandContext } from "../../parse/command.ts";
import { readMemberEnv, postMail, readInbox, sharedPath, readRoster, type MemberEnv } from "./member-env.ts";
import { jsonText } from "../../print/json.ts";
import { stripControls, printable, styleOf } from "../../terminal/style.ts";
import { tableText } from "../../terminal/table.ts";
import { warningText } from "../../print/print-fault.ts";

export const msg: Command = {
  name: "msg",
  summary: "inside a team: send messages to other members, and read yours",
  usage: "send --to <who> <text|-> | read [--all] | list [--json]",
  positionals: { min: 1, max: 2 },
  verbs: ["send", "read", "list"],
  flags: [
    { name: "to", value: "who", repeat: true, summary: "a member's name or id, a role, all, person" },
    { name: "kind", value: "kind", summary: `the kind of message: ${messageKinds.join(", ")}` },
    { name: "priority", value: "priority", choices: [...priorities, "medium", "critical"], summary: "the urgency of the message" },
    { name: "subject", value: "text", summary: "the subject in one line" },
    { name: "reply-to", value: "id", summary: "the message to reply to" },
    { name: "attach", value: "path", repeat: true, summary: "attach a file of the shared context or of the workspace" },
    { name: "expect-reply", summary: "ask for an answer" },
    { name: "all", summary: "with read: also messages that were read before" },
    jsonFlag,
  ],
  notes: `\`send\` prints the id of the message. The recipients get it at their next step.
\`read\` prints unread messages, the oldest first. \`list\` lists the members and all messages.

Examples:
  skein msg send --to architect --kind question "which port?"
  git diff | skein msg send --to all_reviewers --kind review -
  skein msg read`,
  run: runMsg,
};

type Verb = {
  positionals: number;
  flags: readonly string[];
  run: (member: MemberEnv, args: Args, ctx: CommandContext) => Promise<string>;
};

const verbs: Record<string, Verb> = {
  send: { positionals: 2, flags: ["to", "kind", "priority", "subject", "reply-to", "attach", "expect-reply", "json"], run: send },
  read: { positionals: 1, flags: ["all", "json"], run: read },
  list: { positionals: 1, flags: ["json"], run: list },
};

async function runMsg(args: Args, ctx: CommandContext): Promise<number> {
  const verb = verbs[args.positionals[0]!]!;
  checkVerb(msg, args, verb);
  ctx.out.write(await verb.run(readMemberEnv(ctx, "msg"), args, ctx));
  return 0;
}

async function send(member: MemberEnv, args: Args, ctx: CommandContext): Promise<string> {
  const { to, kind, priority, subject } = args.flags;
  const text = args.positionals[1];
  if (to === undefined) throw new Fault("usage", "msg send needs --to <who>", { hint: usageLine(msg) });
  if (text === undefined && subject === undefined)
    throw new Fault("usage", "msg send needs a text, or - to read it from stdin", { hint: usageLine(msg) });
  const body = text === "-" ? await ctx.stdin.text({ wait: true }) : (text ?? "");
  const attachments = (args.flags["attach"] ?? []) as string[];
  const value = {
    to,
    kind,
    priority,
    subject,
    body,
    attachments: attachments.map((path) => sharedPath(path, member, ctx)),
    reply_to: args.flags["reply-to"],
    requires_response: args.flags["expect-reply"] === true,
  };
  const id = postMail(member, value, ctx);
  return args.flags["json"] ? jsonText({ id }) : `${id}\n`;
}

async function read(member: MemberEnv, args: Args, ctx: CommandContext): Promise<string> {
  const inbox = readInbox(member);
  const messages = args.flags["all"] ? inbox : inbox.filter(({ name }) => name > lastRead(member));
  const last = inbox.at(-1);
  if (last !== undefined) saveLastRead(member, last.name, ctx);
  if (args.flags["json"]) return jsonText(messages.map(({ sent }) => messageRecord(sent, member.team)));
  if (messages.length === 0) return `no ${args.flags["all"] ? "" : "new "}messages\n`;
  return messages.map(({ sent }) => `${messageText(sent).split("\n").map(printable).join("\n")}\n`).join("\n");
}

async function list(member: MemberEnv, args: Args, ctx: CommandContext): Promise<string> {
  const team = readRoster(member);
  const lastReadName = lastRead(member);
  const messages = readInbox(member).map(({ name, sent }) => ({ ...sent, isRead: name <= lastReadName }));
  if (args.flags["json"]) return jsonText({ agent: member.agent, members: team?.members ?? [], messages: messages.map(headerRecord) });
  const style = styleOf(ctx.out);
  const nameOf = (id: string): string => team?.members.find((entry) => entry.id === id)?.key ?? id;
  const members = (team?.members ?? []).map(({ id, key, role, agent, state }) =>
    [key, role, agent ?? "", state ?? "", id === member.agent ? `${id} (you)` : id].map(stripControls),
  );
  const rows = messages.map(({ id, from, kind, priority, subject, body, isRead }) =>
    [isRead ? " " : "*", id, nameOf(from), kind, priority, subject || body].map(stripControls),
  );
  const table = (titles: string[], cells: string[][]): string =>
    tableText(cells, { columns: titles.map((title) => ({ title })), width: ctx.out.columns, paintTitle: style.dim });
  const tables = [table(["MEMBER", "ROLE", "AGENT", "STATE", "ID"], members), table(["", "ID", "FROM", "KIND", "PRIORITY", "ABOUT"], rows)];
  return tables.filter((text) => text !== "").join("\n") || "no members and no messages\n";
}

function headerRecord({ id, from, kind, priority, subject, sentAt, isRead }: SentMessage & { isRead: boolean }) {
  return { id, from, type: kind, priority, subject, timestamp: new Date(sentAt).toISOString(), isRead };
}

/** The name of the last file that was read. File names in an inbox sort by time, so all earlier ones were read too. */
function lastRead(member: MemberEnv): string {
  try {
    return readFileSync(lastReadFile(member), "utf8");
  } catch {
    return "";
  }
}

function saveLastRead(member: MemberEnv, name: string, ctx: CommandContext): void {
  try {
    replaceFile(lastReadFile(member), name, { file: 0o600, directory: 0o700 });
  } catch (error) {
    ctx.err.write(warningText(`these messages stay marked as unread: ${messageOf(error)}`));
  }
}

/** A member can write only to its outbox. Files that begin with a dot are not sent. */
function lastReadFile({ outbox }: MemberEnv): string {
  return join(outbox, ".read");
}
