// The gate of a CLI that uses the person's own sign-in: with the network off it reaches its vendor's hosts through our
// proxy and nothing else. Nothing is counted on the way; budgets go by what the CLI says of itself.
import { closeSync, openSync } from "node:fs";
import { loadLibc } from "../../../kit/process/libc.ts";
import { Fault } from "../../../protocol/api/error.ts";
import { callsOf } from "../../../protocol/tree/node.ts";
import type { TurnInput } from "../../../protocol/api/ports.ts";
import { offerPort } from "../../../sandbox/namespace-port.ts";
import { subtractSpent } from "../../../protocol/tree/usage.ts";
import { stepLimitError } from "../../native/request/estimate.ts";
import type { Adapter } from "../adapters/adapter.ts";
import type { SignInUse } from "./credentials.ts";
import type { VendorAccess, VendorAccessDeps, VendorAccessHooks } from "./vendor-access.ts";
import { upstreamProxy } from "./upstream-proxy.ts";
import type { ReportedUsage } from "./reported-usage.ts";
import type { VendorProxy } from "./vendor-proxy.ts";

export type SignInAccessOptions = {
  adapter: Adapter;
  use: SignInUse;
  input: TurnInput;
  watch: VendorAccessHooks;
  usage: ReportedUsage;
  parts: VendorAccessDeps;
  innerPort: number;
};

const askEveryMs = 100;
const tellEveryMs = 60_000;

export async function openSignInAccess({
  adapter,
  use,
  input,
  watch,
  usage,
  parts,
  innerPort,
}: SignInAccessOptions): Promise<VendorAccess> {
  const { isWalled, hasOwnNetwork } = parts.sandboxStatus(input);
  const isHeld = input.policy.net === "off" && input.policy.name !== "full";
  if (isHeld && !isWalled) throw unsandboxedSignIn(adapter);
  const release = use.file?.isExclusive ? await lockSignInFile(use.file.path, adapter, watch) : () => {};
  try {
    const way = isHeld ? await openProxyRoute(adapter, parts, hasOwnNetwork, innerPort) : null;
    const proxy: Record<string, string> = way === null ? {} : { HTTPS_PROXY: way.url, https_proxy: way.url };
    return {
      endpoint: null,
      port: way?.port ?? null,
      offer: way?.offer ?? null,
      isSandboxed: isWalled || input.policy.name === "full",
      warmUp: () => {},
      env: { ...proxy, ...use.env },
      file: use.file,
      report: async (event, model) => {
        const before = usage.spent;
        await usage.take(event, model);
        const over = watch.budget.count(subtractSpent(usage.spent, before)) ?? stepLimitError(usage.answers, input.limits);
        // Only where a further request would follow.
        if (over !== null && event.type === "answer" && callsOf(event).length > 0) watch.onBudgetUsedUp(over);
      },
      requestStats: () => null,
      spent: () => usage.spent,
      lastError: () => null,
      close: async () => {
        way?.close();
        release();
      },
    };
  } catch (error) {
    release();
    throw error;
  }
}

/** A sign-in must not be where everything can be reached, unless that was asked for. */
export function unsandboxedSignIn(adapter: Adapter): Fault {
  const message = `${adapter.name} would use its own sign-in, and nothing here can hold it to its vendor's hosts`;
  return new Fault("sandbox-unavailable", message, {
    hint: "allow it the network with --net on, or set an API key; skein doctor says why",
  });
}

type ProxyRoute = { url: string; port: number; offer: VendorAccess["offer"]; close: () => void };

/** In a network of its own the proxy listens on the child's loopback, else on the machine's. */
async function openProxyRoute(adapter: Adapter, deps: VendorAccessDeps, hasOwnNetwork: boolean, innerPort: number): Promise<ProxyRoute> {
  const options = { hosts: adapter.signIn?.hosts ?? [], through: (host: string) => upstreamProxy(deps.env, host) };
  const open: Pick<VendorProxy, "close">[] = [];
  const { startVendorProxy } = await import("./vendor-proxy.ts");
  if (!hasOwnNetwork) {
    const proxy = await startVendorProxy({ listen: { port: 0 }, ...options });
    return { url: proxy.url!, port: Number(new URL(proxy.url!).port), offer: null, close: proxy.close };
  }
  const offer = offerPort();
  const stop = new AbortController();
  const listen = async () => {
    const file = await offer.take(stop.signal);
    if (file === null) return;
    const proxy = await startVendorProxy({ listen: { fd: file }, ...options });
    if (stop.signal.aborted) proxy.close();
    else open.push(proxy);
  };
  // Then nothing answers there, and the CLI says so.
  void listen().catch(() => undefined);
  const close = () => {
    stop.abort();
    offer.close();
    for (const proxy of open) proxy.close();
  };
  return { url: `http://127.0.0.1:${innerPort}`, port: innerPort, offer, close };
}

/** The file itself is what is locked: so every skein on this machine waits, and nothing is left when one is killed. */
async function lockSignInFile(
  path: string,
  adapter: Adapter,
  { signal, pauseGate: barrier, onWait }: VendorAccessHooks,
): Promise<() => void> {
  const libc = await loadLibc();
  if (libc === null) throw new Fault("internal", `the sign-in of ${adapter.name} can't be locked here: the C library can't be loaded`);
  const file = openSync(path, "r");
  let toldAt = -Infinity;
  while (!libc.lock(file)) {
    // Also a sign of life: how long the other one takes is not this turn's silence.
    if (performance.now() - toldAt > tellEveryMs) {
      onWait(`another turn uses the sign-in of ${adapter.name}, which only one may at a time; this one waits`);
      toldAt = performance.now();
    }
    await Bun.sleep(askEveryMs);
    await barrier.whenOpen();
    if (!signal.aborted) continue;
    closeSync(file);
    throw new Fault("auth", `the sign-in of ${adapter.name} was in use by another turn all the time`, {
      hint: "wait for it, or set an API key: with one, any number can run",
    });
  }
  return () => closeSync(file);
}
