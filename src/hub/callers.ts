// The environments of callers, held in memory only, for turns that start after their caller has gone. skein stores no key: after
// a restart the hub uses its own environment and that of the latest caller.
import type { PendingTurn } from "../protocol/api/control.ts";
import type { Api } from "../protocol/api/api.ts";
import type { Hello } from "./serve-api.ts";

type Environment = NonNullable<Hello["env"]>;
const maxEntries = 1_000;

export class Callers {
  /** The key is the id of a pending turn, or the id of a session. */
  readonly #known = new Map<string, Environment>();
  #latest: Environment = {};
  /** Changes with every caller that brings an environment. A turn that had no key is then tried again. */
  version = 0;

  /** Wraps the Api of a caller, so that its environment is known for the turns that it leaves to the hub. */
  async track(hello: Hello, api: Api, onQueued: () => void): Promise<Api> {
    const { env } = hello;
    const { turn } = api;
    const queue: Api["turn"]["queue"] = async (params) => {
      const pending = await turn.queue(params);
      if (env !== null) this.#remember(pending.id, env);
      onQueued();
      return pending;
    };
    if (env === null) return { ...api, turn: { ...turn, queue } };
    this.#latest = env;
    this.version += 1;
    const start: Api["turn"]["start"] = (params) => {
      this.#remember(params.session, env);
      return turn.start(params);
    };
    const watch: Api["turn"]["watch"] = (params) => {
      if (!this.#known.has(params.session)) this.#remember(params.session, env);
      return turn.watch(params);
    };
    return { ...api, turn: { ...turn, queue, start, watch } };
  }

  /** The caller to start a pending turn for. `own` is the hub's environment. */
  find({ id, session, caller }: PendingTurn, own: Record<string, string | undefined>): Hello {
    const known = this.#known.get(id) ?? this.#known.get(session);
    // Kept for the session, because the turn may have to wait for a limit. A guessed environment is not kept.
    if (known !== undefined) this.#remember(session, known);
    const env = known ?? { ...definedOnly(own), ...this.#latest };
    // Trust without a digest would also cover what a tool has written since.
    const trust = caller.trust === true ? null : caller.trust;
    return { client: "skein hub", directory: caller.directory, trust, env };
  }

  #remember(key: string, env: Environment): void {
    this.#known.delete(key);
    this.#known.set(key, env);
    const oldest = this.#known.keys().next();
    if (this.#known.size > maxEntries && oldest.done === false) this.#known.delete(oldest.value);
  }
}

function definedOnly(env: Record<string, string | undefined>): Environment {
  return Object.fromEntries(Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));
}
