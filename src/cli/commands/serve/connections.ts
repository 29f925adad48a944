// Shared by `skein acp` and `skein mcp`. Keeps one Api per directory while the Api answers. If its hub has exited, the next call
// finds or starts another hub.
import type { Api } from "../../../protocol/api/api.ts";
import { Fault } from "../../../protocol/api/error.ts";

type Connect = (directory: string) => Promise<Api>;

export function cacheConnections(connect: Connect): Connect {
  const connections = new Map<string, Promise<Api>>();
  return async (directory) => {
    const cached = connections.get(directory);
    if (cached !== undefined && (await answers(cached))) return cached;
    // The first call that notices the loss connects again. Concurrent calls wait for its connection.
    const current = connections.get(directory);
    if (current !== undefined && current !== cached) return current;
    const next = connect(directory);
    connections.set(directory, next);
    return next;
  };
}

async function answers(connection: Promise<Api>): Promise<boolean> {
  try {
    await (await connection).health.check();
    return true;
  } catch (error) {
    if (error instanceof Fault) return false;
    throw error;
  }
}

/** For a user who starts a server for programs in a terminal, where nothing else would appear. */
export function waitsText(command: string, who: string): string {
  return `skein ${command} waits for messages of ${who} on stdin; \`skein ${command} install\` adds it to one. Ctrl-D ends it\n`;
}
