// Schema of `session.catchUp`: the facts of a session for a reader who has not followed it.
import { z } from "zod";
import { count, fields, nullableText, texts, time } from "../fields.ts";
import { fileChange } from "../team.ts";
import { costFields, session, status } from "../tree.ts";

const checkedCommand = fields({
  command: z.string(),
  runs: count,
  failed: count,
  ok: z.boolean().describe("whether the last run succeeded"),
}).meta({ id: "Tested command" });

export const catchUpReport = fields({
  session,
  agents: texts.describe("agents of its turns, in order of their first turn"),
  turns: count,
  startedAt: time.nullable(),
  endedAt: time.nullable(),
  status: status.nullable().describe("of its last turn; null while one runs, or before the first"),
  asked: nullableText.describe("the first message of the user"),
  lastAsked: nullableText.describe("the last message of the user, if it is another one"),
  answer: nullableText.describe("the last answer"),
  tools: z.array(fields({ name: z.string(), calls: count, failed: count })).describe("the most used first"),
  files: z.array(fileChange).nullable().describe("changed by its turns; null if they were not recorded"),
  namedFiles: texts.describe("files that its calls of edit and write named; only if `files` is null"),
  tested: z.array(checkedCommand).describe("commands that look like tests, builds or linters, the last one first"),
  commits: texts.describe("messages of `git commit` commands that succeeded"),
  errors: texts.describe("the last failed calls and turns"),
  open: texts.describe("what is left open: questions, queued messages, failed tests, a turn that did not end well"),
  ...costFields,
});
export type CatchUpReport = z.output<typeof catchUpReport>;
