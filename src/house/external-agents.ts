// The other agents as the engine is given them: each is loaded when it takes its first turn, with its own walls, key
// and configuration directory.
import { join } from "node:path";
import type { Adapter } from "../agents/external/adapter.ts";
import type { ExternalParts } from "../agents/external/external.ts";
import { type AgentRow, externalAgents as rows } from "../agents/external/names.ts";
import { findProgram, programAt } from "../agents/external/program.ts";
import { recipeRow } from "../agents/external/recipe.ts";
import type { Ground } from "../house.ts";
import type { Endpoint } from "../models/model.ts";
import { endpointFor } from "../models/providers.ts";
import { messageOf } from "../protocol/error.ts";
import type { Agent } from "../protocol/ports.ts";
import type { Executors } from "./executors.ts";
import { foundOf } from "./known-agents.ts";

export function externalAgents(ground: Ground, executors: Executors, configured: AgentRow[]): Agent[] {
  return [...rows, ...configured].map((row) => lazily(row, ground, executors));
}

/** Those of the configuration. One that makes no sense is a fault, or a warning for those who are to mend it. */
export function configuredRows(ground: Ground): AgentRow[] {
  return Object.entries(ground.config.values.agents).flatMap(([name, recipe]) => {
    try {
      return [recipeRow(name, recipe)];
    } catch (error) {
      if (!ground.lenient) throw error;
      ground.warn(messageOf(error));
      return [];
    }
  });
}

function lazily({ name, canFork, resumes }: AgentRow, ground: Ground, executors: Executors): Agent {
  let loading: Promise<Agent> | null = null;
  const load = () => (loading ??= loadAgent(name, ground, executors));
  return {
    name,
    takesTasks: true,
    get native() {
      return resumes === undefined ? ownSessions(name, canFork, ground) : resumes ? { canFork } : undefined;
    },
    check: async (turn) => (await load()).check(turn),
    preview: async (input) => (await load()).preview(input),
    enforced: async (policy, model) => (await load()).enforced(policy, model),
    async *takeTurn(input, context) {
      yield* (await load()).takeTurn(input, context);
    },
  };
}

/** What a trial of this very program has shown counts more than what is known of its kind. */
function ownSessions(program: string, canFork: boolean, ground: Ground): Agent["native"] {
  const path = findProgram(program, ground.env["PATH"] ?? "");
  const found = path === null ? null : foundOf(ground.paths.state, programAt(path));
  if (found === null) return { canFork };
  return found.resume ? { canFork: found.fork } : undefined;
}

async function loadAgent(name: string, ground: Ground, executors: Executors): Promise<Agent> {
  const [{ externalAgent }, adapter, { priceOf }] = await Promise.all([
    import("../agents/external/external.ts"),
    adapterNamed(name, ground),
    import("../models/catalog.ts"),
  ]);
  const parts: ExternalParts = {
    adapter,
    env: ground.env,
    find: (program) => findProgram(program, ground.env["PATH"] ?? ""),
    configRoot: ground.ephemeral ? executors.scratch() : join(ground.paths.data, "agents"),
    wall: executors.wall,
    enforced: executors.enforced,
    gate: {
      env: ground.env,
      home: ground.paths.home,
      config: (vendor) => ground.providers[vendor],
      endpoint: (vendor, apiKey) => endpointOf(ground, vendor, apiKey),
      price: priceOf,
      wallsOf: executors.wallsOf,
    },
  };
  return externalAgent(parts);
}

/** A key that the CLI keeps goes before what the environment and the config say. */
function endpointOf({ env, providers }: Ground, vendor: string, apiKey: string | null): Endpoint {
  const config = providers[vendor];
  if (apiKey === null) return endpointFor(vendor, { env, config });
  return { ...endpointFor(vendor, { env, config: { ...config, apiKey } }), apiKey, headers: { ...config?.headers } };
}

export async function adapterNamed(name: string, ground: Ground): Promise<Adapter> {
  const recipe = rows.some((row) => row.name === name) ? undefined : ground.config.values.agents[name];
  if (recipe !== undefined) return (await import("../agents/external/configured.ts")).configuredAdapter(name, recipe);
  return (await import("../agents/external/index.ts")).adapters[name]!;
}
