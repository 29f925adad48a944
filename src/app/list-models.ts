// Lists the models that can be used today: those of the price list, of Ollama and of the configuration.
import { listModels as listCatalog, type CatalogModel } from "../models/catalog.ts";
import { chooseModel, nameOptions } from "../models/choose-model.ts";
import { aliasTargets } from "../models/model-names.ts";
import { localModels } from "../models/vendors.ts";
import type { ModelInfo } from "../protocol/api/api.ts";
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

function localModel(name: string): CatalogModel {
  return { name, vendor: "ollama", recommended: true, contextWindow: null, inputPrice: 0, outputPrice: 0 };
}
