// How a CLI's requests leave its walls. With a key: through our gateway, which alone knows it and counts what is spent.
// With the person's own sign-in (sign-in-gate.ts): to its vendor's hosts. With the network off nothing else is reached.
import { toolEnvironment } from "../../../executor/environment.ts";
import type { PauseGate as Barrier } from "../../../kit/flow/pause-gate.ts";
import type { Endpoint, WireName } from "../../../models/model.ts";
import { type Environment, parseModelName } from "../../../models/vendors.ts";
import { Fault, type TurnError } from "../../../protocol/api/error.ts";
import type { EnforcedPolicy, Policy } from "../../../protocol/api/policy.ts";
import type { UsageEstimate, TurnContext, TurnInput } from "../../../protocol/api/ports.ts";
import { zeroUsage, type Spent, type Usage } from "../../../protocol/tree/usage.ts";
import { offerPort, type PortOffer } from "../../../sandbox/namespace-port.ts";
import { stepLimitError } from "../../native/request/estimate.ts";
import { bytesPerToken } from "../../../kit/text/bytes-per-token.ts";
import type { Adapter } from "../adapters/adapter.ts";
import { type CredentialHints, findCredential, adapterVendor } from "./credentials.ts";
import { startGateway } from "../gateway/gateway.ts";
import type { LedgerEntry, LastAnswer } from "../gateway/ledger.ts";
import { openSignInAccess, unsandboxedSignIn } from "./sign-in-access.ts";
import { type ReportedEvent, ReportedUsage } from "./reported-usage.ts";

export type VendorAccess = {
  /** Where the CLI sends its requests, as it sees it; null where it uses its own sign-in. */
  endpoint: { url: string; token: string; wires: readonly WireName[] } | null;
  /** The one port that its walls leave open; null where the network is on. */
  port: number | null;
  /** How the port inside of its namespace gets to us; null where there is no namespace. */
  offer: PortOffer | null;
  isSandboxed: boolean;
  /** Called once the CLI has been started: what its first request needs is made ready meanwhile. */
  warmUp: () => void;
  /** What its environment gains: the way out, and a sign-in that is a variable. */
  env: Record<string, string>;
  /** The file of the person's that it may read and write, and what it is called below its configuration directory. */
  file: { path: string; place: string } | null;
  /** What it says of its session, its answers and its usage. */
  report: (event: ReportedEvent, model: string | null) => Promise<void>;
  /** How many requests have begun, and the models that were named in those that are over; null where nobody counts. */
  requestStats: () => { begun: number; models: string[] } | null;
  spent: () => Spent;
  /** What the vendor did at the last request, when that went wrong; a CLI may tell it in other words. */
  lastError: () => TurnError | null;
  close: () => Promise<void>;
};

export type VendorAccessDeps = {
  /** The person's own: where a sign-in is looked for. */
  env: Environment;
  home: string;
  config?: CredentialHints["config"];
  /** Throws a fault that says which key is missing. A key that the CLI keeps goes before the vendor's own. */
  endpoint: (vendor: string, apiKey: string | null) => Endpoint;
  price: (vendor: string, model: string, usage: Usage) => Promise<number | null>;
  /** What stands around such a turn. */
  sandboxStatus: (input: TurnInput) => { isWalled: boolean; hasOwnNetwork: boolean };
};

export type VendorAccessHooks = {
  signal: AbortSignal;
  /** Nothing passes while it is shut. */
  pauseGate: Barrier;
  /** No answer reaches the CLI before: until then it has nothing to change a file for. */
  ready: Promise<void>;
  /** The CLI's configuration directory, and its session that is resumed or forked. */
  configDir: string;
  nativeSession: string | null;
  /** What the whole run may use. */
  budget: Pick<TurnContext, "reserve" | "count">;
  /** The budget is used up: no further request is let through. */
  onBudgetUsedUp: (error: TurnError) => void;
  /** An answer is on its way, whatever the CLI shows of it. */
  onBytes: () => void;
  /** It can't begin yet, and why. */
  onWait: (message: string) => void;
};

const innerPort = 8787;
/** What it is about to print of its last call comes before it is stopped. */
const lastWordsMs = 250;

export async function openVendorAccess(
  deps: VendorAccessDeps,
  adapter: Adapter,
  input: TurnInput,
  watch: VendorAccessHooks,
): Promise<VendorAccess> {
  const found = findCredential(adapter, deps.env, deps.home, { model: input.model, config: deps.config });
  const { vendor } = adapterVendor(adapter, input.model);
  const usage = new ReportedUsage({
    price: (model, used) => deps.price(vendor, model, used),
    configDir: watch.configDir,
    nativeSession: watch.nativeSession,
  });
  if (found.kind === "none") throw new Fault("auth", `no key for ${vendor}, and no sign-in of ${adapter.name}`, { hint: found.note });
  if (found.kind === "sign-in") await watch.ready;
  if (found.kind === "sign-in") return openSignInAccess({ adapter, use: found.use, input, watch, usage, parts: deps, innerPort });
  const endpoints = adapter.asksAny ? allEndpoints(deps, input.model) : [deps.endpoint(vendor, found.apiKey)];
  return openKeyAccess(deps, endpoints, input, watch, usage);
}

/** The vendor of the model that was named, and the usual ones that have a key; OpenAI speaks both of its protocols. */
function allEndpoints(deps: VendorAccessDeps, model: string | null): Endpoint[] {
  const named = model === null ? [] : [deps.endpoint(parseModelName(model).vendor, null)];
  const usual = ["anthropic", "openai", "gemini"].flatMap((vendor) => endpointWithKey(deps, vendor));
  const chat = usual.flatMap((endpoint) => (endpoint.wire === "openai-responses" ? [{ ...endpoint, wire: "openai-chat" as const }] : []));
  return [...named, ...usual, ...chat];
}

function endpointWithKey(deps: VendorAccessDeps, vendor: string): Endpoint[] {
  try {
    return [deps.endpoint(vendor, null)];
  } catch (error) {
    if (error instanceof Fault && error.code === "auth") return [];
    throw error;
  }
}

function openKeyAccess(
  deps: VendorAccessDeps,
  endpoints: Endpoint[],
  input: TurnInput,
  watch: VendorAccessHooks,
  usage: ReportedUsage,
): VendorAccess {
  const { isWalled, hasOwnNetwork } = deps.sandboxStatus(input);
  let requests = 0;
  const gateway = startGateway({
    listen: { port: 0 },
    vendors: (wire: WireName) => endpoints.find((endpoint) => endpoint.wire === wire) ?? null,
    price: deps.price,
    ready: watch.ready,
    pauseGate: watch.pauseGate,
    reserve: async (request, last) => {
      const over = stepLimitError(requests, input.limits);
      if (over === null) requests += 1;
      const room = over ?? (await watch.budget.reserve(await estimateOf(deps, input, request, last)));
      if (typeof room === "function") return room;
      await Bun.sleep(lastWordsMs);
      watch.onBudgetUsedUp(room);
      return room;
    },
    onRequest: () => {},
    onBytes: watch.onBytes,
  });
  const offer = hasOwnNetwork ? offerPort() : null;
  const stop = new AbortController();
  const warmUp = () => {
    gateway.warmUp();
    if (offer !== null) void offer.take(stop.signal).then((file) => (file === null ? undefined : gateway.serve(file)));
  };
  const port = offer === null ? Number(new URL(gateway.url!).port) : innerPort;
  return {
    endpoint: { url: `http://127.0.0.1:${port}`, token: gateway.token, wires: [...new Set(endpoints.map(({ wire }) => wire))] },
    port: isWalled && input.policy.net === "off" ? port : null,
    offer,
    // Who asked for no walls is asked nothing either.
    isSandboxed: isWalled || input.policy.name === "full",
    warmUp,
    env: {},
    file: null,
    // The gateway counts; only what its session has used by now is remembered.
    report: (event, model) => (event.type === "answer" ? Promise.resolve() : usage.take(event, model)),
    requestStats: () => ({
      begun: requests,
      models: gateway.requests().flatMap(({ kind, model }) => (kind === "answer" && model !== null ? [model] : [])),
    }),
    spent: gateway.spent,
    lastError: () => gateway.requests().findLast(({ kind, error }) => kind === "answer" && error?.kind !== "cancelled")?.error ?? null,
    close: async () => {
      stop.abort();
      offer?.close();
      await gateway.close();
    },
  };
}

/** Goes by the last answer: what was cached then is cached now, and the next one is about as long. */
async function estimateOf(deps: VendorAccessDeps, input: TurnInput, request: LedgerEntry, last: LastAnswer | null): Promise<UsageEstimate> {
  if (request.route.kind !== "answer") return { tokens: 0, costUsd: 0 };
  const isCached = last !== null && last.usage.cacheRead + last.usage.cacheWrite > 0;
  const before = last === null || isCached ? 0 : last.usage.input;
  const asked = before + Math.ceil(Math.max(0, request.bytes - (last?.bytes ?? 0)) / bytesPerToken.limit);
  const output = last?.usage.output ?? 0;
  const { vendor, model } = request;
  const isPriced = input.limits.maxBudgetUsd !== null && model !== null;
  const costUsd = isPriced ? await deps.price(vendor, model, { ...zeroUsage, input: asked, output }) : null;
  return { tokens: asked + output, costUsd };
}

/** What tools may see of the person's environment, with the gate's way out instead of the person's own. */
export function cliEnvironment(env: Environment, { port, env: gained }: Pick<VendorAccess, "port" | "env">): Record<string, string> {
  const seen = toolEnvironment(env);
  // A proxy that can't be reached would only hide why, and its address may hold a password.
  if (port !== null) for (const name of Object.keys(seen)) if (/_proxy$/i.test(name)) delete seen[name];
  return { ...seen, NO_PROXY: "127.0.0.1", no_proxy: "127.0.0.1", ...gained };
}

/** What is really held for a turn of this agent: with the network off it reaches the gateway, or its vendor. */
export function enforcedWithAccess(
  deps: VendorAccessDeps,
  adapter: Adapter,
  policy: Policy,
  model: string | null,
  held: EnforcedPolicy,
): EnforcedPolicy {
  const { kind } = findCredential(adapter, deps.env, deps.home, { model, config: deps.config });
  if (kind !== "sign-in") return held.net === "off" ? { ...held, net: "gateway" } : held;
  if (held.net === "off") return { ...held, net: "vendor" };
  if (policy.net === "off" && policy.name !== "full") throw unsandboxedSignIn(adapter);
  return held;
}
