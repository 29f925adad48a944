// Schemas of `files.blame`: the lines of a file with the turns that wrote them.
import { z } from "zod";
import { count, fields, nullableText, time } from "../fields.ts";
import { id } from "../tree.ts";

const blamedTurn = fields({
  id,
  session: id,
  sessionName: nullableText,
  agent: z.string(),
  model: nullableText,
  prompt: nullableText.describe("the text that started the turn"),
  startedAt: time,
}).meta({ id: "Blamed turn" });
export type BlamedTurn = z.output<typeof blamedTurn>;

const blamedLine = fields({
  line: count.describe("starts at 1"),
  turns: z.array(id).describe("the turn that wrote it; empty: not by an agent"),
  unclear: z.literal(true).optional().describe("several turns ran at the same time, or one was killed: one of `turns` may have written it"),
  text: z.string(),
}).meta({ id: "Blamed line" });

export const blameReport = fields({
  project: z.string(),
  path: z.string().describe("relative to the project"),
  node: id.nullable().describe("null: the current files"),
  turns: z.array(blamedTurn).describe("the turns of `lines`, the first one first"),
  lines: z.array(blamedLine),
});
export type BlameReport = z.output<typeof blameReport>;

export const writtenNotes = fields({
  project: z.string(),
  path: z.string().describe("relative to the project"),
  commits: z
    .array(
      fields({
        commit: z.string(),
        lines: count.describe("lines at HEAD that the commit added and an agent wrote"),
        turns: z.array(id),
        isChanged: z.boolean().describe("false: the note was the same already"),
      }),
    )
    .describe("the commits with lines of agents"),
  otherLines: count.describe("lines not by an agent, or not certain: they are in no note"),
}).meta({ id: "Written notes" });
export type WrittenNotes = z.output<typeof writtenNotes>;
