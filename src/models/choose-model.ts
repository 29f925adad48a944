// From what a person named, or did not name, to the model that will be asked. Checks that it can be asked.
import { Fault } from "../protocol/api/error.ts";
import type { Endpoint } from "./model.ts";
import {
  endpointFor,
  localModels,
  parseModelName,
  pickDefaultModel,
  findVendor,
  vendors,
  type Environment,
  type VendorConfig,
} from "./vendors.ts";

export type ChooseModelOptions = {
  env: Environment;
  providers: Record<string, VendorConfig>;
  configured: string | null;
};

export type ChosenModel = { model: string; because: string | null };

/** `vendor/id[:effort]`, a vendor alone, or nothing. */
export async function chooseModel(name: string | null, from: ChooseModelOptions): Promise<ChosenModel> {
  const wanted = name ?? from.configured;
  if (wanted === null) return chooseDefault(from);
  const vendor = findVendor(wanted);
  if (vendor !== undefined) return { model: await vendorDefault(vendor.name, from), because: null };
  const parsed = parseModelName(wanted);
  if (parsed.vendor !== "replay")
    checkOffline(endpointFor(parsed.vendor, { env: from.env, config: from.providers[parsed.vendor] }), from.env);
  return { model: `${parsed.vendor}/${parsed.model}${parsed.effort === null ? "" : `:${parsed.effort}`}`, because: null };
}

async function chooseDefault(from: ChooseModelOptions): Promise<ChosenModel> {
  const keyed = pickDefaultModel({ env: from.env, ollamaModels: [] });
  if (keyed !== null) {
    await chooseModel(keyed.model, from);
    return keyed;
  }
  for (const vendor of vendors) {
    if (vendor.defaultModel !== "" && from.providers[vendor.name]?.apiKey) {
      return { model: `${vendor.name}/${vendor.defaultModel}`, because: `providers.${vendor.name}.api_key is set` };
    }
  }
  const local = pickDefaultModel({ env: {}, ollamaModels: await ollamaModels(from) });
  if (local !== null) return local;
  throw new Fault("auth", "no model can be asked: there is no key and no local server", {
    hint: [
      "set one of these and run again, or start Ollama here (`ollama serve`):",
      ...vendors
        .filter((vendor) => !vendor.isLocal)
        .map((vendor) => `${`export ${vendor.keyVariables[0]?.name}=...`.padEnd(29)} ${vendor.keyUrl}`),
      "`skein demo` needs no key",
    ].join("\n"),
  });
}

async function vendorDefault(vendor: string, from: ChooseModelOptions): Promise<string> {
  const row = findVendor(vendor);
  checkOffline(endpointFor(vendor, { env: from.env, config: from.providers[vendor] }), from.env);
  if (row?.defaultModel) return `${vendor}/${row.defaultModel}`;
  const [first] = vendor === "ollama" ? await ollamaModels(from) : [];
  if (first !== undefined) return `${vendor}/${first}`;
  throw new Fault("usage", `${vendor} has no default model`, { hint: `name one: -m ${vendor}/<id>` });
}

function checkOffline(endpoint: Endpoint, env: Environment): void {
  const { hostname } = new URL(endpoint.baseUrl);
  if (!env["SKEIN_OFFLINE"] || ["127.0.0.1", "localhost", "[::1]"].includes(hostname)) return;
  throw new Fault("network", `SKEIN_OFFLINE is set, and ${endpoint.vendor} is at ${hostname}`, {
    hint: "unset it, or use a model on this machine",
  });
}

async function ollamaModels(from: ChooseModelOptions): Promise<string[]> {
  return localModels(endpointFor("ollama", { env: from.env, config: from.providers["ollama"] }).baseUrl);
}
