// Schemas of the transcripts of other agents on this machine.
import { z } from "zod";
import { transcriptAgents } from "../../transcripts/agent-transcript.ts";
import { count, fields, nullableText, time } from "../fields.ts";
import { id } from "../tree.ts";

export const agentTranscript = fields({
  id: z.string().describe("the end of the id that its session in skein has or will have; commands accept it"),
  agent: z.enum(transcriptAgents),
  nativeId: z.string().describe("the agent's own id of the session"),
  path: z.string().describe("its file; for opencode its database"),
  directory: nullableText.describe("where the agent worked; null if the transcript does not have it"),
  task: nullableText.describe("the first message of the user"),
  latestPrompt: nullableText.describe("the last message of the user"),
  model: nullableText,
  messages: count.describe("messages, calls and results"),
  bytes: count.describe("size of the transcript"),
  startedAt: time,
  updatedAt: time,
  session: id.nullable().describe("its session in skein; null until it is used"),
}).meta({ id: "Transcript of another agent" });
export type AgentTranscript = z.output<typeof agentTranscript>;

export const foundMessage = fields({
  transcript: agentTranscript,
  author: z.enum(["user", "agent", "tool"]),
  at: time,
  snippet: z.string(),
  marks: z.array(z.tuple([count, count])).describe("start and end of each match in the snippet"),
});
export type FoundMessage = z.output<typeof foundMessage>;
