// Whoever runs a session's turn: this process, another one that can be asked over its socket, or nobody.
import { Fault } from "../protocol/error.ts";
import type { Api } from "../protocol/api.ts";
import type { LivingHolder } from "../store/store.ts";
import type { EngineParts } from "./engine.ts";
import type { LiveTurn } from "./live.ts";

export type Ways<T> = {
  here: (turn: LiveTurn) => T | Promise<T>;
  there: (api: Api, holder: LivingHolder) => Promise<T>;
  nowhere: () => T | Promise<T>;
};

export async function atOwner<T>(parts: EngineParts, session: string, ways: Ways<T>): Promise<T> {
  const turn = await turnHere(parts, session);
  if (turn !== undefined) return ways.here(turn);
  const holder = await (await parts.store()).holder(session);
  if (holder === null || holder.pid === process.pid) return ways.nowhere();
  const api = await reach(parts, session, holder);
  try {
    return await ways.there(api, holder);
  } finally {
    await api.close();
  }
}

const beginMs = 1_000;

/** A turn takes its session a moment before it begins; who holds it for something else never begins one. */
async function turnHere(parts: EngineParts, session: string): Promise<LiveTurn | undefined> {
  const giveUpAt = performance.now() + beginMs;
  for (;;) {
    const turn = parts.live.of(session);
    if (turn !== undefined || performance.now() >= giveUpAt) return turn;
    if ((await (await parts.store()).holder(session))?.pid !== process.pid) return undefined;
    await Bun.sleep(5);
  }
}

const patienceMs = 3_000;

/** A turn that has just begun is not listening yet. */
export async function reach(parts: EngineParts, session: string, holder: LivingHolder): Promise<Api> {
  const { socket, namedPid } = holder;
  if (socket === null) throw unreachable(namedPid, session, "it was started without a socket");
  const giveUpAt = performance.now() + patienceMs;
  for (let waitMs = 5; ; waitMs = Math.min(waitMs * 2, 200)) {
    try {
      return await parts.reach(socket);
    } catch (error) {
      const isGone = (await (await parts.store()).holder(session))?.started !== holder.started;
      if (isGone || performance.now() >= giveUpAt)
        throw unreachable(namedPid, session, error instanceof Error ? error.message : "no answer");
    }
    await Bun.sleep(waitMs);
  }
}

function unreachable(pid: number, session: string, why: string): Fault {
  return new Fault("owner-unreachable", `process ${pid} runs session ${session} and can't be asked: ${why}`, {
    hint: "`skein kill --force` ends it",
  });
}
