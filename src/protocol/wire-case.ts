// The Api's values as they leave the process, snake_case with ISO times, and exactly back. Nodes, sessions, turns, asks
// and events have the fields of their records (records.ts) and more. What others have named stays as it is.
import { apiRows, type RowName } from "./api-rows.ts";

type Fields = Record<string, unknown>;

/** Below these keys the names are a model's, a vendor's, a tool's or a user's. */
const othersNames = new Set(["input", "metadata", "opaque", "answerSchema", "parameters", "value", "written", "env"]);

/** What a record calls otherwise, by two fields that tell which thing it is. */
const node = thing(["author", "parts"], { parent: "parentId", tree: "treeId", session: "sessionId", turn: "turnId" });
const session = thing(["tip", "createdAt"], { tree: "treeId", parentSession: "parentSessionId", transcript: "transcriptPath" });
const turn = thing(["steps", "policy"], { session: "sessionId" });
const ask = thing(["question", "openedAt"], { session: "sessionId", turn: "turnId" });
const spawned = thing(["sessionId", "task"], { session: "spawnedSessionId" });
const place = thing([], { session: "sessionId", node: "nodeId" });

/** The key decides for a place: `{session, node}` alone may as well be what a method is asked. */
const places = new Set(["forkedFrom", "graftedFrom"]);

export function toWire(value: unknown): unknown {
  return leaving(value, "");
}

export function fromWire(value: unknown): unknown {
  return entering(value, "");
}

/** `node.addSession` is `node.add_session` there. */
export function rowOnWire(row: RowName): string {
  return snakeCase(row);
}

export function rowOfWire(name: string): RowName | null {
  return rows.get(name) ?? null;
}

export function snakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

export function camelCase(name: string): string {
  return name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

const rows = new Map((Object.keys(apiRows) as RowName[]).map((row) => [rowOnWire(row), row]));

function leaving(value: unknown, key: string): unknown {
  if (isTime(key) && typeof value === "number") return isoOf(value);
  if (othersNames.has(key)) return value;
  if (Array.isArray(value)) return value.map(toWire);
  if (!isFields(value) || isSchema(value)) return value;
  const is = thingOf(value, key);
  const fields = is === node ? withFlatNote(value) : value;
  return mapFields(fields, (name, field) => [snakeCase(is?.onWire.get(name) ?? name), leaving(field, name)]);
}

function entering(value: unknown, key: string): unknown {
  if (isTime(key) && typeof value === "string") return millisecondsOf(value);
  if (othersNames.has(key)) return value;
  if (Array.isArray(value)) return value.map(fromWire);
  if (!isFields(value) || isSchema(value)) return value;
  const fields = mapFields(value, (name, field) => [camelCase(name), entering(field, camelCase(name))]);
  const is = thingOf(fields, key);
  const named = mapFields(fields, (name, field) => [is?.ours.get(name) ?? name, field]);
  return is === node ? withWholeNote(named) : named;
}

type Thing = { marks: string[]; onWire: Map<string, string>; ours: Map<string, string> };

function thing(marks: string[], names: Record<string, string>): Thing {
  const entries = Object.entries(names);
  return { marks, onWire: new Map(entries), ours: new Map(entries.map(([ours, onWire]) => [onWire, ours])) };
}

function thingOf(value: Fields, key: string): Thing | undefined {
  if (places.has(key)) return place;
  return [node, session, turn, ask, spawned].find(({ marks }) => marks.every((mark) => mark in value));
}

/** A node's record only says what its note is about; the rest stands beside it. */
function withFlatNote({ note, ...node }: Fields): Fields {
  if (!isFields(note)) return node;
  const { about, keptFrom, call, from } = note;
  return {
    ...node,
    note: about,
    ...(keptFrom === undefined ? {} : { keptFrom }),
    ...(call === undefined ? {} : { belowCall: call }),
    ...(from === undefined ? {} : { graftedFrom: from }),
  };
}

function withWholeNote({ note, keptFrom, belowCall, graftedFrom, ...node }: Fields): Fields {
  if (note === undefined) return node;
  return {
    ...node,
    note: {
      about: note,
      ...(keptFrom === undefined ? {} : { keptFrom }),
      ...(belowCall === undefined ? {} : { call: belowCall }),
      ...(graftedFrom === undefined ? {} : { from: graftedFrom }),
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

function mapFields(value: Fields, change: (name: string, field: unknown) => [string, unknown]): Fields {
  return Object.fromEntries(Object.entries(value).map(([name, field]) => change(name, field)));
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
