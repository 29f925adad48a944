// A model's name → something that can be asked: the endpoint with its key, the prices, the window.
import type { BoundModel } from "../agents/native/native-agent.ts";
import type { AppContext } from "./create-app.ts";
import { endpointFor, parseModelName } from "../models/vendors.ts";
import { loadWire, streamModel } from "../models/stream.ts";

const retry = { attempts: 4, maxWaitMs: 60_000 };

export async function bindModel(name: string, ctx: AppContext): Promise<BoundModel> {
  const { vendor, model, effort } = parseModelName(name);
  if (vendor === "replay") return bindReplay(model);
  const config = ctx.providers[vendor];
  const endpoint = endpointFor(vendor, { env: ctx.env, config });
  const idleMs = ctx.config.values.idleMs ?? 600_000;
  return {
    name: `${vendor}/${model}`,
    stream: (request, signal, gate) => streamModel({ ...request, model, effort }, endpoint, { signal, gate, idleMs, retry }),
    body: async (request) => (await loadWire(endpoint.wire)).request({ ...request, model, effort }, endpoint).body,
    price: async (usage) => (await import("../models/catalog.ts")).priceOf(vendor, model, usage),
    window: async () => config?.contextWindow ?? (await import("../models/catalog.ts")).contextWindowOf(vendor, model),
  };
}

/** A scripted model costs nothing and has no window. */
async function bindReplay(path: string): Promise<BoundModel> {
  const { loadScript, replayModel } = await import("../models/replay-model.ts");
  const script = loadScript(path);
  return {
    name: `replay/${path}`,
    stream: (request, signal) => replayModel(script, { ...request, model: path, effort: null }, { signal }),
    body: async (request) => JSON.stringify(request),
    price: async () => 0,
    window: async () => null,
  };
}
