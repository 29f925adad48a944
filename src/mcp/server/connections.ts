// One Api for each directory, for as long as it answers: a hub that has died is found or started again by the next call.
import type { Api } from "../../protocol/api/api.ts";
import { Fault } from "../../protocol/api/error.ts";

type Connect = (directory: string) => Promise<Api>;

export function cacheConnections(connect: Connect): Connect {
  const open = new Map<string, Promise<Api>>();
  return async (directory) => {
    const known = open.get(directory);
    if (known !== undefined && (await answers(known))) return known;
    // Whoever noticed first connects; the others wait for that.
    const current = open.get(directory);
    if (current !== undefined && current !== known) return current;
    const next = connect(directory);
    open.set(directory, next);
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
