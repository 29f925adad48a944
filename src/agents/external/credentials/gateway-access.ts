// Vendor access with a key: the CLI sends its requests to our gateway, which holds the key and counts the usage.
import type { Endpoint } from "../../../models/model.ts";
import { isOffline, namedHosts } from "../../../protocol/api/policy.ts";
import type { UsageEstimate } from "../../../protocol/api/ports.ts";
import { countedTokens, zeroUsage } from "../../../protocol/tree/usage.ts";
import { proxyVariables } from "../../../executor/environment.ts";
import { upstreamProxy } from "../../../sandbox/proxy/upstream-proxy.ts";
import { createPortReceiver } from "../../../sandbox/namespace-port.ts";
import { stepLimitError } from "../../native/request/request-size.ts";
import { oneLine } from "../../../kit/text/cut-text.ts";
import type { TurnError } from "../../../protocol/api/error.ts";
import { tokensIn } from "../../../kit/text/bytes-per-token.ts";
import { Gateway } from "../gateway/gateway.ts";
import type { LedgerEntry, MeteredRequest } from "../gateway/ledger.ts";
import type { AccessRequest, VendorAccess } from "./vendor-access.ts";

/** Our port in the CLI's own network namespace. */
export const innerPort = 8787;
/** The CLI may still print the result of its last call before it is stopped. */
const lastOutputMs = 250;

export async function openGatewayAccess(access: AccessRequest, endpoints: Endpoint[]): Promise<VendorAccess> {
  const { deps, input, hooks, usage } = access;
  const { isSandboxed, hasOwnNetwork } = deps.sandboxStatus(input);
  const hosts = isSandboxed ? namedHosts(input.policy) : [];
  let requestCount = 0;
  const gateway = new Gateway({
    endpoints,
    price: deps.price,
    ready: hooks.ready,
    pauseGate: hooks.pauseGate,
    isOffline: isOffline(input.policy),
    named: hosts.length === 0 ? null : { hosts, through: (host) => upstreamProxy(deps.env, host), onRefused: hooks.onRefused },
    reserve: async (request) => {
      const stepError = stepLimitError(requestCount, input.limits);
      if (stepError === null) requestCount += 1;
      const estimate = await estimateRequest(access, request);
      const reservation = stepError ?? priceError(access, request, estimate) ?? (await hooks.budget.reserve(estimate));
      if (typeof reservation === "function") return reservation;
      await Bun.sleep(lastOutputMs);
      hooks.onBudgetUsedUp(reservation);
      return reservation;
    },
    onBytes: hooks.onBytes,
    onRepeatedLimit: hooks.onRepeatedLimit,
    onHeaders: deps.onHeaders,
  });
  const portReceiver = hasOwnNetwork ? createPortReceiver() : null;
  const stop = new AbortController();
  const port = portReceiver === null ? await gateway.listen({ port: 0 }) : innerPort;
  return {
    endpoint: { url: `http://127.0.0.1:${port}`, token: gateway.token, wires: [...new Set(endpoints.map(({ wire }) => wire))] },
    port: isSandboxed && input.policy.net === "off" ? port : null,
    portReceiver,
    // Policy full has no sandbox on purpose: the CLI must not ask for permissions either.
    isSandboxed: isSandboxed || input.policy.name === "full",
    warmUp: () => {
      gateway.warmUp();
      if (portReceiver !== null)
        void portReceiver.receive(stop.signal).then((file) => (file === null ? undefined : gateway.listen({ fd: file })));
    },
    // The gateway itself is at 127.0.0.1, and must not be asked for through the proxy.
    env: hosts.length === 0 ? {} : proxyVariables({ hosts: hosts.filter((host) => !host.startsWith("127.0.0.1")), port }),
    signInFile: null,
    // The gateway counts the answers. Only the running total of the CLI's session must be saved.
    report: (event, model) => (event.type === "answer" ? Promise.resolve() : usage.add(event, model)),
    requestStats: () => ({
      begun: requestCount,
      models: gateway.requests().flatMap(({ kind, model }) => (kind === "answer" && model !== null ? [model] : [])),
      mainModel: mainModel(gateway.requests()),
    }),
    spent: () => gateway.spent(),
    lastError: () => gateway.requests().findLast(({ kind, error }) => kind === "answer" && error?.kind !== "cancelled")?.error ?? null,
    close: async () => {
      stop.abort();
      portReceiver?.close();
      await gateway.close();
    },
  };
}

/** Output tokens that are reserved for a request without a limit of its own. */
const unlimitedOutput = 32_000;

/**
 * The most that the request can cost, as far as it is known: nothing cached, and the longest answer it allows. A request that
 * does not fit waits until the running ones are counted, so parallel requests exceed a limit no more than a single one.
 */
async function estimateRequest({ deps, input }: AccessRequest, request: LedgerEntry): Promise<UsageEstimate> {
  if (request.route.kind !== "answer") return { tokens: 0, costUsd: 0 };
  const usage = { ...zeroUsage, input: tokensIn(request.bytes), output: request.outputLimit ?? unlimitedOutput };
  const { endpoint, model, priceFactor } = request;
  const isPriced = input.limits.maxBudgetUsd !== null && model !== null;
  const price = isPriced ? await deps.price(endpoint.vendor, model, usage) : null;
  return { tokens: countedTokens(usage), costUsd: price === null ? null : price * priceFactor };
}

/** A CLI may name any model in a request. One without a price would cost money that no budget counts. */
function priceError({ input }: AccessRequest, { model }: LedgerEntry, { costUsd }: UsageEstimate): TurnError | null {
  if (input.limits.maxBudgetUsd === null || costUsd !== null) return null;
  const name = model === null ? "a request without a model" : oneLine(model, 100);
  return {
    kind: "budget",
    limit: "money",
    message: `no price is known for ${name}, so --max-budget-usd can't be enforced`,
    hint: "use --max-tokens instead, or set its price in `models` of the config",
  };
}

function mainModel(requests: readonly MeteredRequest[]): string | null {
  const tokens = new Map<string, number>();
  for (const { kind, model, usage } of requests)
    if (kind === "answer" && model !== null) tokens.set(model, (tokens.get(model) ?? 0) + usage.input + usage.cacheRead + usage.cacheWrite);
  // Without usage, as after a refused key, the last model is the one that should have answered.
  return [...tokens].toReversed().toSorted(([, a], [, b]) => b - a)[0]?.[0] ?? null;
}
