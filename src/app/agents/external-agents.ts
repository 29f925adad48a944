// Creates the external agents for the engine. Each adapter is loaded at the agent's first turn.
import { join } from "node:path";
import type { Adapter } from "../../agents/external/adapters/adapter.ts";
import type { ExternalAgentDeps } from "../../agents/external/turn/external-agent.ts";
import { type AgentEntry, externalAgents, findExternalAgent } from "../../agents/external/adapters/index.ts";
import { agentProgram, type Program, readProgram, refusalText } from "../../agents/external/process/program.ts";
import { agentPresets, type AgentPreset } from "../../agents/external/configured/presets.ts";
import { recipeEntry } from "../../agents/external/configured/recipe.ts";
import { variableIn } from "../../config/values.ts";
import type { AgentConfig } from "../../protocol/api/agents.ts";
import { programSearch, type AppContext } from "../app-context.ts";
import { serversOf } from "../mcp/turn-servers.ts";
import { findProgram } from "../../kit/process/trusted-programs.ts";
import type { Endpoint } from "../../models/model.ts";
import { endpointFor } from "../../models/vendors.ts";
import { messageOf } from "../../protocol/api/error.ts";
import type { Agent } from "../../protocol/api/ports.ts";
import type { LimitPort } from "../limit-port.ts";
import type { ExecutorProvider } from "../executors/executors.ts";
import { cachedFindings } from "./agent-cache.ts";
import { credentialSources } from "./agent-credentials.ts";

export { externalAgentNames } from "../../agents/external/adapters/index.ts";

type ExternalAgentPorts = { executors: ExecutorProvider; limits: LimitPort | undefined };

export function createExternalAgents(ctx: AppContext, ports: ExternalAgentPorts, configured: AgentEntry[]): Agent[] {
  return [...externalAgents, ...configured].map((entry) => createLazyAgent(entry, ctx, ports));
}

/** The recipes by name: the presets, and the agents of the configuration, which replace them. */
export function agentRecipes({ config, env }: Pick<AppContext, "config" | "env">): Readonly<Record<string, AgentConfig>> {
  const presets = Object.entries(agentPresets).map(([name, preset]) => [name, { ...preset, env: withVariables(preset.env, env) }]);
  return { ...(Object.fromEntries(presets) as Record<string, AgentConfig>), ...config.values.agents };
}

/** Replaces `$NAME` by the variable; leaves out entries whose variable is not set. */
function withVariables(recipeEnv: AgentConfig["env"], env: AppContext["env"]): Record<string, string> {
  const values = Object.entries(recipeEnv).map(([name, text]) => {
    const variable = variableIn(text);
    return [name, variable === null ? text : env[variable]] as const;
  });
  return Object.fromEntries(values.filter((value): value is [string, string] => value[1] !== undefined));
}

/** An agent of the configuration is no preset, whatever its name. */
export function findPreset({ config }: Pick<AppContext, "config">, name: string): AgentPreset | null {
  return Object.hasOwn(config.values.agents, name) || !Object.hasOwn(agentPresets, name) ? null : agentPresets[name]!;
}

/** An invalid entry is a fault. With `lenient` it is a warning, so that the user can repair the configuration. */
export function configuredEntries(ctx: AppContext): AgentEntry[] {
  return Object.entries(agentRecipes(ctx)).flatMap(([name, recipe]) => {
    try {
      return [recipeEntry(name, recipe)];
    } catch (error) {
      if (!ctx.lenient) throw error;
      ctx.warn(messageOf(error));
      return [];
    }
  });
}

function createLazyAgent({ name, canFork, resumes }: AgentEntry, ctx: AppContext, ports: ExternalAgentPorts): Agent {
  let loading: Promise<Agent> | null = null;
  const load = () => (loading ??= loadAgent(name, ctx, ports));
  return {
    name,
    takesTasks: true,
    get cliSessions() {
      return resumes === undefined ? cliSessionSupport(name, canFork, ctx) : resumes ? { canFork } : undefined;
    },
    check: async (turn) => (await load()).check(turn),
    preview: async (input) => (await load()).preview(input),
    enforced: async (policy, model) => (await load()).enforced(policy, model),
    async *takeTurn(input, context) {
      yield* (await load()).takeTurn(input, context);
    },
  };
}

/** The result of a trial of this program takes precedence over the table. */
function cliSessionSupport(program: string, canFork: boolean, ctx: AppContext): Agent["cliSessions"] {
  const { program: installed } = findInstalled(ctx, program);
  const findings = installed === null ? null : cachedFindings(ctx.paths.state, installed);
  if (findings === null) return { canFork };
  return findings.resume ? { canFork: findings.fork } : undefined;
}

export type InstalledProgram = {
  /** Null if it is not installed, or is not used. */
  program: Program | null;
  /** The program that was found but is not used, with the reason; null if there is none, or another one is used. */
  refused: { path: string; text: string } | null;
};

export function findInstalled(ctx: AppContext, name: string): InstalledProgram {
  const match = findProgram(name, programSearch(ctx));
  const program = agentProgram(name, match);
  if (program !== null) return { program: readProgram(program), refused: null };
  return { program: null, refused: match.refused && { path: match.refused.path, text: refusalText(match) ?? "" } };
}

async function loadAgent(name: string, ctx: AppContext, { executors, limits }: ExternalAgentPorts): Promise<Agent> {
  const [{ externalAgent }, adapter, { priceOf }] = await Promise.all([
    import("../../agents/external/turn/external-agent.ts"),
    loadAdapter(name, ctx),
    import("../../models/catalog.ts"),
  ]);
  const deps: ExternalAgentDeps = {
    adapter,
    env: ctx.env,
    find: (program, turn) => findProgram(program, programSearch(ctx, turn)),
    configRoot: ctx.ephemeral ? executors.createScratchDirectory() : join(ctx.paths.data, "agents"),
    sandboxCommand: executors.sandboxCommand,
    enforced: executors.enforced,
    servers: ({ mcpServers }) => serversOf(ctx, mcpServers, { forOtherAgents: true }),
    vendorAccess: {
      ...credentialSources(ctx),
      endpoint: (vendor, apiKey) => endpointOf(ctx, vendor, apiKey),
      price: (vendor, model, usage) => priceOf(vendor, model, usage, { settings: ctx.models }),
      sandboxStatus: executors.sandboxStatus,
      onHeaders: limits?.onHeaders,
    },
  };
  return externalAgent(deps);
}

/** A key from the CLI's own files takes precedence over the environment and the config. */
function endpointOf({ env, providers }: AppContext, vendor: string, apiKey: string | null): Endpoint {
  const config = providers[vendor];
  if (apiKey === null) return endpointFor(vendor, { env, config });
  return { ...endpointFor(vendor, { env, config: { ...config, apiKey } }), apiKey, headers: { ...config?.headers } };
}

export async function loadAdapter(name: string, ctx: AppContext): Promise<Adapter> {
  const entry = findExternalAgent(name);
  if (entry !== undefined) return entry.load();
  const { configuredAdapter } = await import("../../agents/external/configured/configured-adapter.ts");
  return configuredAdapter(name, agentRecipes(ctx)[name]!);
}
