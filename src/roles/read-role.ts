// A role from a Markdown file: ours, or one of Claude Code's agents. What would widen is never taken from it; what was
// meant to narrow and can't be understood leaves the role out.
import { basename } from "node:path";
import { maxTimerMs, parseDuration } from "../kit/text/duration.ts";
import { readFrontmatter } from "../kit/files/frontmatter.ts";
import { nearestWord } from "../kit/text/nearest-word.ts";
import { oneLine } from "../kit/text/cut-text.ts";
import { policyNames, type PolicyName } from "../protocol/api/policy.ts";
import { isPolicyName, narrowerPolicy, type Role } from "../protocol/api/role.ts";
import { headlessLimits } from "../protocol/api/turn-options.ts";
import { inferLimits } from "./infer-role.ts";
import { resolveToolNames } from "./role-tools.ts";

export type RoleFile = { path: string; origin: "user" | "project"; trusted: boolean; format: "skein" | "claude" };

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

const narrowing = ["policy", "timeout", "idle"];

/** Rights that only the turn itself can have. */
const rights = ["allow_write", "add_dir", "add_dirs", "base_url", "command", "args", "env", "key", "sandbox", "hooks", "mcpServers"];

/** The fields of Claude Code's agents that mean nothing here. */
const claudeOnly = ["color", "skills", "memory", "background", "effort", "isolation", "maxTurns", "initialPrompt", "permissionMode"];

const claudeModels = /^(sonnet|opus|haiku|opusplan|default)(\[.*\])?$/;

/** Says why there is no role in the file. */
class Unusable extends Error {}

type Said = { notes: string[]; ignored: string[] };

export function readRole(file: RoleFile, known: (name: string) => Role | undefined): { role: Role | null; problems: string[] } {
  const { fields, body, problems } = readFrontmatter(file.path, maxRoleBytes);
  if (Object.keys(fields).length === 0) return { role: null, problems };
  try {
    return { role: roleOf(file, fields, body, known), problems };
  } catch (error) {
    if (!(error instanceof Unusable)) throw error;
    return { role: null, problems: [...problems, `${error.message}; the role is left out`] };
  }
}

function roleOf(file: RoleFile, fields: Record<string, unknown>, body: string, known: (name: string) => Role | undefined): Role {
  const name = nameOf(fields, file.path);
  const under = known(name);
  const description = oneLine(text(fields, "description") ?? under?.description ?? "", 1024);
  if (description === "") throw new Unusable("has no description");
  if (body.includes("\0")) throw new Unusable("holds bytes that are no text");
  const said: Said = { notes: [], ignored: [] };
  tellOthers(file, fields, said);
  const usual = under ?? inferLimits(name, description);
  const tools = toolsOf(file, fields, usual.tools, said);
  const role: Role = {
    name,
    description,
    prompt: body === "" ? (under?.prompt ?? "") : body,
    capabilities: list(fields, "capabilities") ?? under?.capabilities ?? [],
    reads: under?.reads ?? [],
    writes: under?.writes ?? [],
    agent: onTrust(file, "agent", text(fields, "agent"), said) ?? under?.agent ?? null,
    model: onTrust(file, "model", modelOf(fields, said), said) ?? under?.model ?? null,
    tools: tools.tools,
    policy: narrowerPolicy(policyOf(file, fields, under?.policy ?? "workspace", said), tools.onlyLooks ? "readonly" : null),
    net: netOf(file, fields, said) ?? under?.net ?? null,
    timeoutMs: duration(fields, "timeout") ?? usual.timeoutMs,
    idleMs: duration(fields, "idle") ?? usual.idleMs,
    maxMemoryMb: memory(fields) ?? usual.maxMemoryMb,
    origin: file.origin,
    path: file.path,
    specialises: under === undefined ? null : (under.path ?? "built-in"),
    ...said,
  };
  if (under === undefined) tellInferred(role, fields);
  return file.trusted ? role : withinLimits(role, under);
}

function nameOf(fields: Record<string, unknown>, path: string): string {
  const name = text(fields, "name") ?? basename(path, ".md");
  if (/^[a-z0-9][a-z0-9_-]{0,63}$/i.test(name)) return name;
  throw new Unusable(`its name ${JSON.stringify(name.slice(0, 80))} must be 1 to 64 letters, digits, "-" and "_"`);
}

/** Of Claude Code, a file that names no tools means all that there are. */
function toolsOf(
  file: RoleFile,
  fields: Record<string, unknown>,
  usual: readonly string[] | null,
  said: Said,
): { tools: readonly string[] | null; onlyLooks: boolean } {
  const without = list(fields, "disallowedTools") ?? [];
  const names = list(fields, "tools") ?? (file.format === "claude" && without.length > 0 ? ["*"] : null);
  if (names === null) return { tools: file.format === "claude" ? null : usual, onlyLooks: false };
  const wish = resolveToolNames(names, without);
  said.notes.push(...wish.notes);
  return wish;
}

function policyOf(file: RoleFile, fields: Record<string, unknown>, usual: PolicyName, said: Said): PolicyName {
  const wanted = text(fields, "policy") ?? (fields["permissionMode"] === "plan" ? "readonly" : null);
  if (wanted === null) return usual;
  if (!isPolicyName(wanted)) {
    const near = nearestWord(wanted, policyNames);
    throw new Unusable(
      `its policy ${JSON.stringify(oneLine(wanted, 40))} is none of ${policyNames.join(", ")}${near === null ? "" : `; ${near}?`}`,
    );
  }
  if (wanted !== "full" || file.trusted) return wanted;
  said.ignored.push("policy: full");
  return usual;
}

function netOf(file: RoleFile, fields: Record<string, unknown>, said: Said): "on" | "off" | null {
  const value = fields["net"];
  if (value === undefined) return null;
  if (value === "off" || value === false) return "off";
  if (value !== "on" && value !== true) throw new Unusable("its net must be on or off");
  if (file.trusted) return "on";
  said.ignored.push("net: on");
  return null;
}

function modelOf(fields: Record<string, unknown>, said: Said): string | null {
  const model = text(fields, "model");
  if (model === null || model === "inherit") return null;
  if (!claudeModels.test(model)) return model;
  said.notes.push(`${model} is Claude Code's own name for a model; the turn's is used`);
  return null;
}

/** Where the text of a project goes, and at whose cost, is not for a stranger to say. */
function onTrust(file: RoleFile, key: string, value: string | null, said: Said): string | null {
  if (value === null || file.trusted) return value;
  said.ignored.push(`${key}: ${oneLine(value, 80)}`);
  return null;
}

function tellOthers(file: RoleFile, fields: Record<string, unknown>, said: Said): void {
  for (const key of Object.keys(fields)) {
    if (fieldNames.includes(key) || (file.format === "claude" && claudeOnly.includes(key))) continue;
    const near = nearestWord(key, fieldNames);
    if (!rights.includes(key)) said.notes.push(`unknown field ${oneLine(key, 40)}${near === null ? "" : `; ${near}?`}`);
    else if (file.trusted) said.notes.push(`${key} is left out: a role adds no rights to those of the turn`);
    else said.ignored.push(key);
  }
}

function tellInferred(role: Role, fields: Record<string, unknown>): void {
  const given = (key: string) => fields[key] !== undefined;
  const words = [
    ...(given("tools") || role.tools === null ? [] : [`tools ${role.tools.join(", ")}`]),
    ...(given("policy") ? [] : [`policy ${role.policy ?? "of the turn"}`]),
    ...(given("timeout") ? [] : [`timeout ${role.timeoutMs / 60_000}m`]),
    ...(given("max_memory_mb") ? [] : [`max_memory_mb ${role.maxMemoryMb}`]),
  ];
  if (words.length > 0) role.notes = [...role.notes, `inferred: ${words.join("; ")}`];
}

/** A stranger's role has no more than the one it makes special, and no longer than a turn without a role. */
function withinLimits(role: Role, under: Role | undefined): Role {
  const own = under?.tools ?? null;
  return {
    ...role,
    tools: own === null ? role.tools : (role.tools ?? own).filter((name) => own.includes(name)),
    policy: narrowerPolicy(role.policy, under?.policy ?? null),
    net: under?.net === "off" ? "off" : role.net,
    timeoutMs: Math.min(role.timeoutMs, under?.timeoutMs ?? headlessLimits.timeoutMs),
    idleMs: Math.min(role.idleMs ?? Number.POSITIVE_INFINITY, under?.idleMs ?? headlessLimits.idleMs),
    maxMemoryMb: Math.min(role.maxMemoryMb, under?.maxMemoryMb ?? Number.POSITIVE_INFINITY),
  };
}

/** Without a value, what narrows nothing is as if it were not there. */
function text(fields: Record<string, unknown>, key: string): string | null {
  const value = fields[key];
  if (value === undefined || (value === null && !narrowing.includes(key))) return null;
  if (typeof value === "string" && value.trim() !== "") return value.trim();
  if (typeof value === "number") return String(value);
  throw new Unusable(`its ${key} is no text`);
}

/** `a, b` or a list. */
function list(fields: Record<string, unknown>, key: string): string[] | null {
  const value = fields[key];
  if (value === undefined) return null;
  const items = typeof value === "string" ? value.split(",") : value;
  if (!Array.isArray(items) || !items.every((item) => typeof item === "string")) throw new Unusable(`its ${key} are no names`);
  return [...new Set(items.map((item) => item.trim()).filter((item) => item !== ""))];
}

function duration(fields: Record<string, unknown>, key: string): number | null {
  const written = text(fields, key);
  const ms = written === null ? null : parseDuration(written);
  if (written === null) return null;
  if (ms !== null && ms > 0 && ms <= maxTimerMs) return ms;
  throw new Unusable(`its ${key} takes seconds or 90s, 10m, 2h, not ${JSON.stringify(oneLine(written, 40))}`);
}

function memory(fields: Record<string, unknown>): number | null {
  const value = fields["max_memory_mb"];
  if (value === undefined) return null;
  const number = Number(value);
  if (Number.isSafeInteger(number) && number > 0) return number;
  throw new Unusable("its max_memory_mb is no whole number above 0");
}
