// Messages among the members of a team, as they lie in files and as they were routed. Data only.

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

/** What a sender writes. To whom: a member's id or key, a role, a pattern with `*`, or `all`. */
export type Outgoing = {
  to: string[];
  kind: MessageKind;
  priority: Priority;
  subject: string;
  body: string;
  attachments: string[];
  /** The id of the message that this one answers. */
  replyTo: string | null;
  requiresResponse: boolean;
};

/** A message that was taken up: who sent it is where it lay, never what it says. */
export type Sent = Outgoing & {
  id: string;
  from: string;
  sentAt: number;
  /** Members that it was put before. */
  delivered: string[];
  /** Members that had ended, or addressees that nobody answers to. */
  undelivered: { to: string; reason: string }[];
};
