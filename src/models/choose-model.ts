// Chooses the model of a request, from a name or by default. Throws a Fault if that model can't be used.
import { Fault } from "../protocol/api/error.ts";
import type { Endpoint } from "./model.ts";
import { namesOf, resolveModelName, type NameOptions } from "./model-names.ts";
import {
  endpointFor,
  type Environment,
  findVendor,
  localModels,
  parseModelName,
  vendorAuth,
  type VendorConfig,
  vendors,
} from "./vendors.ts";

export type ChooseModelOptions = {
  env: Environment;
  providers: Record<string, VendorConfig>;
  configured: string | null;
  /** Names of models that have settings in the configuration. */
  models?: readonly string[];
};

export type ChosenModel = { model: string; because: string | null };

/** `name` is the name of a model in any form, a vendor alone, or null for the configured model or a default. */
export async function chooseModel(name: string | null, options: ChooseModelOptions): Promise<ChosenModel> {
  const requested = name ?? options.configured;
  if (requested === null) return chooseDefault(options);
  const vendor = findVendor(requested);
  if (vendor !== undefined && !Object.hasOwn(namesOf(vendor.name).aliases, vendor.name))
    return { model: await vendorDefault(vendor.name, options), because: null };
  const model = await resolveName(requested, options);
  const parsed = parseModelName(model);
  if (parsed.vendor !== "replay")
    checkOffline(endpointFor(parsed.vendor, { env: options.env, config: options.providers[parsed.vendor] }), options.env);
  return { model, because: null };
}

export function nameOptions({ env, providers, models = [] }: ChooseModelOptions): NameOptions {
  const isReady = (vendor: string) => vendorAuth(vendor, { env, config: providers[vendor] }).ready;
  return { isReady, vendors: Object.keys(providers), models };
}

/** Only Ollama itself has the names of its models. */
async function resolveName(name: string, options: ChooseModelOptions): Promise<string> {
  try {
    return resolveModelName(name, nameOptions(options));
  } catch (error) {
    if (!name.includes("/") && (await ollamaModels(options)).includes(name)) return `ollama/${name}`;
    throw error;
  }
}

/** The first vendor with a key, and the name of the key. Null if there is no key. */
export function firstVendorWithKey({ env, providers }: ChooseModelOptions): { vendor: string; source: string } | null {
  // A key in the environment takes precedence over all keys in the configuration.
  for (const configs of [{}, providers] as ChooseModelOptions["providers"][]) {
    for (const { name, defaultModel } of vendors) {
      const { source } = vendorAuth(name, { env, config: configs[name] });
      if (defaultModel !== "" && source !== null) return { vendor: name, source };
    }
  }
  return null;
}

async function chooseDefault(options: ChooseModelOptions): Promise<ChosenModel> {
  const keyed = firstVendorWithKey(options);
  if (keyed !== null) return { model: await vendorDefault(keyed.vendor, options), because: `${keyed.source} is set` };
  const local = (await ollamaModels(options)).find((model) => !/embed/.test(model));
  if (local !== undefined) return { model: `ollama/${local}`, because: "Ollama is running on this machine" };
  throw new Fault("auth", "no model can be used: there is no key and no local server", {
    hint: [
      "sign in to an agent (`skein agents`), start Ollama here (`ollama serve`),",
      "or set one of these and run again:",
      ...vendors
        .filter((vendor) => !vendor.isLocal)
        .map((vendor) => `${`export ${vendor.keyVariables[0]?.name}=...`.padEnd(29)} ${vendor.keyUrl}`),
      "`skein demo` needs no key",
    ].join("\n"),
  });
}

async function vendorDefault(vendor: string, options: ChooseModelOptions): Promise<string> {
  const entry = findVendor(vendor);
  checkOffline(endpointFor(vendor, { env: options.env, config: options.providers[vendor] }), options.env);
  if (entry?.defaultModel) return `${vendor}/${entry.defaultModel}`;
  const [first] = vendor === "ollama" ? await ollamaModels(options) : [];
  if (first !== undefined) return `${vendor}/${first}`;
  throw new Fault("usage", `${vendor} has no default model`, { hint: `choose one: -m ${vendor}/<id>` });
}

function checkOffline(endpoint: Endpoint, env: Environment): void {
  const { hostname } = new URL(endpoint.baseUrl);
  if (!env["SKEIN_OFFLINE"] || ["127.0.0.1", "localhost", "[::1]"].includes(hostname)) return;
  throw new Fault("network", `SKEIN_OFFLINE is set, and ${endpoint.vendor} is at ${hostname}`, {
    hint: "unset SKEIN_OFFLINE, or use a model on this machine",
  });
}

async function ollamaModels(options: ChooseModelOptions): Promise<string[]> {
  return localModels(endpointFor("ollama", { env: options.env, config: options.providers["ollama"] }).baseUrl);
}
