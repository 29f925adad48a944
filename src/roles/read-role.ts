// Reads a role from a Markdown file of skein or of Claude Code. Fields that would widen rights are ignored. An invalid value
// in a field that narrows rights makes the whole role invalid.
import { basename } from "node:path";
import { maxTimerMs, parseDuration } from "../kit/text/duration.ts";
import { readFrontmatter } from "../kit/files/frontmatter.ts";
import { nearestWord } from "../kit/text/nearest-word.ts";
import { oneLine } from "../kit/text/cut-text.ts";
import { policyNames, type PolicyName } from "../protocol/api/policy.ts";
import { isPolicyName, narrowerPolicy, type Role } from "../protocol/api/role.ts";
import { headlessLimits } from "../protocol/api/turn-options.ts";
import { inferLimits } from "./infer-role.ts";
import { resolveToolNames, type NamedTools } from "./role-tools.ts";

export type RoleFile = { path: string; content: Buffer; origin: "user" | "project"; trusted: boolean; format: "skein" | "claude" };

export const maxRoleBytes = 64 * 1024;

const fieldNames = [
  "name",
  "description",
  "agent",
  "model",
  "tools",
  "disallowedTools",
  "policy",
  "net",
  "timeout",
  "idle",
  "max_memory_mb",
  "capabilities",
];

const narrowingFields = ["policy", "timeout", "idle"];

/** Rights that a role can't have; only a turn can. */
const wideningFields = [
  "allow_write",
  "add_dir",
  "add_dirs",
  "base_url",
  "command",
  "args",
  "env",
  "key",
  "sandbox",
  "hooks",
  "mcpServers",
];

/** Fields of Claude Code's agents that skein ignores. */
const claudeOnlyFields = ["color", "skills", "memory", "background", "effort", "isolation", "maxTurns", "initialPrompt", "permissionMode"];

const claudeModels = /^(sonnet|opus|haiku|opusplan|default)(\[.*\])?$/;

/** The file has no valid role. */
class InvalidRole extends Error {}

type Fields = Record<string, unknown>;
type Remarks = { notes: string[]; ignored: string[] };

/** A text file is only a prompt. Its name is the role's name, and its first line the description. */
function readPrompt({ path, content }: RoleFile): { fields: Fields; body: string; problems: string[] } {
  const body = content.toString("utf8").trim();
  if (body === "") return { fields: {}, body, problems: ["is empty"] };
  return { fields: { name: basename(path, ".txt"), description: oneLine(body.split("\n", 1)[0]!, 200) }, body, problems: [] };
}

/** `findWeaker` returns the role of this name that the file replaces. */
export function readRole(file: RoleFile, findWeaker: (name: string) => Role | undefined): { role: Role | null; problems: string[] } {
  const { fields, body, problems } = file.path.endsWith(".txt") ? readPrompt(file) : readFrontmatter(() => file.content, maxRoleBytes);
  if (Object.keys(fields).length === 0) return { role: null, problems };
  try {
    return { role: roleOf(file, fields, body, findWeaker), problems };
  } catch (error) {
    if (!(error instanceof InvalidRole)) throw error;
    return { role: null, problems: [...problems, `${error.message}; the role is left out`] };
  }
}

function roleOf(file: RoleFile, fields: Fields, body: string, findWeaker: (name: string) => Role | undefined): Role {
  const name = nameOf(fields, file.path);
  const base = findWeaker(name);
  const description = oneLine(text(fields, "description") ?? base?.description ?? "", 1024);
  if (description === "") throw new InvalidRole("has no description");
  if (body.includes("\0")) throw new InvalidRole("has bytes that are not text");
  const remarks: Remarks = { notes: [], ignored: [] };
  noteUnusedFields(file, fields, remarks);
  const defaults = base ?? inferLimits(name, description);
  const tools = toolsOf(file, fields, remarks);
  const role: Role = {
    name,
    description,
    prompt: body === "" ? (base?.prompt ?? "") : body,
    capabilities: list(fields, "capabilities") ?? base?.capabilities ?? [],
    reads: base?.reads ?? [],
    writes: base?.writes ?? [],
    agent: ifTrusted(file, "agent", text(fields, "agent"), remarks) ?? base?.agent ?? null,
    model: ifTrusted(file, "model", modelOf(fields, remarks), remarks) ?? base?.model ?? null,
    tools: tools === null ? (file.format === "claude" ? null : defaults.tools) : tools.tools,
    policy: narrowerPolicy(policyOf(file, fields, base?.policy ?? "workspace", remarks), tools?.isReadOnly === true ? "readonly" : null),
    net: netOf(file, fields, remarks) ?? base?.net ?? null,
    timeoutMs: duration(fields, "timeout") ?? defaults.timeoutMs,
    idleMs: duration(fields, "idle") ?? defaults.idleMs,
    maxMemoryMb: memory(fields) ?? defaults.maxMemoryMb,
    origin: file.origin,
    path: file.path,
    specialises: base === undefined ? null : (base.path ?? "built-in"),
    ...remarks,
  };
  if (base === undefined) noteInferred(role, fields);
  return file.trusted ? role : withinLimits(role, base);
}

function nameOf(fields: Fields, path: string): string {
  const name = text(fields, "name") ?? basename(path, ".md");
  if (/^[a-z0-9][a-z0-9_-]{0,63}$/i.test(name)) return name;
  throw new InvalidRole(`its name ${JSON.stringify(name.slice(0, 80))} must be 1 to 64 letters, digits, "-" and "_"`);
}

/** A Claude Code file without `tools` means all tools. Null if no field of the file names tools. */
function toolsOf({ format }: RoleFile, fields: Fields, remarks: Remarks): NamedTools | null {
  const without = list(fields, "disallowedTools") ?? [];
  const names = list(fields, "tools") ?? (format === "claude" && without.length > 0 ? ["*"] : null);
  if (names === null) return null;
  const resolved = resolveToolNames(names, without);
  remarks.notes.push(...resolved.notes);
  return resolved;
}

function policyOf(file: RoleFile, fields: Fields, fallback: PolicyName, remarks: Remarks): PolicyName {
  const name = text(fields, "policy") ?? (fields["permissionMode"] === "plan" ? "readonly" : null);
  if (name === null) return fallback;
  if (!isPolicyName(name)) {
    const quoted = JSON.stringify(oneLine(name, 40));
    throw new InvalidRole(`its policy ${quoted} is none of ${policyNames.join(", ")}${suggestion(name, policyNames)}`);
  }
  if (name !== "full" || file.trusted) return name;
  remarks.ignored.push("policy: full");
  return fallback;
}

function netOf(file: RoleFile, fields: Fields, remarks: Remarks): "on" | "off" | null {
  const value = fields["net"];
  if (value === undefined) return null;
  if (value === "off" || value === false) return "off";
  if (value !== "on" && value !== true) throw new InvalidRole("its net must be on or off");
  if (file.trusted) return "on";
  remarks.ignored.push("net: on");
  return null;
}

function modelOf(fields: Fields, remarks: Remarks): string | null {
  const model = text(fields, "model");
  if (model === null || model === "inherit") return null;
  if (!claudeModels.test(model)) return model;
  remarks.notes.push(`${model} is Claude Code's own name for a model; the turn's model is used`);
  return null;
}

/** An untrusted file may not decide which agent or model gets the project's text, and at whose cost. */
function ifTrusted(file: RoleFile, key: string, value: string | null, remarks: Remarks): string | null {
  if (value === null || file.trusted) return value;
  remarks.ignored.push(`${key}: ${oneLine(value, 80)}`);
  return null;
}

function noteUnusedFields(file: RoleFile, fields: Fields, remarks: Remarks): void {
  for (const key of Object.keys(fields)) {
    if (fieldNames.includes(key) || (file.format === "claude" && claudeOnlyFields.includes(key))) continue;
    if (!wideningFields.includes(key)) remarks.notes.push(`unknown field ${oneLine(key, 40)}${suggestion(key, fieldNames)}`);
    else if (file.trusted) remarks.notes.push(`${key} is left out: a role adds no rights to those of the turn`);
    else remarks.ignored.push(key);
  }
}

function suggestion(word: string, known: readonly string[]): string {
  const near = nearestWord(word, known);
  return near === null ? "" : `; did you mean ${near}?`;
}

function noteInferred(role: Role, fields: Fields): void {
  const isSet = (key: string) => fields[key] !== undefined;
  const inferred = [
    ...(isSet("tools") || role.tools === null ? [] : [`tools ${role.tools.join(", ")}`]),
    ...(isSet("policy") ? [] : [`policy ${role.policy ?? "of the turn"}`]),
    ...(isSet("timeout") ? [] : [`timeout ${role.timeoutMs / 60_000}m`]),
    ...(isSet("max_memory_mb") ? [] : [`max_memory_mb ${role.maxMemoryMb}`]),
  ];
  if (inferred.length > 0) role.notes = [...role.notes, `inferred: ${inferred.join("; ")}`];
}

/** An untrusted role has no more rights than the role it replaces, and no more time than a turn without a role. */
function withinLimits(role: Role, base: Role | undefined): Role {
  const baseTools = base?.tools ?? null;
  return {
    ...role,
    tools: baseTools === null ? role.tools : (role.tools ?? baseTools).filter((name) => baseTools.includes(name)),
    policy: narrowerPolicy(role.policy, base?.policy ?? null),
    net: base?.net === "off" ? "off" : role.net,
    timeoutMs: Math.min(role.timeoutMs, base?.timeoutMs ?? headlessLimits.timeoutMs),
    idleMs: Math.min(role.idleMs ?? Number.POSITIVE_INFINITY, base?.idleMs ?? headlessLimits.idleMs),
    maxMemoryMb: Math.min(role.maxMemoryMb, base?.maxMemoryMb ?? Number.POSITIVE_INFINITY),
  };
}

/** The text of a field; null if it is missing. An empty field counts as missing unless it is a narrowing one. */
function text(fields: Fields, key: string): string | null {
  const value = fields[key];
  if (value === undefined || (value === null && !narrowingFields.includes(key))) return null;
  if (typeof value === "string" && value.trim() !== "") return value.trim();
  if (typeof value === "number") return String(value);
  throw new InvalidRole(`its ${key} must be a text`);
}

/** The names in a field: a text like `a, b`, or a list. Null if the field is missing. */
function list(fields: Fields, key: string): string[] | null {
  const value = fields[key];
  if (value === undefined) return null;
  const items = typeof value === "string" ? value.split(",") : value;
  if (!Array.isArray(items) || !items.every((item) => typeof item === "string"))
    throw new InvalidRole(`its ${key} must be a list of names`);
  return [...new Set(items.map((item) => item.trim()).filter((item) => item !== ""))];
}

function duration(fields: Fields, key: string): number | null {
  const written = text(fields, key);
  if (written === null) return null;
  const ms = parseDuration(written);
  if (ms !== null && ms > 0 && ms <= maxTimerMs) return ms;
  throw new InvalidRole(`its ${key} must be seconds, or a duration like 90s, 10m or 2h, not ${JSON.stringify(oneLine(written, 40))}`);
}

function memory(fields: Fields): number | null {
  const value = fields["max_memory_mb"];
  if (value === undefined) return null;
  const number = Number(value);
  if (Number.isSafeInteger(number) && number > 0) return number;
  throw new InvalidRole("its max_memory_mb must be a whole number above 0");
}
