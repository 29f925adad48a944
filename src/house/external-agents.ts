// The other agents as the engine is given them: each is loaded when it takes its first turn, with its own walls, key
// and configuration directory.
import { join } from "node:path";
import type { ExternalParts } from "../agents/external/external.ts";
import { type AgentRow, externalAgents as rows } from "../agents/external/names.ts";
import { findProgram, programAt } from "../agents/external/program.ts";
import type { Ground } from "../house.ts";
import { endpointFor } from "../models/providers.ts";
import type { Agent } from "../protocol/ports.ts";
import type { Executors } from "./executors.ts";
import { foundOf } from "./known-agents.ts";

export function externalAgents(ground: Ground, executors: Executors): Agent[] {
  return rows.map((row) => lazily(row, ground, executors));
}

function lazily({ name, canFork }: AgentRow, ground: Ground, executors: Executors): Agent {
  let loading: Promise<Agent> | null = null;
  const load = () => (loading ??= loadAgent(name, ground, executors));
  return {
    name,
    takesTasks: true,
    get native() {
      return ownSessions(name, canFork, ground);
    },
    check: async (turn) => (await load()).check(turn),
    preview: async (input) => (await load()).preview(input),
    enforced: executors.enforced,
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
  const [{ externalAgent }, { adapters }, { priceOf }] = await Promise.all([
    import("../agents/external/external.ts"),
    import("../agents/external/index.ts"),
    import("../models/catalog.ts"),
  ]);
  const parts: ExternalParts = {
    adapter: adapters[name]!,
    env: ground.env,
    find: (program) => findProgram(program, ground.env["PATH"] ?? ""),
    configRoot: join(ground.paths.data, "agents"),
    wall: executors.wall,
    enforced: executors.enforced,
    gate: {
      endpoint: (vendor) => endpointFor(vendor, { env: ground.env, config: ground.providers[vendor] }),
      price: priceOf,
      wallsOf: executors.wallsOf,
    },
  };
  return externalAgent(parts);
}
