// The one encoder: values of the Api to JSON with snake_case names, ISO times and money in micro-dollars, and back. Hub, command line and
// MCP use it. Names that a model, a vendor, a tool or a user defined stay as they are. Loads no schemas.
import type { Json } from "../../kit/text/json.ts";
import { roundUsd } from "../tree/usage.ts";
import { camelCase, flattenNote, foldNote, metadataFromJson, metadataToJson, renamedFields, snakeCase } from "./field-names.ts";

/** Names inside these fields belong to a model, a vendor, a tool or a user. */
const foreignNames = new Set([
  "input",
  "opaque",
  "answerSchema",
  "parameters",
  "value",
  "written",
  "env",
  "data",
  "headers",
  "schema",
  "mcpServers",
]);

type KnownObject = {
  /** Two fields that only this object has, under the same name on both sides. */
  marks: [string, string];
  jsonNames: Map<string, string>;
  ourNames: Map<string, string>;
  /** Fields that the hub sends and the command line does not print. */
  hubOnly: ReadonlySet<string>;
};

const node = knownObject(["author", "parts"], renamedFields.node, ["keptFrom", "belowCall"]);
const session = knownObject(["tip", "createdAt"], renamedFields.session, ["forkedFrom", "plan"]);
const turn = knownObject(["steps", "policy"], renamedFields.turn, ["policy", "source"]);
const ask = knownObject(["question", "openedAt"], renamedFields.ask);
const spawned = knownObject(["sessionId", "task"], renamedFields.spawned);
const source = knownObject(["nativeId", "sha256"], {}, ["tip"]);
const turnInfo = knownObject(["state", "turn"], {}, ["left"]);
const pending = knownObject(["place", "queuedAt"], renamedFields.pending, ["isSessionBusy", "credential", "caller"]);
const knownObjects = [node, session, turn, ask, spawned, source, turnInfo, pending];
const turnEnded = knownObject(["type", "turn"], {}, ["answer", "below", "left"]);

/** Found by its key: `{session, node}` alone may also be the params of a method. */
const position = knownObject(["session", "node"], renamedFields.position);
const positionKeys = new Set(["forkedFrom", "graftedFrom"]);

function knownObject(marks: [string, string], renamed: Readonly<Record<string, string>>, hubOnly: string[] = []): KnownObject {
  const entries = Object.entries(renamed);
  return {
    marks,
    jsonNames: new Map(entries),
    ourNames: new Map(entries.map(([ours, json]) => [json, ours])),
    hubOnly: new Set(hubOnly),
  };
}

type Encoding = { isPrinted: boolean };

/** JSON as the hub sends it: every field. */
export function toJsonCase(value: unknown): unknown {
  return encode(value, "", { isPrinted: false });
}

/** JSON as the command line prints it: without the fields that only the hub sends. */
export function toPrintedJson(value: unknown): unknown {
  return encode(value, "", { isPrinted: true });
}

export function fromJsonCase(value: unknown): unknown {
  return decode(value, "");
}

const toJsonName = memoize(snakeCase);
const toOurName = memoize(camelCase);

/** Every streamed event is converted, and there are few names. */
function memoize(convert: (name: string) => string): (name: string) => string {
  const cache = new Map<string, string>();
  return (name) => {
    const cached = cache.get(name);
    if (cached !== undefined) return cached;
    const converted = convert(name);
    if (cache.size < 1_000) cache.set(name, converted);
    return converted;
  };
}

function encode(value: unknown, key: string, encoding: Encoding): unknown {
  if (typeof value === "number") return encodeNumber(value, key);
  if (typeof value !== "object" || value === null) return value;
  if (foreignNames.has(key)) return value;
  if (key === "metadata") return metadataToJson(value as Json);
  if (Array.isArray(value)) return value.map((item) => encode(item, "", encoding));
  if (isConfigSchema(value as Json)) return value;
  const known = findKnownObject(value as Json, key);
  const flat = known === node ? flattenNote(value as Json) : (value as Json);
  const fields = encoding.isPrinted ? printedFields(flat, known) : flat;
  const encoded: Json = {};
  for (const name of Object.keys(fields)) encoded[toJsonName(known?.jsonNames.get(name) ?? name)] = encode(fields[name], name, encoding);
  return encoded;
}

/** Drops fields that are not printed. Moves the `type` of an event to the front, so that people can read the lines. */
function printedFields({ opaque: _, ...fields }: Json, known: KnownObject | undefined): Json {
  if (fields["type"] === "turn.ended") return printedEvent(without(fields, turnEnded.hubOnly));
  if (known === node && "tree" in fields) return printedNode(fields);
  if (known === turn) return printedTurn(fields);
  if (typeof fields["type"] === "string" && "seq" in fields) return printedEvent(fields);
  return known === undefined ? fields : without(fields, known.hubOnly);
}

function printedEvent({ type, ...fields }: Json): Json {
  return { type, ...fields };
}

/** A node with usage always has a cost, which is null if the price is unknown. */
function printedNode({ costUsd, ...fields }: Json): Json {
  return { ...without(fields, node.hubOnly), ...(fields["usage"] === undefined ? {} : { costUsd: costUsd ?? null }) };
}

/** The error is left out if there is none, and the native id if no other program took the turn. */
function printedTurn({ error, nativeId, ...fields }: Json): Json {
  const cli = fields["cli"] === undefined ? {} : { nativeId };
  return { ...without(fields, turn.hubOnly), ...(error === null ? {} : { error }), ...cli };
}

function without(fields: Json, names: ReadonlySet<string>): Json {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !names.has(name)));
}

function decode(value: unknown, key: string): unknown {
  if (typeof value !== "object" || value === null) return typeof value === "string" && isTime(key) ? millisecondsOf(value) : value;
  if (foreignNames.has(key)) return value;
  if (key === "metadata") return metadataFromJson(value as Json);
  if (Array.isArray(value)) return value.map(fromJsonCase);
  if (isConfigSchema(value as Json)) return value;
  const fields: Json = {};
  for (const name of Object.keys(value)) fields[toOurName(name)] = decode((value as Json)[name], toOurName(name));
  const known = findKnownObject(fields, key);
  if (known === undefined) return fields;
  const decoded: Json = {};
  for (const name of Object.keys(fields)) decoded[known.ourNames.get(name) ?? name] = fields[name];
  return known === node ? foldNote(decoded) : decoded;
}

function findKnownObject(value: Json, key: string): KnownObject | undefined {
  if (positionKeys.has(key)) return position;
  return knownObjects.find(({ marks: [first, second] }) => first in value && second in value);
}

function encodeNumber(value: number, key: string): number | string {
  if (isTime(key)) return isoOf(value);
  return spentMoney.has(key) ? roundUsd(value) : value;
}

/** Limits, such as `maxBudgetUsd`, are sent as they were given. */
const spentMoney = new Set(["costUsd", "usdLeft"]);

/** Times are named `at` or `...At` and count milliseconds. */
function isTime(key: string): boolean {
  return key === "at" || key === "since" || key === "endedSince" || key.endsWith("At");
}

/** A number that is not a valid time stays a number. */
function isoOf(ms: number): string | number {
  const time = new Date(ms);
  return time.getTime() === ms ? time.toISOString() : ms;
}

/** Any other text stays as it is: the `at` of a fork is a node. */
function millisecondsOf(text: string): number | string {
  const time = new Date(text);
  return !Number.isNaN(time.getTime()) && time.toISOString() === text ? time.getTime() : text;
}

/** The JSON schema of the configuration: JSON schema and our config keys define its names. */
function isConfigSchema(value: Json): boolean {
  return "$schema" in value;
}
