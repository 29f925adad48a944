// The Api's values as they leave the process, snake_case with ISO times, and exactly back. Nodes, sessions, turns, asks
// and events have the fields of their records (records.ts) and more. What others have named stays as it is.
import { isRecord } from "../../kit/text/json.ts";
import { camelCase, renamedFields, snakeCase } from "./field-names.ts";
import type { MethodName } from "../api/api.ts";

type Fields = Record<string, unknown>;

/** Below these keys the names are a model's, a vendor's, a tool's or a user's. */
const othersNames = new Set(["input", "metadata", "opaque", "answerSchema", "parameters", "value", "written", "env"]);

/** What a record calls otherwise, by two fields that tell which thing it is. */
const node = thing(["author", "parts"], renamedFields.node);
const session = thing(["tip", "createdAt"], renamedFields.session);
const turn = thing(["steps", "policy"], renamedFields.turn);
const ask = thing(["question", "openedAt"], renamedFields.ask);
const spawned = thing(["sessionId", "task"], renamedFields.spawned);
const place = thing(["session", "node"], renamedFields.position);

/** The key decides for a place: `{session, node}` alone may as well be what a method is asked. */
const places = new Set(["forkedFrom", "graftedFrom"]);

export function toJsonCase(value: unknown): unknown {
  return leaving(value, "");
}

export function fromJsonCase(value: unknown): unknown {
  return entering(value, "");
}

/** `node.addSession` is `node.add_session` there. */
export function toMethodName(method: MethodName): string {
  return snakeCase(method);
}

const wireName = remembered(snakeCase);
const ourName = remembered(camelCase);

/** The names are few, and there is one for every word that streams. */
function remembered(change: (name: string) => string): (name: string) => string {
  const known = new Map<string, string>();
  return (name) => {
    const found = known.get(name);
    if (found !== undefined) return found;
    const changed = change(name);
    if (known.size < 1_000) known.set(name, changed);
    return changed;
  };
}

function leaving(value: unknown, key: string): unknown {
  if (typeof value !== "object" || value === null) return typeof value === "number" && isTime(key) ? isoOf(value) : value;
  if (othersNames.has(key)) return value;
  if (Array.isArray(value)) return value.map(toJsonCase);
  if (isSchema(value as Fields)) return value;
  const is = thingOf(value as Fields, key);
  const fields = is === node ? withFlatNote(value as Fields) : (value as Fields);
  const left: Fields = {};
  for (const name of Object.keys(fields)) left[wireName(is?.onWire.get(name) ?? name)] = leaving(fields[name], name);
  return left;
}

function entering(value: unknown, key: string): unknown {
  if (typeof value !== "object" || value === null) return typeof value === "string" && isTime(key) ? millisecondsOf(value) : value;
  if (othersNames.has(key)) return value;
  if (Array.isArray(value)) return value.map(fromJsonCase);
  if (isSchema(value as Fields)) return value;
  const fields: Fields = {};
  for (const name of Object.keys(value)) fields[ourName(name)] = entering((value as Fields)[name], ourName(name));
  const is = thingOf(fields, key);
  if (is === undefined) return fields;
  const entered: Fields = {};
  for (const name of Object.keys(fields)) entered[is.ours.get(name) ?? name] = fields[name];
  return is === node ? withWholeNote(entered) : entered;
}

type KnownRecord = { marks: [string, string]; onWire: Map<string, string>; ours: Map<string, string> };

function thing(marks: [string, string], names: Record<string, string>): KnownRecord {
  const entries = Object.entries(names);
  return { marks, onWire: new Map(entries), ours: new Map(entries.map(([ours, onWire]) => [onWire, ours])) };
}

const things = [node, session, turn, ask, spawned];

function thingOf(value: Fields, key: string): KnownRecord | undefined {
  if (places.has(key)) return place;
  return things.find(({ marks: [one, other] }) => one in value && other in value);
}

/** A node's record only says what its note is about; the rest stands beside it. */
function withFlatNote({ note, ...node }: Fields): Fields {
  if (!isRecord(note)) return node;
  const { about, keptFrom, call, from, said, happened } = note;
  return {
    ...node,
    note: about,
    ...(keptFrom === undefined ? {} : { keptFrom }),
    ...(call === undefined ? {} : { belowCall: call }),
    ...(from === undefined ? {} : { graftedFrom: from }),
    ...(said === undefined ? {} : { said }),
    ...(happened === undefined ? {} : { happened }),
  };
}

function withWholeNote({ note, keptFrom, belowCall, graftedFrom, said, happened, ...node }: Fields): Fields {
  if (note === undefined) return node;
  return {
    ...node,
    note: {
      about: note,
      ...(keptFrom === undefined ? {} : { keptFrom }),
      ...(belowCall === undefined ? {} : { call: belowCall }),
      ...(graftedFrom === undefined ? {} : { from: graftedFrom }),
      ...(said === undefined ? {} : { said }),
      ...(happened === undefined ? {} : { happened }),
    },
  };
}

function isTime(key: string): boolean {
  return key === "at" || key === "endedSince" || key.endsWith("At");
}

/** What no calendar knows stays a number. */
function isoOf(ms: number): string | number {
  const time = new Date(ms);
  return time.getTime() === ms ? time.toISOString() : ms;
}

/** Any other text stays what it is: a fork is `at` a node. */
function millisecondsOf(text: string): number | string {
  const time = new Date(text);
  return !Number.isNaN(time.getTime()) && time.toISOString() === text ? time.getTime() : text;
}

/** The schema of the configuration: its names are those of a JSON schema and of our config keys. */
function isSchema(value: Fields): boolean {
  return "$schema" in value;
}
