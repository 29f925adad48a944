// A CLI's connection to its vendor, out of its sandbox. With a key it goes through our gateway (gateway-access.ts), with
// the user's sign-in through our proxy (proxy-access.ts). If the network is off, nothing else can be reached.
import { removeNetworkSecrets, toolEnvironment } from "../../../executor/environment.ts";
import type { PauseGate } from "../../../kit/flow/pause-gate.ts";
import type { Endpoint, WireName } from "../../../models/model.ts";
import { type Environment, parseModelName } from "../../../models/vendors.ts";
import { Fault, type TurnError } from "../../../protocol/api/error.ts";
import type { EnforcedPolicy, Policy } from "../../../protocol/api/policy.ts";
import type { TurnContext, TurnInput } from "../../../protocol/api/ports.ts";
import type { Spent, Usage } from "../../../protocol/tree/usage.ts";
import type { PortReceiver } from "../../../sandbox/namespace-port.ts";
import type { Adapter } from "../adapters/adapter.ts";
import { adapterVendor, type CredentialSources, findCredential } from "./find-credential.ts";
import { openGatewayAccess } from "./gateway-access.ts";
import { openProxyAccess, unsandboxedSignIn } from "./proxy-access.ts";
import { type ReportedEvent, ReportedUsage } from "./reported-usage.ts";

export type VendorAccess = {
  /** The gateway's address as the CLI sees it, from inside its namespace; null for a CLI that uses its own sign-in. */
  endpoint: { url: string; token: string; wires: readonly WireName[] } | null;
  /** The only port that the sandbox leaves open; null when the network is on. */
  port: number | null;
  /** Connects the port in the CLI's network namespace to skein; null without such a namespace. */
  portReceiver: PortReceiver | null;
  isSandboxed: boolean;
  /** Called once the CLI has been started. Loads what its first request needs. */
  warmUp: () => void;
  /** Variables to add: the proxy's address, and a sign-in that is a variable. */
  env: Record<string, string>;
  /** The user's sign-in file, which the CLI may read and write; null if it needs none. */
  signInFile: string | null;
  /** Called for every session, answer and usage that the CLI prints. */
  report: (event: ReportedEvent, model: string | null) => Promise<void>;
  /**
   * Number of started requests, and the models named in finished ones; null when no gateway counts them. `mainModel` read
   * the most tokens: titles and the like are asked of other models.
   */
  requestStats: () => { begun: number; models: string[]; mainModel: string | null } | null;
  spent: () => Spent;
  /** The vendor's error for the last request; null if it succeeded. The CLI may print it in other words. */
  lastError: () => TurnError | null;
  close: () => Promise<void>;
};

export type VendorAccessDeps = CredentialSources & {
  /** Throws a fault that names the missing key. An `apiKey` from the CLI's own files wins over the vendor's key. */
  endpoint: (vendor: string, apiKey: string | null) => Endpoint;
  /** Resolves to null when the price is unknown. */
  price: (vendor: string, model: string, usage: Usage) => Promise<number | null>;
  /** Called with the headers of every answer that passes the gateway. */
  onHeaders?: (endpoint: Endpoint, headers: Headers) => void;
  sandboxStatus: (input: TurnInput) => { isSandboxed: boolean; hasOwnNetwork: boolean };
};

export type VendorAccessHooks = {
  signal: AbortSignal;
  /** No request and no answer passes while the gate is paused. */
  pauseGate: PauseGate;
  /** Resolves when the project's files are recorded. No request is forwarded before, so that the CLI can't change a file first. */
  ready: Promise<void>;
  /** The CLI's own configuration directory. */
  configDir: string;
  /** Id of the CLI's own session to resume or fork; null starts a new one. */
  cliSession: string | null;
  /** The budget of the whole run. */
  budget: Pick<TurnContext, "reserve" | "count">;
  /** Called for every request that is refused because the budget is used up. */
  onBudgetUsedUp: (error: TurnError) => void;
  /** Called when the CLI repeats a request again and again although the vendor's limit ends much later. */
  onRepeatedLimit: (error: TurnError) => void;
  /** Called for every chunk of an answer, so that the turn does not count as idle. */
  onBytes: () => void;
  /** Called for every connection that our proxy refuses, with the reason. */
  onRefused: (text: string) => void;
  /** Called about once a minute while the CLI can't be started yet, with the reason. */
  onWait: (message: string) => void;
};

/** Arguments of both kinds of access. */
export type AccessRequest = {
  deps: VendorAccessDeps;
  adapter: Adapter;
  input: TurnInput;
  hooks: VendorAccessHooks;
  usage: ReportedUsage;
};

export async function openVendorAccess(
  deps: VendorAccessDeps,
  adapter: Adapter,
  input: TurnInput,
  hooks: VendorAccessHooks,
): Promise<VendorAccess> {
  const credential = findCredential(adapter, deps, input.model);
  const vendor = adapterVendor(adapter, input.model);
  const usage = new ReportedUsage({
    price: (model, used) => deps.price(vendor, model, used),
    configDir: hooks.configDir,
    cliSession: hooks.cliSession,
  });
  const request = { deps, adapter, input, hooks, usage };
  if (credential.kind === "none")
    throw new Fault("auth", `no key for ${vendor}, and no sign-in of ${adapter.name}`, { hint: credential.note });
  if (credential.kind === "key") {
    const endpoints = adapter.usesAnyVendor ? allEndpoints(deps, input.model) : [deps.endpoint(vendor, credential.apiKey)];
    return openGatewayAccess(request, endpoints);
  }
  await hooks.ready;
  return openProxyAccess(request, credential.use);
}

/** The vendor of the named model, and the three big ones that have a key. OpenAI has two wires. */
function allEndpoints(deps: VendorAccessDeps, model: string | null): Endpoint[] {
  const named = model === null ? [] : [deps.endpoint(parseModelName(model).vendor, null)];
  const defaults = ["anthropic", "openai", "gemini"].flatMap((vendor) => endpointWithKey(deps, vendor));
  const chat = defaults.flatMap((endpoint) =>
    endpoint.wire === "openai-responses" ? [{ ...endpoint, wire: "openai-chat" as const }] : [],
  );
  return [...named, ...defaults, ...chat];
}

function endpointWithKey(deps: VendorAccessDeps, vendor: string): Endpoint[] {
  try {
    return [deps.endpoint(vendor, null)];
  } catch (error) {
    if (error instanceof Fault && error.code === "auth") return [];
    throw error;
  }
}

/** The variables that tools may see. The proxy of `access` replaces the user's own. */
export function cliEnvironment(env: Environment, access: Pick<VendorAccess, "port" | "env">): Record<string, string> {
  const visible = toolEnvironment(env);
  if (access.port !== null) removeNetworkSecrets(visible);
  return { ...visible, NO_PROXY: "127.0.0.1", no_proxy: "127.0.0.1", ...access.env };
}

/** The policy that is enforced for a turn of this CLI. With the network off it still reaches the gateway, or its vendor. */
export function enforcedWithAccess(
  deps: VendorAccessDeps,
  adapter: Adapter,
  { policy, model, enforced }: { policy: Policy; model: string | null; enforced: EnforcedPolicy },
): EnforcedPolicy {
  const { kind } = findCredential(adapter, deps, model);
  if (enforced.net === "hosts") return enforced;
  if (kind !== "sign-in") return enforced.net === "off" ? { ...enforced, net: "gateway" } : enforced;
  if (enforced.net === "off") return { ...enforced, net: "vendor" };
  if (policy.net === "off" && policy.name !== "full") throw unsandboxedSignIn(adapter);
  return enforced;
}
