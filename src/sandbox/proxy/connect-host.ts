// Connects the proxy to a host that the policy names. A name is resolved once, its addresses are checked, and the connection
// goes to a checked address: a second answer of DNS can't lead anywhere else.
import { lookup } from "node:dns/promises";
import { connect, type Socket } from "node:net";
import { networkInterfaces } from "node:os";
import { allowsHost, type HostPattern, isAddress } from "../../kit/flow/host-pattern.ts";
import { isPublicAddress } from "../../kit/flow/public-address.ts";
import { readHead } from "./read-head.ts";

export type HostTarget = { host: string; port: number };

export type HostRules = {
  /** Hosts that the user has named. A private address must be named itself. */
  hosts: readonly HostPattern[];
  /** Hosts of the agent's vendor. Their addresses are not checked. */
  vendorHosts: readonly HostPattern[];
  /** Returns the addresses of a name. Rejects if it has none. */
  resolve: (host: string) => Promise<string[]>;
  /** Returns the user's own proxy for a host; null for a direct connection. */
  through: (host: string) => URL | null;
};

/** `isRefused`: the rules forbid the connection. Otherwise it failed. */
export type ConnectProblem = { text: string; isRefused: boolean };

const connectTimeoutMs = 20_000;

export async function resolveHost(host: string): Promise<string[]> {
  return (await lookup(host, { all: true, verbatim: true })).map(({ address }) => address);
}

export function isNamed({ host, port }: HostTarget, { hosts, vendorHosts }: HostRules): boolean {
  return allowsHost(hosts, host, port) || allowsHost(vendorHosts, host, port);
}

/** `target` must be named. The socket is connected and paused. */
export async function connectToHost(target: HostTarget, rules: HostRules): Promise<Socket | ConnectProblem> {
  const { host, port } = target;
  const isLocal = isAddress(host) || host === "localhost";
  const proxy = isLocal && allowsHost(rules.hosts, host, port) ? null : rules.through(host);
  if (proxy !== null) return connectThrough(proxy, target);
  const addresses = await addressesOf(target, rules);
  if (!Array.isArray(addresses)) return addresses;
  for (const address of addresses) {
    const socket = await connectTo({ host: address, port });
    if (socket !== null) return socket;
  }
  return unreachable(host);
}

async function addressesOf({ host, port }: HostTarget, rules: HostRules): Promise<string[] | ConnectProblem> {
  if (isAddress(host)) return [host];
  if (host === "localhost") return ["127.0.0.1", "::1"];
  const found = await rules.resolve(host).catch(() => []);
  if (found.length === 0) return { text: `${host} can't be resolved`, isRefused: false };
  if (allowsHost(rules.vendorHosts, host, port)) return found;
  const own = new Set(Object.values(networkInterfaces()).flatMap((list) => (list ?? []).map(({ address }) => address)));
  const allowed = found.filter((address) => (isPublicAddress(address) && !own.has(address)) || allowsHost(rules.hosts, address, port));
  if (allowed.length > 0) return allowed;
  const text = `${host} resolves to ${found[0]}, an address of this machine or of a private network; it must be named too`;
  return { text, isRefused: true };
}

/** Null if nothing accepts the connection. */
function connectTo(address: { host: string; port: number }): Promise<Socket | null> {
  return new Promise((resolve) => {
    const socket = connect({ ...address, allowHalfOpen: true, noDelay: true });
    const finish = (result: Socket | null) => {
      socket.setTimeout(0).removeAllListeners("error").removeAllListeners("timeout").removeAllListeners("connect");
      socket.on("error", () => socket.destroy());
      if (result === null) socket.destroy();
      resolve(result);
    };
    socket.setTimeout(connectTimeoutMs, () => finish(null));
    socket.once("error", () => finish(null));
    socket.once("connect", () => finish(socket.pause()));
  });
}

/** Asks the user's own proxy for a tunnel. It resolves the name, so the address can't be checked here. */
async function connectThrough(proxy: URL, { host, port }: HostTarget): Promise<Socket | ConnectProblem> {
  const socket = await connectTo({ host: proxy.hostname, port: Number(proxy.port || 80) });
  if (socket === null) return unreachable(host);
  const target = `${host}:${port}`;
  const name = decodeURIComponent(proxy.username);
  const login = Buffer.from(`${name}:${decodeURIComponent(proxy.password)}`).toString("base64");
  socket.write(`CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n${name === "" ? "" : `Proxy-Authorization: Basic ${login}\r\n`}\r\n`);
  const answer = await readHead(socket);
  if (answer !== null && answer !== "too-long" && /^HTTP\/1\.[01] 200\b/.test(answer.head)) {
    if (answer.rest.length > 0) socket.unshift(answer.rest);
    return socket;
  }
  socket.destroy();
  return unreachable(host);
}

function unreachable(host: string): ConnectProblem {
  return { text: `${host} can't be reached`, isRefused: false };
}
