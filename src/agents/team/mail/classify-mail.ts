// Classifies a file from a member's outbox as a message with its addressees, a report, or a refusal. The owner of the outbox
// is the sender. Paths must be in the shared context or in the sender's workspace.
import { resolveContained } from "../../../kit/files/contained-path.ts";
import { Fault } from "../../../protocol/api/error.ts";
import type { ParsedMail } from "../../../protocol/team/read-mail.ts";
import { routeMessage, type AddressableMember } from "../../../protocol/team/address.ts";
import { refusedFilesText, skeinAddress, type SentMessage } from "../../../protocol/team/mail.ts";
import type { TeamEvent } from "../../../protocol/team/team.ts";
import type { ClaimedFile } from "./mailbox.ts";

/** The events that the mail of a team records. */
export type MailEvent = Extract<TeamEvent, { event: "message_sent" | "message_refused" | "agent_reported" | "artifact_created" }>;

/** `names` are the values of `from` that this sender may use. `workspace` is null for the user. */
export type MailSender = { names: readonly string[]; id: string; workspace: string | null };

export type MailTeam = { members: readonly AddressableMember[]; hasEnded: (id: string) => boolean; shared: string };

const mailEvents: readonly string[] = ["message_sent", "message_refused", "agent_reported", "artifact_created"];

export function isMailEvent(event: TeamEvent): event is MailEvent {
  return mailEvents.includes(event.event);
}

export function mailIdOf(event: MailEvent): string {
  if (event.event === "message_sent") return event.message.id;
  return event.event === "message_refused" ? event.refused.id : event.id;
}

/** The message of an event, and the notice to its sender if there is one. */
export function messagesOf(event: MailEvent): SentMessage[] {
  const notice = deliveryNotice(event);
  return [...(event.event === "message_sent" ? [event.message] : []), ...(notice === null ? [] : [notice])];
}

/** `file` is the name that the claimed file had in the outbox. */
export function classifyMail(
  mail: ParsedMail,
  { id, at, file }: ClaimedFile & { file: string },
  sender: MailSender,
  team: MailTeam,
): { event: MailEvent; warnings: string[] } {
  const from = sender.id;
  const refuse = (reason: string) => ({
    event: { event: "message_refused" as const, refused: { id, from, at, file, reason } },
    warnings: [],
  });
  if (mail.type === "refused") return refuse(mail.reason);
  if (mail.from !== null && !sender.names.includes(mail.from))
    return refuse(`it says that it is from "${mail.from}", but was in the outbox of ${from}`);
  const { paths, problem, warnings } = resolvePaths(mail, [sender.workspace, team.shared]);
  if (problem !== null) return refuse(problem);
  if (mail.type === "message") {
    const message: SentMessage = { ...mail.message, attachments: paths, id, from, sentAt: at, ...routeMessage(mail.message, from, team) };
    return { event: { event: "message_sent", message }, warnings };
  }
  const { report } = mail;
  const common = { agent: from, id };
  if (report.type === "artifact")
    return { event: { event: "artifact_created", ...common, path: paths[0]!, description: report.description }, warnings };
  const withPaths = report.type === "complete" ? { ...report, outputs: paths } : report;
  return { event: { event: "agent_reported", ...common, report: withPaths }, warnings };
}

type ResolvedPaths = { paths: string[]; problem: string | null; warnings: string[] };

/** Makes the paths in the mail absolute. A missing output of a `complete` report is left out with a warning; any other missing file is a problem. */
function resolvePaths(mail: Exclude<ParsedMail, { type: "refused" }>, directories: (string | null)[]): ResolvedPaths {
  const paths: string[] = [];
  const warnings = [...mail.warnings];
  const mayBeMissing = mail.type === "report" && mail.report.type === "complete";
  for (const path of pathsIn(mail)) {
    const resolved = resolveContained(
      path,
      directories.filter((directory) => directory !== null),
    );
    const quoted = `"${path.slice(0, 200)}"`;
    if ("path" in resolved) paths.push(resolved.path);
    else if (resolved.problem === "outside")
      return { paths, problem: `${quoted} is outside of the shared context and the sender's workspace`, warnings };
    else if (mayBeMissing) warnings.push(`there is no file ${quoted}`);
    else return { paths, problem: `there is no file ${quoted}`, warnings };
  }
  return { paths, problem: null, warnings };
}

function pathsIn(mail: Exclude<ParsedMail, { type: "refused" }>): string[] {
  if (mail.type === "message") return mail.message.attachments;
  if (mail.report.type === "artifact") return [mail.report.path];
  return mail.report.type === "complete" ? mail.report.outputs : [];
}

/** A notice to the sender of mail that was refused or did not reach an addressee; null if the mail reached all of them. */
function deliveryNotice(event: MailEvent): SentMessage | null {
  if (event.event === "message_refused") {
    const { refused } = event;
    const body = `Your file ${refusedFilesText(refused)} was refused: ${refused.reason}.`;
    return noticeTo({ ...refused, subject: "refused", body });
  }
  if (event.event !== "message_sent") return null;
  const { id, from, to, sentAt, undelivered } = event.message;
  // The sender gets no notice about an ended member that was addressed only by role or `all`.
  const unreached = undelivered.filter((addressee) => to.includes(addressee.to));
  const reasons = unreached.map((addressee) => `${addressee.to}: ${addressee.reason}`);
  const body = `Your message ${id} did not reach ${reasons.join("; ")}.`;
  return unreached.length === 0 ? null : noticeTo({ id, from, at: sentAt, subject: "not delivered", body });
}

/** `id`, `from` and `at` are those of the mail that the notice is about. */
function noticeTo({ id, from, at, subject, body }: { id: string; from: string; at: number; subject: string; body: string }): SentMessage {
  return {
    id: `n${id}`,
    from: skeinAddress,
    to: [from],
    sentAt: at,
    kind: "alert",
    priority: "normal",
    subject,
    body,
    attachments: [],
    replyTo: id,
    requiresResponse: false,
    delivered: [from],
    undelivered: [],
  };
}

/** The result that a tool call of the sender returns. Throws for refused mail. */
export function deliveryText(event: MailEvent): string {
  if (event.event === "message_refused") throw new Fault("usage", event.refused.reason);
  if (event.event !== "message_sent") return "reported";
  const { id, delivered, undelivered } = event.message;
  const exceptions = undelivered.map(({ to, reason }) => `; not to ${to}: ${reason}`);
  return `message ${id} sent to ${delivered.join(", ")}${exceptions.join("")}`;
}
