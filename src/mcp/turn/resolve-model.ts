// The model that a caller means, who may have written its name from memory: without a vendor, in capitals, with other
// dashes and dots.
import { nearestWord } from "../../kit/text/nearest-word.ts";
import type { Api, ModelInfo } from "../../protocol/api/api.ts";
import { Fault } from "../../protocol/api/error.ts";

/** As `vendor/id[:effort]`, or a vendor's name, which means its default. */
export async function resolveModel(api: Api, wanted: string): Promise<string> {
  const rows = await api.models.list();
  const [name, effort] = withoutEffort(wanted.trim());
  const found = best(rows, (row) => row.name === name || idOf(row) === name) ?? best(rows, (row) => isAlike(row, name));
  if (found !== null) return `${found.name}${effort}`;
  const vendors = new Set((await api.auth.status()).map(({ vendor }) => vendor));
  // What only the vendor knows is left to it: catalogs are never complete.
  const [vendor] = name.split("/");
  if (vendors.has(name) || (name.includes("/") && (vendors.has(vendor!) || vendor === "replay"))) return wanted.trim();
  throw unknown(wanted, rows);
}

const effortSuffix = /:(none|minimal|low|medium|high|xhigh|max)$/;

function withoutEffort(name: string): [string, string] {
  const [effort = ""] = effortSuffix.exec(name) ?? [];
  return [name.slice(0, name.length - effort.length), effort];
}

/** One that can be asked here goes before one that can't. */
function best(rows: ModelInfo[], fits: (row: ModelInfo) => boolean): ModelInfo | null {
  const fitting = rows.filter(fits);
  return fitting.find(({ ready }) => ready) ?? fitting[0] ?? null;
}

function isAlike(row: ModelInfo, name: string): boolean {
  const wanted = squeezed(name);
  return wanted !== "" && (squeezed(row.name) === wanted || squeezed(idOf(row)) === wanted);
}

function squeezed(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z0-9]/g, "");
}

function idOf({ name }: ModelInfo): string {
  return name.slice(name.indexOf("/") + 1);
}

function unknown(wanted: string, rows: ModelInfo[]): Fault {
  const ids = rows.map(idOf);
  const near = nearestWord(wanted, ids);
  const part = squeezed(wanted).slice(0, 4);
  const alike = ids.filter((id) => part !== "" && squeezed(id).includes(part));
  const names = [...new Set([...(near === null ? [] : [near]), ...alike])].slice(0, 5);
  const hint =
    names.length === 0 ? "write vendor/id; `skein models` lists them" : `near names: ${names.join(", ")}; any other as vendor/id`;
  return new Fault("usage", `there is no model "${wanted}"`, { hint });
}
