// Messages among the members of a team: types, limits, and their form in files and prompts.
import { toJsonCase } from "../json/json-case.ts";
import type { MailMessage, MailMessageJson } from "../schema/team-views.ts";
import type { RefusedMessage, SentMessage } from "../schema/team.ts";

export type { OutgoingMessage, RefusedMessage, SentMessage } from "../schema/team.ts";

export const messageKinds = [
  "request",
  "response",
  "handoff",
  "progress",
  "completed",
  "blocked",
  "review",
  "feedback",
  "question",
  "announcement",
  "alert",
] as const;
export type MessageKind = (typeof messageKinds)[number];

export const priorities = ["low", "normal", "high", "urgent"] as const;
export type Priority = (typeof priorities)[number];

/** Limits of one message; `turnFiles` and `turnBytes` are for all mail of a member in one turn. */
export const mailLimits = {
  bodyBytes: 64 * 1024,
  subjectChars: 200,
  addressees: 50,
  fileBytes: 512 * 1024,
  depth: 64,
  turnFiles: 200,
  turnBytes: 256 * 1024,
};

export const quotaExceededText = `it has sent ${mailLimits.turnFiles} messages and reports, or ${mailLimits.turnBytes / 1024} KB of them, in this turn; more is refused`;

/** A file in a member's directory while its mail is no longer read; it holds the reason. */
export const closedFileName = "shut";

/** The name of the file, and the number of further ones. */
export function refusedFilesText({ file, count = 1 }: Pick<RefusedMessage, "file" | "count">): string {
  return count === 1 ? file : `${file} and ${count - 1} more`;
}

/** Senders that are not members: the user, and skein itself. */
export const personAddress = "person";
export const skeinAddress = "skein";

/** `$SKEIN_SHARED_CONTEXT/team.json`, for members to read. Members can write it, so skein never reads it. */
export type RosterFile = {
  members: { id: string; key: string; role: string; suffix: string | null; instance: number; agent: string; state: string }[];
};

/** A message as programs read it. */
export function mailMessage(sent: SentMessage, team: string): MailMessage {
  return {
    id: sent.id,
    from: sent.from,
    to: sent.to,
    sessionId: team,
    timestamp: new Date(sent.sentAt).toISOString(),
    type: sent.kind,
    subject: sent.subject,
    body: { content: sent.body, attachments: sent.attachments },
    metadata: { priority: sent.priority, requires_response: sent.requiresResponse, correlation_id: sent.replyTo },
    delivered: sent.delivered,
    undelivered: sent.undelivered,
  };
}

/** The file in an inbox. */
export function messageRecord(sent: SentMessage, team: string): MailMessageJson {
  return toJsonCase(mailMessage(sent, team)) as MailMessageJson;
}

/** The message as its reader gets it. Its text can't imitate another message. */
export function messageText(sent: SentMessage): string {
  const attributes = [`from="${sent.from}"`, `id="${sent.id}"`, `kind="${sent.kind}"`, `priority="${sent.priority}"`];
  if (sent.replyTo !== null) attributes.push(`reply-to="${sent.replyTo}"`);
  const lines = [sent.subject, sent.body, ...sent.attachments.map((path) => `attached: ${path}`)].filter((line) => line !== "");
  const request = sent.requiresResponse ? "\n(an answer is expected)" : "";
  return `<message ${attributes.join(" ")}>\n${lines.join("\n").replaceAll(/<(\/?)(?=message)/gi, "<$1 ")}${request}\n</message>`;
}
