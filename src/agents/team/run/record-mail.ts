// What becomes of a team's mail: taken up once, it is recorded once; what a member is sent while it runs is put before it
// at its next step.
import { messageOf } from "../../../protocol/api/error.ts";
import { messageText, refusedFilesText } from "../../../protocol/team/mail.ts";
import { membersOf, type Report } from "../../../protocol/team/team.ts";
import { recordTeamEvent, toMailMember, type TeamRun } from "./team-run.ts";
import type { MailOptions } from "../mail/mail.ts";

export function createMailOptions(run: Omit<TeamRun, "mail">): MailOptions {
  const { record, paths: place, context } = run;
  const memberOf = (id: string) => membersOf(record).find((member) => member.id === id);
  return {
    directory: place.root,
    team: record.id,
    members: membersOf(record).map(toMailMember),
    hasEnded: (id) => ["completed", "failed"].includes(memberOf(id)?.state ?? "failed"),
    onMessage: async (message) => {
      if (record.messages.some(({ id }) => id === message.id)) return;
      const text = `${message.from} to ${message.to.join(", ")}: ${message.subject}\n${message.body}`;
      await recordTeamEvent(run, { event: "message_sent", message }, text);
    },
    onReport: async (agent, report, id) => {
      const member = memberOf(agent);
      if (member === undefined || [...member.reports, ...member.artifacts].some((known) => known.id === id)) return;
      if (report.type !== "artifact")
        return recordTeamEvent(run, { event: "agent_reported", agent, id, report }, `${agent}: ${reportText(report)}`);
      const { path, description } = report;
      await recordTeamEvent(run, { event: "artifact_created", agent, id, path, description }, `${agent} made ${path}: ${description}`);
    },
    onRefused: async (refused) => {
      if (record.refused.some(({ id }) => id === refused.id)) return;
      await recordTeamEvent(
        run,
        { event: "message_refused", refused },
        `mail of ${refused.from} was refused (${refusedFilesText(refused)}): ${refused.reason}`,
      );
    },
    deliver: async (id, message) => {
      const session = memberOf(id)?.session;
      const isTold =
        session !== undefined && (await context.sendMessage(session, { id: `${message.id} ${id}`, text: messageText(message) }));
      return isTold ? "given" : "waits";
    },
    warn: (message) => run.emit({ type: "warning.raised", message }),
    onFault: (error) => {
      run.halt ??= { status: "broken", error: { kind: "broken", message: `the mail of the team failed: ${messageOf(error)}` } };
      run.stopAll();
    },
  };
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
