// The table of clients for `skein acp install`: the path of each one's settings, and skein's entry in them.
import { join } from "node:path";
import { shellQuote } from "../../../kit/text/shell-quote.ts";
import type { InstallClient } from "../../../mcp/install/clients.ts";

export const acpClients: readonly InstallClient[] = [
  {
    name: "zed",
    title: "Zed",
    file: ({ home, env, platform }) =>
      join((platform !== "darwin" && env["XDG_CONFIG_HOME"]) || join(home, ".config"), "zed", "settings.json"),
    projectFile: null,
    servers: "agent_servers",
    command: "acp",
    entry: ({ command, args }) => ({ type: "custom", command, args, env: {} }),
  },
  {
    name: "jetbrains",
    title: "JetBrains IDEs",
    file: ({ home }) => join(home, ".jetbrains", "acp.json"),
    projectFile: null,
    servers: "agent_servers",
    command: "acp",
    entry: ({ command, args }) => ({ command, args, env: {} }),
  },
  {
    name: "acpx",
    title: "acpx",
    file: ({ home }) => join(home, ".acpx", "config.json"),
    projectFile: null,
    servers: "agents",
    command: "acp",
    entry: ({ command, args }) => ({ command: [command, ...args].map(shellQuote).join(" ") }),
  },
];
