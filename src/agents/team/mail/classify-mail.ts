// What becomes of a file that lay in a member's outbox: a message with those that it reaches, a report, or a refusal.
// Who sent it is whose outbox it was; what it points at lies in the shared context or in the sender's workspace.
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

export function classifyMail(read: ParsedMail, claim: ClaimedFile, file: string, sender: MailSender, team: MailTeam): MailEntry {
  const { id, at } = claim;
  const from = sender.id;
  const refuse = (reason: string): MailEntry => ({ event: "message_refused", refused: { id, from, at, file, reason } });
  if (read.type === "refused") return refuse(read.reason);
  if (read.from !== null && !sender.names.includes(read.from))
    return refuse(`it says that it is from "${read.from}", and lay in the outbox of ${from}`);
  const places = [sender.workspace, team.shared].filter((place) => place !== null);
  const warnings = [...read.warnings];
  if (read.type === "report") {
    const report = withPaths(read.report, places, warnings);
    return typeof report === "string" ? refuse(report) : { event: "agent_reported", id, from, at, report, warnings };
  }
  const attachments: string[] = [];
  for (const path of read.message.attachments) {
    const found = resolvePath(path, places);
    if ("problem" in found) return refuse(found.problem);
    attachments.push(found.path);
  }
  const sent: SentMessage = { ...read.message, attachments, id, from, sentAt: at, ...routeMessage(read.message, from, team) };
  return { event: "message_sent", sent, warnings };
}

/** The report with absolute paths, or why it is refused. An output that is not there is only left out. */
function withPaths(report: Report, places: string[], warnings: string[]): Report | string {
  if (report.type === "artifact") {
    const found = resolvePath(report.path, places);
    return "problem" in found ? found.problem : { ...report, path: found.path };
  }
  if (report.type !== "complete") return report;
  const outputs: string[] = [];
  for (const path of report.outputs) {
    const found = resolvePath(path, places);
    if (!("problem" in found)) outputs.push(found.path);
    else if (found.isOutside) return found.problem;
    else warnings.push(found.problem);
  }
  return { ...report, outputs };
}

type ResolvedPath = { path: string } | { problem: string; isOutside: boolean };

function resolvePath(path: string, places: readonly string[]): ResolvedPath {
  const found = resolveContained(path, places);
  if ("path" in found) return found;
  const shown = `"${path.slice(0, 200)}"`;
  const isOutside = found.problem === "outside";
  return {
    problem: isOutside ? `${shown} is outside of the shared context and the sender's workspace` : `nothing is at ${shown}`,
    isOutside,
  };
}

/** What the sender is told when something of it did not arrive. */
export function deliveryNotice(entry: MailEntry): SentMessage | null {
  if (entry.event === "agent_reported") return null;
  const told = (id: string, at: number, to: string, subject: string, body: string): SentMessage => ({
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
    const { id, at, from, reason } = entry.refused;
    return told(id, at, from, "refused", `What you left as ${refusedFilesText(entry.refused)} was refused: ${reason}.`);
  }
  const { sent } = entry;
  // Those who have ended among many are told in the log.
  const missed = sent.undelivered.filter(({ to }) => sent.to.includes(to));
  if (missed.length === 0) return null;
  const lines = missed.map(({ to, reason }) => `${to}: ${reason}`);
  return told(sent.id, sent.sentAt, sent.from, "not delivered", `Your message ${sent.id} did not reach ${lines.join("; ")}.`);
}

/** What the sender is told who waited for it. */
export function deliveryText(entry: MailEntry): string {
  if (entry.event === "message_refused") throw new Fault("usage", entry.refused.reason);
  if (entry.event === "agent_reported") return "reported";
  const { id, delivered, undelivered } = entry.sent;
  const missed = undelivered.map(({ to, reason }) => `; not to ${to}: ${reason}`);
  return `message ${id} sent to ${delivered.join(", ")}${missed.join("")}`;
}
