// Lists the models that can be used today: those of the price list, of Ollama and of the configuration.
import { contextWindowOf, listModels as listCatalog, type CatalogModel } from "../models/catalog.ts";
import { chooseModel, nameOptions } from "../models/choose-model.ts";
import { aliasTargets, resolveModelName } from "../models/model-names.ts";
import { localModels, parseModelName, vendorAuth } from "../models/vendors.ts";
import type { ModelInfo, ModelSummary } from "../protocol/api/api.ts";
import { Fault } from "../protocol/api/error.ts";
import { modelOptions } from "./agents/default-agent.ts";
import { authStatus } from "./api-methods.ts";
import type { AppContext } from "./app-context.ts";

/** The default model first, then ready ones; of these the recommended ones first, then the newest of each vendor. */
export async function listModels(ctx: AppContext): Promise<ModelInfo[]> {
  const auth = await authStatus(ctx);
  const options = modelOptions(ctx);
  const [catalog, chosen, installed] = await Promise.all([
    listCatalog({ settings: ctx.models }),
    chooseModel(null, options).catch(() => null),
    localModels(auth.find((row) => row.vendor === "ollama")?.baseUrl ?? ""),
  ]);
  const isReady = (vendor: string) => auth.some((row) => row.vendor === vendor && row.ready);
  const aliases = aliasTargets(nameOptions(options));
  const local = installed.map((id) => localModel(`ollama/${id}`)).filter(({ name }) => !catalog.some((row) => row.name === name));
  const rows = [...catalog, ...local].map((row) => ({
    ...row,
    aliases: aliases[row.name] ?? [],
    ready: isReady(row.vendor),
    isDefault: row.name === chosen?.model,
  }));
  const rank = (row: ModelInfo) => (row.isDefault ? 0 : row.ready ? 1 : 3) + (row.recommended || row.isDefault ? 0 : 1);
  return rows.toSorted((a, b) => rank(a) - rank(b));
}

/** Null is the default model. Returns null for an unknown name. Asks no server, unless the default needs one. */
export async function findModel(ctx: AppContext, model: string | null): Promise<ModelSummary | null> {
  try {
    const options = modelOptions(ctx);
    const name = model === null ? (await chooseModel(null, options)).model : resolveModelName(model, nameOptions(options));
    const { vendor, model: id } = parseModelName(name);
    const { ready } = vendorAuth(vendor, { env: ctx.env, config: ctx.providers[vendor] });
    return { name, ready, contextWindow: await contextWindowOf(vendor, id) };
  } catch (error) {
    if (error instanceof Fault) return null;
    throw error;
  }
}

function localModel(name: string): CatalogModel {
  return { name, vendor: "ollama", recommended: true, contextWindow: null, inputPrice: 0, outputPrice: 0 };
}
