// What a client leaves out of a turn or of a session is what is configured where it works, as for a run that nobody
// watches. What it says counts.
import type { Settings } from "../api.ts";
import type { RowName } from "../api-rows.ts";
import { settledPolicy, settledTurn } from "../turn-start.ts";
import { snakeCase } from "../wire-case.ts";
import { namedParams, type RowParams } from "./api.ts";

type Fields = Record<string, unknown>;
type Settled = (settings: Settings, said: Said) => Fields;
/** What decides about what else is usual. */
type Said = { toolLevel?: Settings["toolLevel"]; policy?: Settings["policy"] };

const turn: Settled = (settings, said) => {
  const { toolLevel, contextFiles, limits, timeoutMs, idleMs } = settledTurn(settings);
  const policy = settledPolicy({ ...settings, toolLevel: said.toolLevel ?? toolLevel }, said.policy);
  return { toolLevel, contextFiles, limits, timeoutMs, idleMs, policy };
};

const rows: { readonly [Row in RowName]?: Settled } = {
  "session.open": ({ agent, toolLevel }) => ({ agent, toolLevel }),
  "turn.start": turn,
  "turn.check": (settings, said) => ({ agent: settings.agent, ...turn(settings, said) }),
  "bash.execute": (settings, said) => ({ policy: settledPolicy(settings, said.policy) }),
};

export function isSettled(row: RowName): boolean {
  return rows[row] !== undefined;
}

/** `params` as they were checked, `given` as they came. */
export function settleParams<Row extends RowName>(row: Row, params: RowParams<Row>, given: unknown, settings: Settings): RowParams<Row> {
  const named = namedParams(row, given) as Fields & { tool_level?: Said["toolLevel"]; policy?: { name?: Said["policy"] } };
  const said = { ...(named.tool_level && { toolLevel: named.tool_level }), ...(named.policy?.name && { policy: named.policy.name }) };
  return filled(params as Fields, named, rows[row]?.(settings, said) ?? {}) as RowParams<Row>;
}

function filled(params: Fields, given: Fields, usual: Fields): Fields {
  const missing = Object.entries(usual).flatMap(([name, value]) => {
    const said = given[snakeCase(name)];
    if (said === undefined) return [[name, value] as const];
    return isFields(said) && isFields(value) ? [[name, filled(params[name] as Fields, said, value)] as const] : [];
  });
  return { ...params, ...Object.fromEntries(missing) };
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
