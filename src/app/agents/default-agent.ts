// Chooses who takes a turn when no agent is named (`agent: auto`): native if there is a key for the model, else a CLI with
// its own sign-in, else native. Loads the adapters only if there is no key.
import { externalAgents } from "../../agents/external/adapters/index.ts";
import { vendorsOf } from "../../agents/external/adapters/multi-vendor.ts";
import { describeCredential } from "../../agents/external/credentials/find-credential.ts";
import { resolveModelName } from "../../models/model-names.ts";
import { type ChooseModelOptions, firstVendorWithKey, nameOptions } from "../../models/choose-model.ts";
import { findVendor, parseModelName, vendorAuth } from "../../models/vendors.ts";
import { Fault } from "../../protocol/api/error.ts";
import type { AppContext } from "../app-context.ts";
import { cachedFindings } from "./agent-cache.ts";
import { credentialSources, defaultModelOf } from "./agent-credentials.ts";
import { findInstalled } from "./external-agents.ts";

export const automaticAgent = "auto";

/** `signIn` is the credential of a CLI that was chosen because there is no key; null for the native agent. */
export type DefaultAgent = { agent: string; model: string | null; signIn: string | null };

/** `model` is the requested model; null for the configured or default one. */
export async function chooseDefaultAgent(ctx: AppContext, model: string | null): Promise<DefaultAgent> {
  const native = { agent: "native", model, signIn: null };
  const options = modelOptions(ctx);
  const requested = model ?? options.configured;
  if (requested === null && firstVendorWithKey(options) !== null) return native;
  const vendor = requested === null ? null : vendorOfName(requested, options);
  if (vendor === undefined || (vendor !== null && isReady(ctx, vendor))) return native;
  for (const entry of externalAgents) {
    const found = await findSignedIn(ctx, entry, { vendor, model: requested });
    if (found !== null) return found;
  }
  return native;
}

/** The options for the name of a model, from the configuration. */
export function modelOptions({ env, providers, config }: AppContext): ChooseModelOptions {
  return { env, providers, configured: config.values.model, models: Object.keys(config.values.models) };
}

/** Undefined for a name that chooseModel will refuse. */
function vendorOfName(name: string, options: ChooseModelOptions): string | undefined {
  if (findVendor(name) !== undefined) return name;
  try {
    return parseModelName(resolveModelName(name, nameOptions(options))).vendor;
  } catch (error) {
    if (error instanceof Fault) return undefined;
    throw error;
  }
}

function isReady({ env, providers }: AppContext, vendor: string): boolean {
  return vendor === "replay" || vendorAuth(vendor, { env, config: providers[vendor] }).ready;
}

type WantedModel = { vendor: string | null; model: string | null };

async function findSignedIn(ctx: AppContext, { load }: (typeof externalAgents)[number], wanted: WantedModel): Promise<DefaultAgent | null> {
  const adapter = await load();
  const { program } = findInstalled(ctx, adapter.program);
  if (program === null || cachedFindings(ctx.paths.state, program)?.works === false) return null;
  for (const vendor of vendorsOf(adapter).filter((name) => wanted.vendor === null || name === wanted.vendor)) {
    const { kind, source } = describeCredential(adapter, credentialSources(ctx), defaultModelOf(vendor));
    // Without a model the CLI uses its own default, which is one of its first vendor.
    const model = wanted.model ?? (vendor === adapter.vendor ? null : defaultModelOf(vendor));
    if (kind !== "none") return { agent: adapter.name, model, signIn: source };
  }
  return null;
}
