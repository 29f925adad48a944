// Connects the mail of a team to its session: records each event, and delivers messages to running members.
import { messageOf } from "../../../protocol/api/error.ts";
import { hasEnded } from "../../../protocol/team/address.ts";
import { messageText, refusedFilesText } from "../../../protocol/team/mail.ts";
import { membersOf, teamEventOf } from "../../../protocol/team/team.ts";
import { reportText } from "../../../protocol/team/views.ts";
import { isMailEvent, type MailEvent } from "../mail/classify-mail.ts";
import type { MailOptions } from "../mail/mail.ts";
import { recordTeamEvent, toMailMember, type TeamRun } from "./team-run.ts";

export function createMailOptions(run: Omit<TeamRun, "mail">): MailOptions {
  const { record, paths, context, input } = run;
  const memberOf = (id: string) => membersOf(record).find((member) => member.id === id);
  return {
    directory: paths.root,
    team: record.id,
    members: membersOf(record).map(toMailMember),
    recorded: input.path.flatMap((node) => teamEventOf(node) ?? []).filter(isMailEvent),
    hasEnded: (id) => hasEnded(record, id),
    record: async (event) => {
      // Only members can report, so a report of the user is dropped.
      if ("agent" in event && memberOf(event.agent) === undefined) return;
      await recordTeamEvent(run, event, eventText(event));
    },
    deliver: async (id, message) => {
      const session = memberOf(id)?.session;
      // The id has the member, because a message may be sent to several.
      const isSent =
        session !== undefined && (await context.sendMessage(session, { id: `${message.id} ${id}`, text: messageText(message) }));
      return isSent ? "sent" : "waits";
    },
    warn: (message) => run.emit({ type: "warning.raised", message }),
    onFault: (error) => {
      run.halt ??= { kind: "broken", message: `the mail of the team failed: ${messageOf(error)}` };
      run.stopAll();
    },
  };
}

function eventText(event: MailEvent): string {
  switch (event.event) {
    case "message_sent": {
      const { from, to, subject, body } = event.message;
      return `${from} to ${to.join(", ")}: ${subject}\n${body}`;
    }
    case "message_refused":
      return `mail of ${event.refused.from} was refused (${refusedFilesText(event.refused)}): ${event.refused.reason}`;
    case "artifact_created":
      return `${event.agent} made ${event.path}: ${event.description}`;
    case "agent_reported":
      return `${event.agent}: ${reportText(event.report)}`;
  }
}
