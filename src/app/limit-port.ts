// Connects agents and the engine to the stored limits of vendors. The module that stores them is loaded at its first use.
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { EngineDeps } from "../engine/engine.ts";
import type { Endpoint } from "../models/model.ts";
import type { AppContext } from "./app-context.ts";
import type { VendorLimits } from "./vendor-limits.ts";

const limitHeader = /ratelimit|^x-codex-/;

/** The file of the known limits. */
export function limitsFile(stateDir: string): string {
  return join(stateDir, "limits.json");
}

export type LimitPort = NonNullable<EngineDeps["limits"]> & {
  /** Called with the headers of every answer of a vendor. */
  onHeaders: (endpoint: Endpoint, headers: Headers) => void;
};

/** An ephemeral app stores no limits. */
export function createLimitPort({ ephemeral, paths }: AppContext): LimitPort | undefined {
  if (ephemeral) return undefined;
  let loading: Promise<VendorLimits> | null = null;
  const load = () => (loading ??= import("./vendor-limits.ts").then(({ createVendorLimits }) => createVendorLimits(paths.state)));
  return {
    onHeaders(endpoint, headers) {
      if ([...headers.keys()].some((name) => limitHeader.test(name))) void load().then((limits) => limits.observe(endpoint, headers));
    },
    async noteEnd(agent, model, error) {
      // A turn that worked only removes a known limit.
      if (error === null && !existsSync(limitsFile(paths.state))) return;
      (await load()).noteEnd(agent, model, error);
    },
    limitedUntil: async (...agent) => (await load()).limitedUntil(...agent),
  };
}
