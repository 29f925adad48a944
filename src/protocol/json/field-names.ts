// Names of fields in JSON: snake_case, and for some fields another word. Schemas and the encoder share this table.

/** Fields whose JSON name is another word than ours, by the object that they belong to. */
export const renamedFields = {
  node: { parent: "parentId", tree: "treeId", session: "sessionId", turn: "turnId" },
  session: { tree: "treeId", parentSession: "parentSessionId", transcript: "transcriptPath" },
  turn: { session: "sessionId" },
  ask: { session: "sessionId", turn: "turnId" },
  spawned: { session: "spawnedSessionId" },
  position: { session: "sessionId", node: "nodeId" },
} as const;

export function snakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

export function camelCase(name: string): string {
  return name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
