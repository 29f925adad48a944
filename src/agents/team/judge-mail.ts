// What becomes of a file that lay in a member's outbox: a message with those that it reaches, a report, or a refusal.
// Who sent it is whose outbox it was; what it points at lies in the shared context or in the sender's workspace.
import { findBelow } from "../../kit/find-below.ts";
import { Fault } from "../../protocol/error.ts";
import type { ReadMail } from "../../protocol/read-mail.ts";
import { route, type Addressee } from "../../protocol/team-address.ts";
import { refusedFiles, skein, type Refused, type Sent } from "../../protocol/team-mail.ts";
import type { Report } from "../../protocol/team.ts";
import type { Claim } from "./mail-boxes.ts";

export type Entry =
  | { event: "message_sent"; sent: Sent; warnings: string[] }
  | { event: "agent_reported"; id: string; from: string; at: number; report: Report; warnings: string[] }
  | { event: "message_refused"; refused: Refused };

export type Sender = { names: readonly string[]; id: string; workspace: string | null };

export type Team = { members: readonly Addressee[]; hasEnded: (id: string) => boolean; shared: string };

export function judge(read: ReadMail, claim: Claim, file: string, sender: Sender, team: Team): Entry {
  const { id, at } = claim;
  const from = sender.id;
  const refuse = (reason: string): Entry => ({ event: "message_refused", refused: { id, from, at, file, reason } });
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
    const found = follow(path, places);
    if ("problem" in found) return refuse(found.problem);
    attachments.push(found.path);
  }
  const sent: Sent = { ...read.message, attachments, id, from, sentAt: at, ...route(read.message, from, team) };
  return { event: "message_sent", sent, warnings };
}

/** The report with absolute paths, or why it is refused. An output that is not there is only left out. */
function withPaths(report: Report, places: string[], warnings: string[]): Report | string {
  if (report.type === "artifact") {
    const found = follow(report.path, places);
    return "problem" in found ? found.problem : { ...report, path: found.path };
  }
  if (report.type !== "complete") return report;
  const outputs: string[] = [];
  for (const path of report.outputs) {
    const found = follow(path, places);
    if (!("problem" in found)) outputs.push(found.path);
    else if (found.isOutside) return found.problem;
    else warnings.push(found.problem);
  }
  return { ...report, outputs };
}

type Followed = { path: string } | { problem: string; isOutside: boolean };

function follow(path: string, places: readonly string[]): Followed {
  const found = findBelow(path, places);
  if ("path" in found) return found;
  const shown = `"${path.slice(0, 200)}"`;
  const isOutside = found.problem === "outside";
  return {
    problem: isOutside ? `${shown} is outside of the shared context and the sender's workspace` : `nothing is at ${shown}`,
    isOutside,
  };
}

/** What the sender is told when something of it did not arrive. */
export function noticeOf(entry: Entry): Sent | null {
  if (entry.event === "agent_reported") return null;
  const told = (id: string, at: number, to: string, subject: string, body: string): Sent => ({
    id: `n${id}`,
    from: skein,
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
    return told(id, at, from, "refused", `What you left as ${refusedFiles(entry.refused)} was refused: ${reason}.`);
  }
  const { sent } = entry;
  // Those who have ended among many are told in the log.
  const missed = sent.undelivered.filter(({ to }) => sent.to.includes(to));
  if (missed.length === 0) return null;
  const lines = missed.map(({ to, reason }) => `${to}: ${reason}`);
  return told(sent.id, sent.sentAt, sent.from, "not delivered", `Your message ${sent.id} did not reach ${lines.join("; ")}.`);
}

/** What the sender is told who waited for it. */
export function postedText(entry: Entry): string {
  if (entry.event === "message_refused") throw new Fault("usage", entry.refused.reason);
  if (entry.event === "agent_reported") return "reported";
  const { id, delivered, undelivered } = entry.sent;
  const missed = undelivered.map(({ to, reason }) => `; not to ${to}: ${reason}`);
  return `message ${id} sent to ${delivered.join(", ")}${missed.join("")}`;
}
