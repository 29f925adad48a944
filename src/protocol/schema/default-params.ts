// Fills in the configured values for params that a client leaves out, as for a run without a user at the terminal.
// Params that the client sends take precedence.
import { isRecord, type Json } from "../../kit/text/json.ts";
import type { MethodName, MethodParams } from "../api/api.ts";
import type { Settings } from "../api/settings.ts";
import { configuredPolicy, configuredTurn, turnConfigKeys } from "../api/turn-options.ts";
import { fromJsonCase } from "../json/json-case.ts";
import { namedParams } from "./check-params.ts";

/** The params as they were sent, with the Api's own names. Some defaults depend on other params. */
type SentParams = Json & { toolLevel?: Settings["toolLevel"]; policy?: { name?: Settings["policy"] } };
type DefaultsFor = (settings: Settings, sent: SentParams) => Json;

const turnDefaults: DefaultsFor = (settings, sent) => {
  const policy = configuredPolicy({ ...settings, toolLevel: sent.toolLevel ?? settings.toolLevel }, sent.policy?.name);
  return { ...configuredTurn(settings), policy };
};

const defaults: { readonly [Name in MethodName]?: DefaultsFor } = {
  "session.open": ({ agent, toolLevel }) => ({ agent, toolLevel }),
  "turn.start": turnDefaults,
  "turn.queue": turnDefaults,
  "turn.check": (settings, sent) => ({ ...turnDefaults(settings, sent), agent: settings.agent }),
  "bash.execute": (settings, sent) => ({ policy: configuredPolicy(settings, sent.policy?.name) }),
};

/** Params with a configured default, and their keys in docs/CONFIG.md. */
export const configuredFields: { readonly [Name in MethodName]?: Readonly<Record<string, string>> } = {
  "session.open": { agent: "agent", tool_level: "tool_level" },
  "turn.start": turnConfigKeys(),
  "turn.queue": turnConfigKeys(),
};

export function hasConfiguredDefaults(method: MethodName): boolean {
  return defaults[method] !== undefined;
}

/** `params` are the checked params, `sent` are the params as the client sent them. */
export function fillDefaults<Name extends MethodName>(
  method: Name,
  params: MethodParams<Name>,
  sent: unknown,
  settings: Settings,
): MethodParams<Name> {
  const named = fromJsonCase(namedParams(method, sent)) as SentParams;
  return fillMissing(params, named, defaults[method]?.(settings, named) ?? {}) as MethodParams<Name>;
}

function fillMissing(params: Json, sent: Json, values: Json): Json {
  const missing = Object.entries(values).flatMap(([name, value]) => {
    const sentValue = sent[name];
    if (sentValue === undefined) return [[name, value] as const];
    // Fields of another choice are not filled in: `how` names the choice.
    return isRecord(sentValue) && isRecord(value) && !("how" in sentValue)
      ? [[name, fillMissing(params[name] as Json, sentValue, value)] as const]
      : [];
  });
  return { ...params, ...Object.fromEntries(missing) };
}
