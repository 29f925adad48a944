// Vendor access with the user's own sign-in. With the network off, the CLI reaches its vendor's hosts through our proxy
// and nothing else. The proxy can't count requests, so budgets rely on the usage that the CLI prints.
import { closeSync } from "node:fs";
import { openRegularFile } from "../../../kit/files/safe-file.ts";
import { loadLibc } from "../../../kit/process/libc.ts";
import { Fault } from "../../../protocol/api/error.ts";
import { isOffline, namedHosts } from "../../../protocol/api/policy.ts";
import { callsOf } from "../../../protocol/tree/node.ts";
import { proxyVariables } from "../../../executor/environment.ts";
import { openProxyRoute } from "../../../sandbox/proxy/proxy-route.ts";
import { upstreamProxy } from "../../../sandbox/proxy/upstream-proxy.ts";
import { subtractSpent } from "../../../protocol/tree/usage.ts";
import { stepLimitError } from "../../native/request/request-size.ts";
import type { Adapter } from "../adapters/adapter.ts";
import type { SignInUse } from "./find-credential.ts";
import type { AccessRequest, VendorAccess, VendorAccessHooks } from "./vendor-access.ts";
import { innerPort } from "./gateway-access.ts";

const lockPollMs = 100;
const waitNoticeMs = 60_000;

export async function openProxyAccess(request: AccessRequest, use: SignInUse): Promise<VendorAccess> {
  const { deps, adapter, input, hooks, usage } = request;
  const { isSandboxed, hasOwnNetwork } = deps.sandboxStatus(input);
  const isRestricted = isOffline(input.policy);
  if (isRestricted && !isSandboxed) throw unsandboxedSignIn(adapter);
  const unlock = use.file?.isExclusive ? await lockSignInFile(use.file.path, adapter, hooks) : () => {};
  try {
    const hosts = namedHosts(input.policy);
    const route = isRestricted
      ? await openProxyRoute({
          innerPort: hasOwnNetwork ? innerPort : null,
          hosts,
          vendorHosts: adapter.signIn?.hosts ?? [],
          through: (host) => upstreamProxy(deps.env, host),
          onRefused: hosts.length === 0 ? undefined : hooks.onRefused,
        })
      : null;
    const url = `http://127.0.0.1:${route?.port}`;
    const ownProxy: Record<string, string> = route === null ? {} : { HTTPS_PROXY: url, https_proxy: url };
    const proxy = route === null || hosts.length === 0 ? ownProxy : proxyVariables({ hosts, port: route.port });
    return {
      endpoint: null,
      port: route?.port ?? null,
      portReceiver: route?.portReceiver ?? null,
      isSandboxed: isSandboxed || input.policy.name === "full",
      warmUp: () => {},
      env: { ...proxy, ...use.env },
      signInFile: use.file?.path ?? null,
      report: async (event, model) => {
        const before = usage.spent;
        await usage.add(event, model);
        const error = hooks.budget.count(subtractSpent(usage.spent, before)) ?? stepLimitError(usage.answers, input.limits);
        // Without calls this answer is the last one: there is no further request to prevent.
        if (error !== null && event.type === "answer" && callsOf(event).length > 0) hooks.onBudgetUsedUp(error);
      },
      requestStats: () => null,
      spent: () => usage.spent,
      lastError: () => null,
      close: async () => {
        route?.close();
        unlock();
      },
    };
  } catch (error) {
    unlock();
    throw error;
  }
}

/** A CLI with a sign-in must not have an open network unless the user asked for it. */
export function unsandboxedSignIn(adapter: Adapter): Fault {
  const message = `${adapter.name} would use its own sign-in, and this machine has no sandbox to limit it to its vendor's hosts`;
  return new Fault("sandbox-unavailable", message, {
    hint: "allow the network with --net on, or set an API key; skein doctor says why",
  });
}

/** Locks the sign-in file itself: every skein on this machine then waits, and a killed one leaves no lock behind. */
async function lockSignInFile(path: string, adapter: Adapter, { signal, pauseGate, onWait }: VendorAccessHooks): Promise<() => void> {
  const libc = await loadLibc();
  if (libc === null) throw new Fault("internal", `the sign-in of ${adapter.name} can't be locked: the C library can't be loaded`);
  const file = openRegularFile(path);
  let noticeAt = -Infinity;
  while (!libc.lock(file)) {
    // The notice also resets the idle limit: the wait for another turn does not count.
    if (performance.now() - noticeAt > waitNoticeMs) {
      onWait(`another turn uses the sign-in of ${adapter.name}, which only one may at a time; this one waits`);
      noticeAt = performance.now();
    }
    await Bun.sleep(lockPollMs);
    await pauseGate.whenOpen();
    if (!signal.aborted) continue;
    closeSync(file);
    throw new Fault("auth", `the sign-in of ${adapter.name} was in use by another turn all the time`, {
      hint: "wait for it, or set an API key: with one, any number can run",
    });
  }
  return () => closeSync(file);
}
