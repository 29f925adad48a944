// The MCP servers that another agent's CLI gets: those that ask for it with `other_agents`, and those of the front end. Every
// user of the machine can read arguments, and files outlive the turn. So the values of a server's variables and headers are
// variables of the CLI, and its configuration only names them.
import { isOffline, type Policy } from "../../../protocol/api/policy.ts";
import type { McpServer } from "../../../protocol/mcp/server-entry.ts";
import type { Adapter, CliServer, CliServers } from "../adapters/adapter.ts";

export const noServers: CliServers = { list: [], values: {} };

type Offer = { servers: ReadonlyMap<string, McpServer>; adapter: Pick<Adapter, "name" | "takesServers">; policy: Policy };

/** `problems` has one line for the user about each reason why servers are left out. */
export function cliServers({ servers, adapter, policy }: Offer): CliServers & { problems: string[] } {
  if (servers.size > 0 && adapter.takesServers !== true) {
    const problem = `${adapter.name} can't use MCP servers, so it has no ${[...servers.keys()].join(", ")}`;
    return { ...noServers, problems: [problem] };
  }
  const values: Record<string, string> = {};
  const problems: string[] = [];
  const list = [...servers].flatMap(([name, server]) => {
    const problem = problemOf(server, policy);
    if (problem === null) return [toCliServer(name, server, values)];
    problems.push(`${adapter.name} has no MCP server ${name}: ${problem}`);
    return [];
  });
  return { list, values, problems };
}

/** The CLI itself connects to a server over HTTP, from inside of its sandbox. */
function problemOf(server: McpServer, policy: Policy): string | null {
  if (server.kind === "stdio") {
    const odd = Object.keys(server.env).find((name) => !/^[A-Za-z_]\w*$/.test(name));
    return odd === undefined ? null : `${JSON.stringify(odd)} can't be the name of a variable`;
  }
  if (server.isOldSse) return "only the native agent uses the transport sse";
  return isOffline(policy) ? "a server over HTTP needs --net on" : null;
}

function toCliServer(wanted: string, server: McpServer, values: Record<string, string>): CliServer {
  // Codex accepts no other characters in a name.
  const name = wanted.replaceAll(".", "-");
  const store = (texts: Readonly<Record<string, string>>) =>
    Object.fromEntries(
      Object.entries(texts).map(([key, value]) => {
        const variable = `SKEIN_MCP_${Object.keys(values).length}`;
        values[variable] = value;
        return [key, variable];
      }),
    );
  if (server.kind === "http") return { kind: "http", name, url: server.url, headers: store(server.headers) };
  const { command, args, cwd } = server;
  const started = cwd === null ? { command, args } : { command: "/bin/sh", args: ["-c", 'cd "$0" && exec "$@"', cwd, command, ...args] };
  return { kind: "stdio", name, ...started, env: store(server.env) };
}
