// Connects the mail of a team to its session: records each entry once, and delivers messages to running members.
import { messageOf } from "../../../protocol/api/error.ts";
import { messageText, refusedFilesText } from "../../../protocol/team/mail.ts";
import { membersOf, type Report, type TeamRecord } from "../../../protocol/team/team.ts";
import { headOf, type MailEntry } from "../mail/classify-mail.ts";
import type { MailOptions } from "../mail/mail.ts";
import { recordTeamEvent, toMailMember, type TeamRun } from "./team-run.ts";

export function createMailOptions(run: Omit<TeamRun, "mail">): MailOptions {
  const { record, paths, context } = run;
  const memberOf = (id: string) => membersOf(record).find((member) => member.id === id);
  return {
    directory: paths.root,
    team: record.id,
    members: membersOf(record).map(toMailMember),
    hasEnded: (id) => ["completed", "failed"].includes(memberOf(id)?.state ?? "failed"),
    record: async (entry) => {
      // After a crash the mail offers entries again that are already on the session.
      if (!isRecorded(record, headOf(entry).id)) await recordEntry(run, entry);
    },
    deliver: async (id, message) => {
      const session = memberOf(id)?.session;
      const isSent =
        session !== undefined && (await context.sendMessage(session, { id: `${message.id} ${id}`, text: messageText(message) }));
      return isSent ? "given" : "waits";
    },
    warn: (message) => run.emit({ type: "warning.raised", message }),
    onFault: (error) => {
      run.halt ??= { status: "broken", error: { kind: "broken", message: `the mail of the team failed: ${messageOf(error)}` } };
      run.stopAll();
    },
  };
}

function isRecorded(record: TeamRecord, id: string): boolean {
  const reports = membersOf(record).flatMap((member) => [...member.reports, ...member.artifacts]);
  return [...record.messages, ...record.refused, ...reports].some((entry) => entry.id === id);
}

async function recordEntry(run: Omit<TeamRun, "mail">, entry: MailEntry): Promise<void> {
  switch (entry.event) {
    case "message_sent": {
      const message = entry.sent;
      const text = `${message.from} to ${message.to.join(", ")}: ${message.subject}\n${message.body}`;
      return recordTeamEvent(run, { event: "message_sent", message }, text);
    }
    case "message_refused": {
      const { refused } = entry;
      const text = `mail of ${refused.from} was refused (${refusedFilesText(refused)}): ${refused.reason}`;
      return recordTeamEvent(run, { event: "message_refused", refused }, text);
    }
    case "agent_reported": {
      const { id, from: agent, report } = entry;
      // Only members report; a report of the user has no member to belong to.
      if (!membersOf(run.record).some((member) => member.id === agent)) return;
      if (report.type !== "artifact")
        return recordTeamEvent(run, { event: "agent_reported", agent, id, report }, `${agent}: ${reportText(report)}`);
      const { path, description } = report;
      return recordTeamEvent(run, { event: "artifact_created", agent, id, path, description }, `${agent} made ${path}: ${description}`);
    }
  }
}

function reportText(report: Exclude<Report, { type: "artifact" }>): string {
  switch (report.type) {
    case "status":
      return `${report.message}${report.progress === null ? "" : ` (${Math.round(report.progress * 100)} %)`}`;
    case "dependency":
      return `waits for ${report.waitingFor}: ${report.reason}`;
    case "complete":
      return `${report.result}: ${report.summary}`;
  }
}
