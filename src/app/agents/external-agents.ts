// The other agents as the engine is given them: each is loaded when it takes its first turn, with its own walls, key
// and configuration directory.
import { join } from "node:path";
import type { Adapter } from "../../agents/external/adapters/adapter.ts";
import type { ExternalAgentDeps } from "../../agents/external/turn/external-agent.ts";
import { type AgentEntry, externalAgentTable as rows } from "../../agents/external/adapters/names.ts";
import { findProgram, readProgram } from "../../agents/external/process/program.ts";
import { recipeEntry } from "../../agents/external/configured/recipe.ts";
import type { AppContext } from "../create-app.ts";
import type { Endpoint } from "../../models/model.ts";
import { endpointFor } from "../../models/vendors.ts";
import { messageOf } from "../../protocol/api/error.ts";
import type { Agent } from "../../protocol/api/ports.ts";
import type { ExecutorProvider } from "../executors/executors.ts";
import { cachedFindings } from "./agent-cache.ts";

export function createExternalAgents(ctx: AppContext, executors: ExecutorProvider, configured: AgentEntry[]): Agent[] {
  return [...rows, ...configured].map((row) => lazily(row, ctx, executors));
}

/** Those of the configuration. One that makes no sense is a fault, or a warning for those who are to mend it. */
export function configuredEntries(ctx: AppContext): AgentEntry[] {
  return Object.entries(ctx.config.values.agents).flatMap(([name, recipe]) => {
    try {
      return [recipeEntry(name, recipe)];
    } catch (error) {
      if (!ctx.lenient) throw error;
      ctx.warn(messageOf(error));
      return [];
    }
  });
}

function lazily({ name, canFork, resumes }: AgentEntry, ctx: AppContext, executors: ExecutorProvider): Agent {
  let loading: Promise<Agent> | null = null;
  const load = () => (loading ??= loadAgent(name, ctx, executors));
  return {
    name,
    takesTasks: true,
    get native() {
      return resumes === undefined ? ownSessions(name, canFork, ctx) : resumes ? { canFork } : undefined;
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
function ownSessions(program: string, canFork: boolean, ctx: AppContext): Agent["native"] {
  const path = findProgram(program, ctx.env["PATH"] ?? "");
  const found = path === null ? null : cachedFindings(ctx.paths.state, readProgram(path));
  if (found === null) return { canFork };
  return found.resume ? { canFork: found.fork } : undefined;
}

async function loadAgent(name: string, ctx: AppContext, executors: ExecutorProvider): Promise<Agent> {
  const [{ externalAgent }, adapter, { priceOf }] = await Promise.all([
    import("../../agents/external/turn/external-agent.ts"),
    loadAdapter(name, ctx),
    import("../../models/catalog.ts"),
  ]);
  const parts: ExternalAgentDeps = {
    adapter,
    env: ctx.env,
    find: (program) => findProgram(program, ctx.env["PATH"] ?? ""),
    configRoot: ctx.ephemeral ? executors.createScratchDirectory() : join(ctx.paths.data, "agents"),
    sandboxCommand: executors.sandboxCommand,
    enforced: executors.enforced,
    vendorAccess: {
      env: ctx.env,
      home: ctx.paths.home,
      config: (vendor) => ctx.providers[vendor],
      endpoint: (vendor, apiKey) => endpointOf(ctx, vendor, apiKey),
      price: priceOf,
      sandboxStatus: executors.sandboxStatus,
    },
  };
  return externalAgent(parts);
}

/** A key that the CLI keeps goes before what the environment and the config say. */
function endpointOf({ env, providers }: AppContext, vendor: string, apiKey: string | null): Endpoint {
  const config = providers[vendor];
  if (apiKey === null) return endpointFor(vendor, { env, config });
  return { ...endpointFor(vendor, { env, config: { ...config, apiKey } }), apiKey, headers: { ...config?.headers } };
}

export async function loadAdapter(name: string, ctx: AppContext): Promise<Adapter> {
  const recipe = rows.some((row) => row.name === name) ? undefined : ctx.config.values.agents[name];
  if (recipe !== undefined) return (await import("../../agents/external/configured/configured-adapter.ts")).configuredAdapter(name, recipe);
  return (await import("../../agents/external/adapters/index.ts")).adapters[name]!;
}
