// Starts the daily removal of old data after a turn. The removal itself is loaded only on the run that does it.
import { messageOf } from "../../protocol/api/error.ts";
import type { EngineDeps } from "../engine.ts";

export type Upkeep = {
  /** Call it after a turn. Starts the daily removal in the background. */
  start: () => void;
  /** Resolves when the removal has ended, or after 500 ms: the store may then be closed in the middle of it. */
  finish: () => Promise<void>;
};

export function createUpkeep(deps: EngineDeps): Upkeep {
  const { retention } = deps;
  let running: Promise<void> | null = null;
  let isClosing = false;
  const load = () => import("./retention.ts");
  const report = (error: unknown): void => (isClosing ? undefined : deps.warn(warningText(error)));
  return {
    start() {
      if (running !== null || retention?.claimDay() !== true) return;
      running = load()
        .then(({ removeExpired }) => removeExpired(deps, retention))
        .catch(report)
        .finally(() => (running = null));
    },
    async finish() {
      if (running === null) return;
      await Promise.race([running, Bun.sleep((await load()).maxUpkeepMs)]);
      isClosing = true;
      if (running !== null) retention?.returnDay();
    },
  };
}

const warningText = (error: unknown) => `old data could not be removed: ${messageOf(error)}`;
