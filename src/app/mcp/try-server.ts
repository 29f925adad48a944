// `skein mcp try`: starts one configured server in the sandbox of a turn with the configured policy, and runs one call.
import { nearestWord } from "../../kit/text/nearest-word.ts";
import { Fault } from "../../protocol/api/error.ts";
import type { McpTrial } from "../../protocol/api/api.ts";
import { configuredPolicy } from "../../protocol/api/turn-options.ts";
import { findProject } from "../../config/paths.ts";
import { settingsOf } from "../../config/values.ts";
import type { AppContext } from "../app-context.ts";
import type { ExecutorProvider } from "../executors/executors.ts";
import { listServers } from "./list-servers.ts";
import { openTurnServers } from "./turn-servers.ts";

type TrialParams = { name: string; tool: string | null; input?: Record<string, unknown>; directory: string };

/** Throws for an unknown server. A failure of the server is in the result. */
export async function tryServer(
  ctx: AppContext,
  executors: Pick<ExecutorProvider, "enforced" | "getOwn" | "endOwn">,
  { name, tool, input = {}, directory }: TrialParams,
): Promise<McpTrial> {
  const infos = listServers(ctx);
  const info = infos.find((candidate) => candidate.name === name);
  if (info === undefined)
    throw unknownServer(
      name,
      infos.map((candidate) => candidate.name),
    );
  if (info.problem !== null) throw new Fault("config", `the MCP server ${name} can't be used: ${info.problem}`);
  if (info.state === "disabled")
    throw new Fault("config", `the MCP server ${name} is disabled`, { hint: `skein config set mcp_servers.${name}.disabled false` });
  const policy = configuredPolicy(settingsOf(ctx.config.values));
  await executors.enforced(policy);
  const session = crypto.randomUUID();
  const project = findProject(directory, ctx.paths.home);
  const turn = { session, root: session, turn: session, project, directory, policy, nesting: false, mcpServers: {} };
  const servers = openTurnServers(ctx, executors, turn);
  const startedAt = performance.now();
  try {
    const call = { server: name, tool, arguments: input };
    const options = { signal: new AbortController().signal, registerPausable: () => () => {}, onProgress: () => {} };
    const { text, isError, images = [] } = await servers.call(call, options);
    return { name, text, isError, images: images.length, durationMs: Math.round(performance.now() - startedAt) };
  } finally {
    await servers.close();
  }
}

export function unknownServer(name: string, names: string[]): Fault {
  const nearest = nearestWord(name, names);
  const hint = nearest === null ? "`skein mcp list` lists them; `skein mcp add` adds one" : `did you mean "${nearest}"?`;
  return new Fault("usage", `there is no MCP server "${name}"`, { hint });
}
