// Opens the proxy where a sandboxed program can reach it: at a port of its own network namespace, or of the machine's loopback.
import { createPortReceiver, type PortReceiver } from "../namespace-port.ts";
import type { HostProxyOptions } from "./host-proxy.ts";
import type { SocketListener } from "./join-sockets.ts";

export type ProxyRouteOptions = Omit<HostProxyOptions, "listen"> & {
  /** The port in the network namespace of the program; null if it has none. */
  innerPort: number | null;
};

export type ProxyRoute = {
  port: number;
  /** Connects the port in the network namespace to skein; null without such a namespace. */
  portReceiver: PortReceiver | null;
  close: () => void;
};

export async function openProxyRoute({ innerPort, ...options }: ProxyRouteOptions): Promise<ProxyRoute> {
  if (innerPort !== null) return openNamespaceRoute(innerPort, options);
  const { startHostProxy } = await import("./host-proxy.ts");
  const { port, close } = await startHostProxy({ listen: { port: 0 }, ...options });
  return { port, portReceiver: null, close };
}

/** The proxy listens once the launcher has sent the socket. */
export function openNamespaceRoute(innerPort: number, options: Omit<HostProxyOptions, "listen">): ProxyRoute {
  const portReceiver = createPortReceiver();
  const stop = new AbortController();
  let proxy: SocketListener | null = null;
  const listen = async () => {
    const file = await portReceiver.receive(stop.signal);
    if (file === null) return;
    const { startHostProxy } = await import("./host-proxy.ts");
    proxy = await startHostProxy({ listen: { fd: file }, ...options });
    if (stop.signal.aborted) proxy.close();
  };
  // After a failure nothing listens on the port, and the program reports that.
  void listen().catch(() => undefined);
  const close = () => {
    stop.abort();
    portReceiver.close();
    proxy?.close();
  };
  return { port: innerPort, portReceiver, close };
}
