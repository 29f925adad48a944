// The MCP servers of a launch in the form that most CLIs read: an object by name. Each CLI has its own words for the fields.
import type { Json } from "../../../kit/text/json.ts";
import type { CliLaunch, CliServer } from "./adapter.ts";

type Texts = Readonly<Record<string, string>>;
type Stdio = Extract<CliServer, { kind: "stdio" }> & { env: Texts };
type Http = Extract<CliServer, { kind: "http" }> & { headers: Texts };

export type ServerForm = {
  /** The text for the value of a variable of the CLI. */
  value: (variable: string) => string;
  stdio: (server: Stdio) => Json;
  http: (server: Http) => Json;
};

export function serverConfig({ servers }: Pick<CliLaunch, "servers">, { value, stdio, http }: ServerForm): Json {
  const filled = (names: Texts): Texts => Object.fromEntries(Object.entries(names).map(([key, variable]) => [key, value(variable)]));
  const entries = servers.list.map((server) => [
    server.name,
    server.kind === "stdio" ? stdio({ ...server, env: filled(server.env) }) : http({ ...server, headers: filled(server.headers) }),
  ]);
  return Object.fromEntries(entries) as Json;
}

/** Claude Code and Gemini CLI replace this by the value of the variable. */
export function variableReference(variable: string): string {
  return `\${${variable}}`;
}
