// Decides what a file from a member's outbox is: a message with its addressees, a report, or a refusal. The owner of the outbox
// is the sender. Paths must be in the shared context or in the sender's workspace.
import { resolveContained } from "../../../kit/files/contained-path.ts";
import { Fault } from "../../../protocol/api/error.ts";
import type { ParsedMail } from "../../../protocol/team/read-mail.ts";
import { routeMessage, type AddressableMember } from "../../../protocol/team/address.ts";
import { refusedFilesText, skeinAddress, type RefusedMessage, type SentMessage } from "../../../protocol/team/mail.ts";
import type { Report } from "../../../protocol/team/team.ts";
import type { ClaimedFile } from "./mailboxes.ts";

export type MailEntry =
  | { event: "message_sent"; sent: SentMessage; warnings: string[] }
  | { event: "agent_reported"; id: string; from: string; at: number; report: Report; warnings: string[] }
  | { event: "message_refused"; refused: RefusedMessage };

export type MailSender = { names: readonly string[]; id: string; workspace: string | null };

export type MailTeam = { members: readonly AddressableMember[]; hasEnded: (id: string) => boolean; shared: string };

/** Id, sender and time of an entry. */
export function headOf(entry: MailEntry): { id: string; from: string; at: number } {
  if (entry.event === "message_sent") return { id: entry.sent.id, from: entry.sent.from, at: entry.sent.sentAt };
  return entry.event === "message_refused" ? entry.refused : entry;
}

/** The message of an entry, and the notice to its sender if there is one. */
export function messagesOf(entry: MailEntry): SentMessage[] {
  const notice = deliveryNotice(entry);
  return [...(entry.event === "message_sent" ? [entry.sent] : []), ...(notice === null ? [] : [notice])];
}

/** `file` is its name in the outbox. */
export function classifyMail(mail: ParsedMail, source: ClaimedFile & { file: string }, sender: MailSender, team: MailTeam): MailEntry {
  const { id, at, file } = source;
  const from = sender.id;
  const refuse = (reason: string): MailEntry => ({ event: "message_refused", refused: { id, from, at, file, reason } });
  if (mail.type === "refused") return refuse(mail.reason);
  if (mail.from !== null && !sender.names.includes(mail.from))
    return refuse(`it says that it is from "${mail.from}", but was in the outbox of ${from}`);
  const directories = [sender.workspace, team.shared].filter((directory) => directory !== null);
  const warnings = [...mail.warnings];
  if (mail.type === "report") {
    const report = withAbsolutePaths(mail.report, directories, warnings);
    return typeof report === "string" ? refuse(report) : { event: "agent_reported", id, from, at, report, warnings };
  }
  const attachments: string[] = [];
  for (const path of mail.message.attachments) {
    const resolved = resolvePath(path, directories);
    if ("problem" in resolved) return refuse(resolved.problem);
    attachments.push(resolved.path);
  }
  const sent: SentMessage = { ...mail.message, attachments, id, from, sentAt: at, ...routeMessage(mail.message, from, team) };
  return { event: "message_sent", sent, warnings };
}

/** Returns a string if the report is refused. A missing output is only left out, with a warning. */
function withAbsolutePaths(report: Report, directories: string[], warnings: string[]): Report | string {
  if (report.type === "artifact") {
    const resolved = resolvePath(report.path, directories);
    return "problem" in resolved ? resolved.problem : { ...report, path: resolved.path };
  }
  if (report.type !== "complete") return report;
  const outputs: string[] = [];
  for (const path of report.outputs) {
    const resolved = resolvePath(path, directories);
    if (!("problem" in resolved)) outputs.push(resolved.path);
    else if (resolved.isOutside) return resolved.problem;
    else warnings.push(resolved.problem);
  }
  return { ...report, outputs };
}

type ResolvedPath = { path: string } | { problem: string; isOutside: boolean };

function resolvePath(path: string, directories: readonly string[]): ResolvedPath {
  const resolved = resolveContained(path, directories);
  if ("path" in resolved) return resolved;
  const quoted = `"${path.slice(0, 200)}"`;
  const isOutside = resolved.problem === "outside";
  return {
    problem: isOutside ? `${quoted} is outside of the shared context and the sender's workspace` : `there is no file ${quoted}`,
    isOutside,
  };
}

/** A notice to the sender of mail that was refused or did not reach an addressee; null if there is no need. */
function deliveryNotice(entry: MailEntry): SentMessage | null {
  if (entry.event === "agent_reported") return null;
  const { id, from: to, at } = headOf(entry);
  const notice = (subject: string, body: string): SentMessage => ({
    id: `n${id}`,
    from: skeinAddress,
    to: [to],
    sentAt: at,
    kind: "alert",
    priority: "normal",
    subject,
    body,
    attachments: [],
    replyTo: id,
    requiresResponse: false,
    delivered: [to],
    undelivered: [],
  });
  if (entry.event === "message_refused") {
    return notice("refused", `Your file ${refusedFilesText(entry.refused)} was refused: ${entry.refused.reason}.`);
  }
  const { sent } = entry;
  // Members of a role or `all` that have ended are only logged.
  const missed = sent.undelivered.filter((addressee) => sent.to.includes(addressee.to));
  if (missed.length === 0) return null;
  const lines = missed.map((addressee) => `${addressee.to}: ${addressee.reason}`);
  return notice("not delivered", `Your message ${sent.id} did not reach ${lines.join("; ")}.`);
}

/** The result for a sender that waits. Throws for refused mail. */
export function deliveryText(entry: MailEntry): string {
  if (entry.event === "message_refused") throw new Fault("usage", entry.refused.reason);
  if (entry.event === "agent_reported") return "reported";
  const { id, delivered, undelivered } = entry.sent;
  const missed = undelivered.map(({ to, reason }) => `; not to ${to}: ${reason}`);
  return `message ${id} sent to ${delivered.join(", ")}${missed.join("")}`;
}
