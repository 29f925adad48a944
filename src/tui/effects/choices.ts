// Who could answer: models and agents to choose from, as the Api lists them. What is ready comes first.
import { priceText, windowText } from "../../kit/text/price-text.ts";
import type { AgentInfo } from "../../protocol/api/agents.ts";
import type { VendorAuth, ModelInfo } from "../../protocol/api/api.ts";
import type { PickerItem } from "../overlays/picker.ts";
import type { EffectHandlers, EffectContext } from "./effect-context.ts";
import { nextAgent } from "./settings.ts";

export const choiceEffects: EffectHandlers<"list"> = {
  list: async (doing, { purpose }) => {
    let items: PickerItem[] = [];
    try {
      items = await (purpose === "models" ? modelItems(doing) : agentItems(doing));
    } finally {
      doing.send({ type: "listed", purpose, items });
    }
  },
};

const here = "● ";
const elsewhere = "  ";

/** Another agent than the native one asks only some vendors, with a credential of its own. */
async function modelItems(ctx: EffectContext): Promise<PickerItem[]> {
  const { api } = ctx;
  const { agent: taker, model: now } = nextAgent(ctx);
  const [models, auth, agents] = await Promise.all([api.models.list(), api.auth.status(), taker === "native" ? [] : api.agents.list()]);
  const agent = agents.find(({ name }) => name === taker);
  const rows =
    agent === undefined ? models : models.filter(({ vendor }) => agent.vendors.includes(vendor)).map((row) => readyFor(agent, row));
  const isNow = ({ name, isDefault }: ModelInfo) =>
    now === null ? isDefault && agent === undefined : now === name || now.startsWith(`${name}:`);
  const rank = (row: ModelInfo) => (isNow(row) ? 0 : row.isDefault ? 1 : row.ready ? 2 : 3);
  return rows.toSorted((a, b) => rank(a) - rank(b)).map((row) => modelItem(row, isNow(row), auth));
}

function readyFor({ credentials }: AgentInfo, row: ModelInfo): ModelInfo {
  return { ...row, isDefault: false, ready: credentials.some(({ vendor, kind }) => vendor === row.vendor && kind !== "none") };
}

/** What lacks a key says which instead of what it costs. */
function modelItem(row: ModelInfo, isNow: boolean, auth: readonly VendorAuth[]): PickerItem {
  const prices = `${priceText(row.inputPrice).padStart(7)} in ${priceText(row.outputPrice).padStart(7)} out`;
  const hint = auth.find(({ vendor }) => vendor === row.vendor)?.hint.split(";")[0] || "no key";
  return {
    id: row.name,
    label: (isNow ? here : elsewhere) + row.name,
    detail: `${windowText(row.contextWindow).padStart(5)} ${row.ready ? prices : `  ${hint}`}`,
    isNow,
  };
}

async function agentItems(ctx: EffectContext): Promise<PickerItem[]> {
  const { agent: now } = nextAgent(ctx);
  const rows = await ctx.api.agents.list();
  const rank = (row: AgentInfo) => (row.name === now ? 0 : row.missing === null ? 1 : row.installed ? 2 : 3);
  return rows.toSorted((a, b) => rank(a) - rank(b)).map((row) => agentItem(row, row.name === now));
}

function agentItem({ name, version, missing, hint, credentials, installed }: AgentInfo, isNow: boolean): PickerItem {
  const sources = [...new Set(credentials.flatMap(({ kind, source }) => (kind === "none" || source === null ? [] : [source])))];
  const how =
    missing ?? (sources.length === 0 ? "no credential needed" : `${sources.slice(0, 2).join(", ")}${sources.length > 2 ? ", …" : ""}`);
  const notes = credentials.flatMap(({ kind, note }) => (kind === "sign-in" && note !== null ? [note] : []));
  return {
    id: name,
    label: (isNow ? here : elsewhere) + name,
    detail: `${(installed ? (version ?? "") : "-").padEnd(12)} ${how}`,
    preview: [...(hint === null ? [] : [hint]), ...notes].join("\n"),
    isNow,
  };
}
