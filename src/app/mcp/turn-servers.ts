// The MCP servers of a turn: those of the config, of a trusted .mcp.json and of the front end. Starts none: the client is
// loaded and a server is started with its first call.
import { isAbsolute, join } from "node:path";
import { checkServer, type McpServer, type McpServerEntries, type McpServerEntry } from "../../protocol/mcp/server-entry.ts";
import type { TurnInput, TurnServers } from "../../protocol/api/ports.ts";
import type { AppContext } from "../app-context.ts";
import type { ExecutorProvider } from "../executors/executors.ts";
import { signInStore } from "./sign-in-store.ts";

/** A server by name, with its origin. `written` has no values of variables, so it may be printed. */
export type ConfiguredServer = { name: string; entry: McpServerEntry; written: McpServerEntry; origin: string; isTrusted: boolean };

/** A server of the config replaces one of .mcp.json. */
export function configuredServers({ config: { values, origins, projectServers } }: AppContext): ConfiguredServer[] {
  const own = Object.entries(values.mcpServers).map(([name, entry]) => {
    const key = Object.keys(origins).find((candidate) => candidate.startsWith(`mcp_servers.${name}.`));
    return { name, entry, written: entry, origin: origins[key ?? ""] ?? "default", isTrusted: true };
  });
  const shared = Object.entries(projectServers?.servers ?? {}).filter(([name]) => !Object.hasOwn(values.mcpServers, name));
  return [
    ...own,
    ...shared.map(([name, entry]) => ({
      name,
      entry,
      written: projectServers?.written[name] ?? {},
      origin: projectServers?.path ?? "",
      isTrusted: projectServers?.isTrusted ?? false,
    })),
  ];
}

/**
 * The usable servers of a turn, by name. `added` are those of the front end; null means none at all. Another agent than
 * native gets the added ones, and of the configured ones those that ask for it.
 */
export function serversOf(
  ctx: AppContext,
  added: McpServerEntries | null,
  { forOtherAgents = false } = {},
): ReadonlyMap<string, McpServer> {
  const servers = new Map<string, McpServer>();
  if (added === null) return servers;
  const configured = configuredServers(ctx).filter(({ isTrusted, entry }) => isTrusted && (!forOtherAgents || entry.otherAgents === true));
  for (const [name, entry] of [...configured.map((server) => [server.name, server.entry] as const), ...Object.entries(added)]) {
    const server = checkServer(entry);
    servers.delete(name);
    if (typeof server !== "string" && entry.disabled !== true) servers.set(name, server);
  }
  return servers;
}

/** The parts of a turn that its servers need. */
export type ServedTurn = Pick<
  TurnInput,
  "session" | "root" | "turn" | "project" | "directory" | "policy" | "nesting" | "env" | "mcpServers"
>;

export function openTurnServers(ctx: AppContext, executors: Pick<ExecutorProvider, "getOwn" | "endOwn">, turn: ServedTurn): TurnServers {
  const servers = serversOf(ctx, turn.mcpServers);
  const programs = new Set<string>();
  let loading: Promise<Pick<TurnServers, "call" | "close">> | null = null;
  const load = async () => {
    const { createTurnServers } = await import("../../mcp-client/turn-servers.ts");
    return createTurnServers(servers, {
      version: ctx.version,
      signInOf: (server) => signInStore(ctx, server.url),
      openProgram: (name, server, { signal, onOutput, registerPausable }) => {
        // Each server of each turn has its own sandbox, so that no other program of the session reads its secrets.
        const program = JSON.stringify(["mcp", turn.turn, name]);
        programs.add(program);
        const cwd = server.cwd === null ? turn.directory : isAbsolute(server.cwd) ? server.cwd : join(turn.directory, server.cwd);
        const options = { session: turn.session, cwd, env: { ...server.env }, signal, pausable: registerPausable, onOutput };
        return executors.getOwn(turn, program).openProgram([server.command, ...server.args], options);
      },
    });
  };
  return {
    names: [...servers.keys()],
    call: async (...call) => (await (loading ??= load())).call(...call),
    async close() {
      if (loading === null) return;
      const loaded = await loading.catch(() => null);
      await loaded?.close();
      await Promise.all([...programs].map((program) => executors.endOwn(turn, program)));
    },
  };
}
