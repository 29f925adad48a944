// The option of a turn that names MCP servers. It is a part of the table in turn-options.ts.
import type { TurnOption } from "../api/turn-options.ts";
import { type McpServerEntries, serverNamePattern } from "./server-entry.ts";

export type McpServerOptions = {
  /**
   * Servers that the front end adds to the configured ones; a server of the same name replaces it. Null: the turn has no
   * servers at all. They may contain secrets, so they are never stored: a turn that a hub continues has only configured ones.
   */
  mcpServers: McpServerEntries | null;
};

const maxServers = 100;

export const mcpServerOptions = {
  mcpServers: {
    bare: null,
    configured: () => ({}),
    isInherited: true,
    schema: ({ z, is }) => {
      const texts = z.record(is.line(1_000), z.string().max(100_000));
      const server = is.fields({
        command: is.line(4_096).optional(),
        args: is.textList.optional(),
        env: texts.optional(),
        cwd: is.line(4_096).optional(),
        url: is.line(8_192).optional(),
        headers: texts.optional(),
        type: is.line(100).optional(),
      });
      return z
        .record(z.string().regex(serverNamePattern, "must be a name without blanks"), server)
        .refine((servers) => Object.keys(servers).length <= maxServers, `must have at most ${maxServers} servers`)
        .nullable()
        .prefault({});
    },
  },
} satisfies { [Name in keyof McpServerOptions]: TurnOption<McpServerOptions[Name]> };
