// `mcp add` and `mcp remove`: writes one MCP server to a config file. Keeps its comments and layout.
import { Fault } from "../../protocol/api/error.ts";
import { checkServer } from "../../protocol/mcp/server-entry.ts";
import { checkValue } from "../check-value.ts";
import { findKey } from "../find-key.ts";
import { changeConfigFile, type SetValueOptions } from "../set-value.ts";

export type SetServerOptions = Pick<SetValueOptions, "paths" | "project" | "scope"> & {
  name: string;
  /** The fields as in the file; null removes the server. */
  server: Record<string, unknown> | null;
};

export async function setServer({ name, server, ...place }: SetServerOptions): Promise<{ path: string }> {
  if (findKey(`mcp_servers.${name}.command`) === undefined)
    throw new Fault("usage", `"${name}" can't be the name of a server`, { hint: "use letters, digits, - and _" });
  if (server !== null) checkFields(name, server);
  return changeConfigFile(place, { words: ["mcp_servers", name], value: server ?? undefined });
}

function checkFields(name: string, server: Record<string, unknown>): void {
  for (const [field, value] of Object.entries(server)) {
    const entry = findKey(`mcp_servers.${name}.${field}`);
    if (entry === undefined) throw new Fault("usage", `a server has no field "${field}"`, { hint: "docs/MCP-SERVERS.md lists them" });
    const checked = checkValue(entry, value);
    if (!checked.ok) throw new Fault("usage", `"${field}" of a server must be ${checked.expected}`);
  }
  const problem = checkServer(server);
  if (typeof problem === "string") throw new Fault("usage", `the server ${problem}`);
}
