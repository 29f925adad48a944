// The params of every method as others send them, checked, with what is usual filled in, and turned into the Api's own.
// A row that is missing, lacks a field or does not fit the Api is a type error.
import { z } from "zod";
import type { Api } from "../api/api.ts";
import type { MethodName } from "../api/methods.ts";
import { historyKinds } from "../tree/history.ts";
import { importFormats } from "../tree/import.ts";
import { messageKinds, priorities } from "../team/mail.ts";
import { turnSchemas } from "../api/turn-options.ts";
import { toMethodName } from "../json/json-case.ts";
import { validationMessage, type FindNearest } from "./validation-message.ts";
import * as is from "./fields.ts";
import { memberPlan, teamTask } from "./team.ts";

/** What only works within a process does not travel. */
type Serializable<Params> = Params extends object ? Omit<Params, "onProgress" | "signal"> : object;
export type MethodFunction<Row extends MethodName> = Row extends `${infer Noun extends keyof Api}.${infer Verb}`
  ? Verb extends keyof Api[Noun]
    ? Extract<Api[Noun][Verb], (...params: never[]) => unknown>
    : never
  : never;
export type MethodParams<Row extends MethodName> = Serializable<Parameters<MethodFunction<Row>>[0]>;

const session = { session: is.name };
const directory = { directory: is.path };
const policy = is.policy.prefault({});

const { agent, ...turn } = turnSchemas({ z, is, teamTask });

const rows = {
  "session.open": is.fields({
    ...directory,
    find: z
      .discriminatedUnion("by", [
        is.fields({ by: z.literal("name"), wanted: is.name, or_create: is.trueByDefault }),
        is.fields({ by: z.literal("latest") }),
        is.fields({ by: z.literal("new") }),
      ])
      .prefault({ by: "new" }),
    name: is.name.optional(),
    agent: is.name.default("native"),
    model: is.nameOrNull,
    task: is.textOrNull,
    tool_level: is.toolLevel.default("orchestrator"),
    parent_session: is.nameOrNull,
    transcript_dir: is.pathOrNull,
    id: z.uuid({ error: "must be a UUID in lower case" }).lowercase("must be a UUID in lower case").optional(),
    plan: is.fields({ file: is.path, text: is.text }).optional(),
  }),
  "session.list": is.fields({
    project: is.pathOrNull,
    archived: is.falseByDefault,
    sub_sessions: is.falseByDefault,
    limit: z.number().int().min(1).optional(),
  }),
  "session.tree": is.fields({ ...session, archived: is.falseByDefault }),
  "session.show": is.fields(session),
  "session.leaves": is.fields(session),
  "session.find": is.fields({ wanted: is.name, ...directory }),
  "session.fork": is.fields({ ...session, at: is.nameOrNull, name: is.nameOrNull }),
  "session.move": is.fields({ ...session, node: is.name.nullable() }),
  "session.rename": is.fields({ ...session, name: is.name }),
  "session.archive": is.fields(session),
  "session.restore": is.fields(session),
  "session.purge": is.fields({ session: is.nameOrNull, older_than_ms: is.count.default(30 * 86_400_000), dry_run: is.trueByDefault }),
  "session.current": is.fields(directory),
  "session.use": is.fields({ ...session, ...directory }),
  "session.describe": is.fields({
    ...session,
    ...directory,
    model: is.nameOrNull,
    instructions: is.textOrNull,
    anew: is.falseByDefault,
    limit_ms: is.milliseconds.default(120_000),
  }),
  "node.find": is.fields({ wanted: is.name }),
  "node.path": is.fields({ node: is.name }),
  "node.children": is.fields({ node: is.name }),
  "node.add": is.fields({ ...session, text: is.text }),
  "node.addSession": is.fields({ ...session, from: is.name }),
  "graft.make": is.fields({ from: is.name, into: is.name }),
  "files.list": is.fields({ ...directory, query: is.text.max(1_000).default(""), limit: z.number().int().min(1).max(1_000).default(50) }),
  "files.diff": is.fields({ from: is.name, to: is.nameOrNull, ...directory }),
  "files.planRestore": is.fields({ to: is.name, ...directory }),
  "files.restore": is.fields({ project: is.path, from: is.name, to: is.name }),
  "plan.read": is.fields(directory),
  "plan.make": is.fields(directory),
  "context.render": is.fields({ ...session, node: is.nameOrNull }),
  "context.handles": is.fields({ ...session, node: is.nameOrNull }),
  "turn.check": is.fields({ ...directory, agent: is.name.default("native"), is_new: is.trueByDefault, ...turn }),
  "turn.start": is.fields({ ...session, prompt: is.text.nullable(), agent, ...turn }),
  "turn.watch": is.fields({ ...session, after_seq: is.count.default(0), until: z.enum(["now", "idle", "never"]).default("idle") }),
  "turn.list": is.fields({ ended_since: is.time.nullable().prefault(null) }),
  "turn.steer": is.fields({ ...session, text: is.text }),
  "turn.takeBack": is.fields({ ...session, input: is.name }),
  "turn.pause": is.fields({ ...session, force: is.falseByDefault }),
  "turn.resume": is.fields(session),
  "turn.cancel": is.fields(session),
  "turn.kill": is.fields({ ...session, force: is.falseByDefault }),
  "ask.list": is.fields({ session: is.nameOrNull }),
  "ask.answer": is.fields({ ask: is.name, text: is.text }),
  "bash.execute": is.fields({ ...session, command: is.command, timeout_ms: is.millisecondsOrNull.default(null), policy }),
  "transcript.import": is.fields({
    from: z.union([is.fields({ path: is.path }), is.fields({ text: is.text })], { error: "must be {path} or {text}" }),
    ...directory,
    format: z.enum([...importFormats, "auto"]).default("auto"),
    name: is.nameOrNull,
  }),
  "search.find": is.fields({ query: is.name, project: is.pathOrNull, limit: z.number().int().min(1).max(1_000).default(20) }),
  "history.search": is.fields({
    query: is.query,
    ...directory,
    limit: z.number().int().min(1).max(200).default(40),
    kinds: z
      .array(z.enum(historyKinds))
      .min(1)
      .max(historyKinds.length)
      .default([...historyKinds]),
    asker: is.nameOrNull,
  }),
  "branch.compare": is.fields({ a: is.name, b: is.name, ...directory }),
  "handle.resolve": is.fields({
    identifier: is.command,
    max_bytes: is.countOrNull.default(1_000_000),
    as: z.enum(["text", "base64"]).default("text"),
  }),
  "tokens.count": is.fields({
    items: is.paths,
    ...directory,
    top: z.number().int().min(0).max(1_000).default(10),
    limit_ms: is.milliseconds.default(30_000),
  }),
  "usage.report": is.fields({ by: z.enum(["day", "agent", "model", "project"]).default("day"), project: is.pathOrNull }),
  "store.verify": is.fields({ repair: is.falseByDefault }),
  "agents.list": is.fields({}),
  "models.list": is.fields({}),
  "auth.status": is.fields({}),
  "skills.list": is.fields(directory),
  "roles.list": is.fields(directory),
  "roles.find": is.fields({ name: is.name, ...directory }),
  "team.list": is.fields({ project: is.pathOrNull, limit: z.number().int().min(1).max(1_000).default(50) }),
  "team.show": is.fields(session),
  "team.diff": is.fields(session),
  "team.message": is.fields({
    ...session,
    to: z.array(is.name).min(1).max(50),
    body: is.text,
    kind: z.enum(messageKinds).default("announcement"),
    priority: z.enum(priorities).default("normal"),
    subject: is.text.max(200).default(""),
    reply_to: is.nameOrNull,
    requires_response: is.falseByDefault,
  }),
  "team.add": is.fields({ ...session, member: memberPlan }),
  "team.clean": is.fields({
    session: is.nameOrNull,
    project: is.pathOrNull,
    older_than_ms: is.count.default(7 * 86_400_000),
    dry_run: is.trueByDefault,
    force: is.falseByDefault,
  }),
  "config.show": is.fields({}),
  "config.values": is.fields({}),
  "config.set": is.fields({ key: is.name, value: is.text, scope: z.enum(["user", "project"]).default("user") }),
  "config.paths": is.fields({}),
  "config.schema": is.fields({}),
  "trust.show": is.fields(directory),
  "trust.grant": is.fields(directory),
  "trust.revoke": is.fields(directory),
  "doctor.check": is.fields({}),
  "doctor.tryAgents": is.fields({}),
  "health.check": is.fields({}),
} satisfies { [Row in MethodName]: z.ZodType<MethodParams<Row>> };

type MissingFields = { [Row in MethodName]: Exclude<keyof MethodParams<Row>, keyof z.output<(typeof rows)[Row]>> }[MethodName];
export const methodParamSchemas: [MissingFields] extends [never] ? { readonly [Row in MethodName]: z.ZodType } : MissingFields = rows;

/** How many of a method's fields can be given by position. */
export const maxPositionalParams = 4;

export type CheckedParams<Row extends MethodName> = { ok: true; params: MethodParams<Row> } | { ok: false; message: string };

/** By name in an object, or the first few by position in an array. The message is one line that names the field. */
export function checkParams<Row extends MethodName>(row: Row, params: unknown, nearest: FindNearest = () => null): CheckedParams<Row> {
  const schema: z.ZodType = rows[row];
  const wrong = (message: string) => ({ ok: false as const, message: `${toMethodName(row)}: ${message}` });
  const places = placesOf(row);
  if (Array.isArray(params) && params.length > places.length)
    return wrong(`takes at most ${places.length} by position${places.length === 0 ? "" : `: ${places.join(", ")}`}`);
  const named = namedParams(row, params);
  const read = schema.safeParse(named);
  if (!read.success) return wrong(validationMessage(read.error.issues, named, schema, nearest));
  return { ok: true, params: read.data as MethodParams<Row> };
}

/** The fields as they came, each under its name. */
export function namedParams(row: MethodName, params: unknown): unknown {
  const places = placesOf(row);
  return Array.isArray(params) ? Object.fromEntries(params.map((value, at) => [places[at], value])) : (params ?? {});
}

function placesOf(row: MethodName): string[] {
  return Object.keys(rows[row].in.shape).slice(0, maxPositionalParams);
}
