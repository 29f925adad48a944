// Parses plans of a team from JSON that a planner or a user wrote. Each problem names its path in the JSON.
// Unknown fields are ignored and null means absent, because models write both.
import { z } from "zod";
import { isRecord } from "../../kit/text/json.ts";
import * as is from "./fields.ts";
import { memberPlan, phasePlan, type MemberPlan, type PhasePlan } from "./team.ts";
import { issueText, valueAt } from "./validation-message.ts";

type Problems = { problems: string[] };

/** A longer text would fill the prompts of all members. */
const maxTextChars = 20_000;

const planFile = is.fields({ phases: z.array(phasePlan).min(1).max(500) });

const plannedPhases = is
  .fields(
    {
      phases: z.array(phasePlan).max(2).default([]),
      isDone: z.boolean().default(false).catch(false),
      reason: z.string().default("").catch(""),
    },
    { isDone: "done" },
  )
  .refine(({ phases, isDone }) => isDone || phases.length > 0, "it has no phases and is not done");
/** A planner's answer: the next phases in order, or that the work is done. */
export type PlannedPhases = z.output<typeof plannedPhases>;

export function parsePlannedPhases(value: unknown): PlannedPhases | Problems {
  return parse(plannedPhases, value);
}

/** Parses a file with `{"phases": [...]}`. */
export function parsePhases(value: unknown): PhasePlan[] | Problems {
  const plan = parse(planFile, value);
  return "problems" in plan ? plan : plan.phases;
}

export function parseMember(value: unknown): MemberPlan | Problems {
  return parse(memberPlan, value);
}

function parse<Schema extends z.ZodType<object>>(schema: Schema, json: unknown): z.output<Schema> | Problems {
  const value: unknown = JSON.parse(JSON.stringify(json ?? {}, (_key, field: unknown) => field ?? undefined));
  const first = schema.safeParse(value);
  const unknownFields = first.error?.issues.filter((issue) => issue.code === "unrecognized_keys") ?? [];
  for (const { path, keys } of unknownFields) removeFields(valueAt(value, path), keys);
  const parsed = unknownFields.length === 0 ? first : schema.safeParse(value);
  const problems = [...(parsed.error?.issues ?? []).map((issue) => problemText(issue, value)), ...longTexts(value)];
  return parsed.success && problems.length === 0 ? parsed.data : { problems };
}

function removeFields(object: unknown, names: readonly string[]): void {
  if (isRecord(object)) for (const name of names) delete object[name];
}

function problemText(issue: z.core.$ZodIssue, value: unknown): string {
  const problem = issueText(issue, valueAt(value, issue.path));
  return issue.path.length === 0 ? problem : `${z.core.toDotPath(issue.path)}: ${problem}`;
}

function longTexts(value: unknown, path: PropertyKey[] = []): string[] {
  if (typeof value === "string" && value.length > maxTextChars)
    return [`${z.core.toDotPath(path)}: must have at most ${maxTextChars} characters`];
  if (Array.isArray(value)) return value.flatMap((item, index) => longTexts(item, [...path, index]));
  return isRecord(value) ? Object.entries(value).flatMap(([name, field]) => longTexts(field, [...path, name])) : [];
}
