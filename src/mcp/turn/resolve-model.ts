// Finds the model that a caller means. The caller may have written its name from memory: without a vendor, in capitals, with
// other dashes and dots.
import { nearestWord } from "../../kit/text/nearest-word.ts";
import type { Api, ModelInfo } from "../../protocol/api/api.ts";
import { Fault } from "../../protocol/api/error.ts";

/** Returns `vendor/id[:effort]`, or the name of a vendor, which means its default model. */
export async function resolveModel(api: Api, requested: string): Promise<string> {
  const models = await api.models.list();
  const [name, effort] = splitEffort(requested.trim());
  const match = best(models, (model) => model.name === name || idOf(model) === name) ?? best(models, (model) => isSimilar(model, name));
  if (match !== null) return `${match.name}${effort}`;
  const vendors = new Set((await api.auth.status()).map(({ vendor }) => vendor));
  // Catalogs are never complete, so an unknown id of a known vendor is sent as it is.
  const [vendor] = name.split("/");
  if (vendors.has(name) || (name.includes("/") && (vendors.has(vendor!) || vendor === "replay"))) return requested.trim();
  throw unknownModel(requested, models);
}

const effortSuffix = /:(none|minimal|low|medium|high|xhigh|max)$/;

function splitEffort(name: string): [string, string] {
  const [effort = ""] = effortSuffix.exec(name) ?? [];
  return [name.slice(0, name.length - effort.length), effort];
}

/** Prefers models with a key. */
function best(models: ModelInfo[], fits: (model: ModelInfo) => boolean): ModelInfo | null {
  const matches = models.filter(fits);
  return matches.find(({ ready }) => ready) ?? matches[0] ?? null;
}

function isSimilar(model: ModelInfo, name: string): boolean {
  const letters = lettersOf(name);
  return letters !== "" && (lettersOf(model.name) === letters || lettersOf(idOf(model)) === letters);
}

function lettersOf(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z0-9]/g, "");
}

function idOf({ name }: ModelInfo): string {
  return name.slice(name.indexOf("/") + 1);
}

function unknownModel(name: string, models: ModelInfo[]): Fault {
  const ids = models.map(idOf);
  const nearest = nearestWord(name, ids);
  const firstLetters = lettersOf(name).slice(0, 4);
  const similar = ids.filter((id) => firstLetters !== "" && lettersOf(id).includes(firstLetters));
  const names = [...new Set([...(nearest === null ? [] : [nearest]), ...similar])].slice(0, 5);
  const hint =
    names.length === 0
      ? "write vendor/id; `skein models` lists the models"
      : `similar names: ${names.join(", ")}; write any other model as vendor/id`;
  return new Fault("usage", `there is no model "${name}"`, { hint });
}
