// Names of fields in JSON: snake_case, and for some fields another word. Schemas and the encoder share them.
import { isRecord, type Json } from "../../kit/text/json.ts";

/** Fields whose JSON name is another word than ours, by the object that they belong to. */
export const renamedFields = {
  node: { parent: "parentId", tree: "treeId", session: "sessionId", turn: "turnId" },
  session: { tree: "treeId", parentSession: "parentSessionId", transcript: "transcriptPath" },
  turn: { session: "sessionId" },
  ask: { session: "sessionId", turn: "turnId" },
  spawned: { session: "spawnedSessionId" },
  pending: { session: "sessionId" },
  position: { session: "sessionId", node: "nodeId" },
} as const;

/** Used for names of methods too: `node.addSession` is `node.add_session`. */
export function snakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

export function camelCase(name: string): string {
  return name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** The metadata of a handle: its names change, its values do not. */
export function metadataToJson(metadata: Json): Json {
  return Object.fromEntries(Object.entries(metadata).map(([name, value]) => [snakeCase(name), value]));
}

export function metadataFromJson(metadata: Json): Json {
  return Object.fromEntries(Object.entries(metadata).map(([name, value]) => [camelCase(name), value]));
}

/** In JSON the details of a note are fields of its node, and `note` is only the kind. */
export function flattenNote(node: Json): Json {
  if (!isRecord(node["note"])) return node;
  const { about, keptFrom, call, from, said, happened, check } = node["note"];
  return { ...node, note: about, ...definedFields({ keptFrom, belowCall: call, graftedFrom: from, said, happened, check }) };
}

export function foldNote({ note: about, keptFrom, belowCall, graftedFrom, said, happened, check, ...node }: Json): Json {
  if (about === undefined) return node;
  return { ...node, note: definedFields({ about, keptFrom, call: belowCall, from: graftedFrom, said, happened, check }) };
}

function definedFields(fields: Json): Json {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
