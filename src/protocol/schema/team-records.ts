// The schemas of what a member of a team is printed of its mail.
import { z } from "zod";
import { messageKinds, priorities } from "../team-mail.ts";

const id = z.string().describe("of the message");
const time = z.iso.datetime({ precision: 3 });

export const mailPosted = z.strictObject({ id: id.describe("of the message or report, as it will be known") });

export const mailMessage = z.strictObject({
  id,
  from: z.string().describe("a member's id, `person` or `skein`"),
  to: z.array(z.string()).describe("as it was addressed"),
  session_id: z.string().describe("the team's"),
  timestamp: time,
  type: z.enum(messageKinds),
  subject: z.string(),
  body: z.strictObject({ content: z.string(), attachments: z.array(z.string()) }),
  metadata: z.strictObject({
    priority: z.enum(priorities),
    requires_response: z.boolean(),
    correlation_id: z.string().nullable().describe("the id of the message that it answers"),
  }),
  delivered: z.array(z.string()).describe("ids of the members that it was put before"),
  undelivered: z.array(z.strictObject({ to: z.string(), reason: z.string() })),
});

export const mailList = z.strictObject({
  agent: z.string().describe("who asks"),
  members: z.array(
    z.object({ id: z.string(), key: z.string(), role: z.string(), agent: z.string().optional(), state: z.string().optional() }),
  ),
  messages: z.array(
    z.strictObject({
      id,
      from: z.string(),
      type: z.enum(messageKinds),
      priority: z.enum(priorities),
      subject: z.string(),
      timestamp: time,
      is_read: z.boolean(),
    }),
  ),
});
