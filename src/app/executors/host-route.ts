// The way of an executor's tools to the hosts that their policy names: a proxy of skein, at the only open port of the sandbox.
import type { AttachedPort } from "../../executor/client.ts";
import { namedHosts, type Policy } from "../../protocol/api/policy.ts";
import { canReachNamedHosts } from "../../sandbox/enforced-policy.ts";
import type { SandboxSupport } from "../../sandbox/sandbox-command.ts";
import type { AppContext } from "../app-context.ts";
import { sandboxes } from "./sandbox-scope.ts";

export type HostRoute = {
  port: number;
  /** Called for each process of the executor. */
  attach: () => AttachedPort;
  close: () => void;
};

/** The port in a network namespace. Development servers use lower ones. */
const innerPort = 28_787;
const maxRefusals = 1000;

/** Null if the policy names no hosts, or the sandbox can't leave a port open. */
export async function openHostRoute(ctx: AppContext, policy: Policy, support: SandboxSupport): Promise<HostRoute | null> {
  const hosts = namedHosts(policy);
  if (hosts.length === 0 || !sandboxes(support, policy) || !canReachNamedHosts(support)) return null;
  const [{ openNamespaceRoute, openProxyRoute }, { upstreamProxy }] = await Promise.all([
    import("../../sandbox/proxy/proxy-route.ts"),
    import("../../sandbox/proxy/upstream-proxy.ts"),
  ]);
  const refusals: string[] = [];
  const options = {
    hosts,
    through: (host: string) => upstreamProxy(ctx.env, host),
    onRefused: (text: string) => void (refusals.length < maxRefusals && refusals.push(text)),
  };
  if (support.tier === "namespaces") {
    const attach = (): AttachedPort => {
      const { portReceiver, close } = openNamespaceRoute(innerPort, options);
      return { receiver: portReceiver, refusals, close };
    };
    return { port: innerPort, attach, close: () => {} };
  }
  const { port, close } = await openProxyRoute({ innerPort: null, ...options });
  return { port, attach: () => ({ receiver: null, refusals, close: () => {} }), close };
}
