// The one table of external CLIs. It is loaded at every start, so it holds only the facts that are needed before a turn;
// `load` imports the adapter. A new CLI needs an entry here, its adapter, and its version in bench/peers.ts.
import type { Adapter } from "./adapter.ts";

export type AgentEntry = {
  name: string;
  /** Vendor of its models; null for a CLI that works with any vendor. */
  vendor: string | null;
  /** Whether the CLI can fork its own sessions. */
  canFork: boolean;
  /** Whether a configured agent can resume its own sessions. Undefined for a CLI of this table: a trial of it decides. */
  resumes?: boolean;
};

export type ExternalAgentEntry = AgentEntry & { load: () => Promise<Adapter> };

export const externalAgents: readonly ExternalAgentEntry[] = [
  { name: "claude", vendor: "anthropic", canFork: true, load: async () => (await import("./claude.ts")).claude },
  { name: "codex", vendor: "openai", canFork: true, load: async () => (await import("./codex.ts")).codex },
  { name: "gemini", vendor: "gemini", canFork: false, load: async () => (await import("./gemini.ts")).gemini },
  { name: "opencode", vendor: null, canFork: true, load: async () => (await import("./opencode.ts")).opencode },
  { name: "pi", vendor: null, canFork: true, load: async () => (await import("./pi.ts")).pi },
];

export const externalAgentNames: readonly string[] = externalAgents.map(({ name }) => name);

export function findExternalAgent(name: string): ExternalAgentEntry | undefined {
  return externalAgents.find((entry) => entry.name === name);
}

export function loadAdapters(): Promise<Adapter[]> {
  return Promise.all(externalAgents.map(({ load }) => load()));
}
