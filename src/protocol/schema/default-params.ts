// What a client leaves out of a turn or of a session is what is configured where it works, as for a run that nobody
// watches. What it says counts.
import { isRecord } from "../../kit/text/json.ts";
import type { Settings } from "../api/api.ts";
import type { MethodName } from "../api/methods.ts";
import { configuredPolicy, configuredTurn } from "../api/turn-options.ts";
import { snakeCase } from "../json/json-case.ts";
import { namedParams, type MethodParams } from "./api.ts";

type Fields = Record<string, unknown>;
type DefaultsFor = (settings: Settings, said: GivenFields) => Fields;
/** What decides about what else is usual. */
type GivenFields = { toolLevel?: Settings["toolLevel"]; policy?: Settings["policy"] };

const turn: DefaultsFor = (settings, said) => {
  const policy = configuredPolicy({ ...settings, toolLevel: said.toolLevel ?? settings.toolLevel }, said.policy);
  return { ...configuredTurn(settings), policy };
};

const rows: { readonly [Row in MethodName]?: DefaultsFor } = {
  "session.open": ({ agent, toolLevel }) => ({ agent, toolLevel }),
  "turn.start": turn,
  "turn.check": (settings, said) => ({ ...turn(settings, said), agent: settings.agent }),
  "bash.execute": (settings, said) => ({ policy: configuredPolicy(settings, said.policy) }),
};

export function hasConfiguredDefaults(row: MethodName): boolean {
  return rows[row] !== undefined;
}

/** `params` as they were checked, `given` as they came. */
export function fillDefaults<Row extends MethodName>(
  row: Row,
  params: MethodParams<Row>,
  given: unknown,
  settings: Settings,
): MethodParams<Row> {
  const named = namedParams(row, given) as Fields & { tool_level?: GivenFields["toolLevel"]; policy?: { name?: GivenFields["policy"] } };
  const said = { ...(named.tool_level && { toolLevel: named.tool_level }), ...(named.policy?.name && { policy: named.policy.name }) };
  return filled(params as Fields, named, rows[row]?.(settings, said) ?? {}) as MethodParams<Row>;
}

function filled(params: Fields, given: Fields, usual: Fields): Fields {
  const missing = Object.entries(usual).flatMap(([name, value]) => {
    const said = given[snakeCase(name)];
    if (said === undefined) return [[name, value] as const];
    return isRecord(said) && isRecord(value) ? [[name, filled(params[name] as Fields, said, value)] as const] : [];
  });
  return { ...params, ...Object.fromEntries(missing) };
}
