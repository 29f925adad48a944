// Decides by the headers of a request whether a page of this server may have sent it. The Host must be an address of this
// server, which stops DNS rebinding. The Origin must be the page's own, which stops pages of other sites.
import { hostname } from "node:os";
import { isIP } from "node:net";

export type PageAddress = {
  /** The interface that the server listens on. */
  host: string;
  port: number;
  /** The address behind a reverse proxy, as `https://host[:port]`; null without a proxy. */
  origin: string | null;
};

/** Null if the request may be answered. Requests that change something need an Origin; browsers send it with each of them. */
export function refusalOf(request: Request, address: PageAddress, { needsOrigin }: { needsOrigin: boolean }): Response | null {
  const host = request.headers.get("host") ?? "";
  if (!isOwnHost(host, address)) return refuse("this address does not belong to the page; open the one that `skein web` prints");
  const origin = request.headers.get("origin");
  if (origin === null ? needsOrigin : !isOwnOrigin(origin, address)) return refuse("pages of other origins are not served");
  const site = request.headers.get("sec-fetch-site");
  if (needsOrigin && site !== null && site !== "same-origin") return refuse("pages of other sites are not served");
  return null;
}

export function isLoopback(host: string): boolean {
  return ["127.0.0.1", "::1", "localhost"].includes(host);
}

function refuse(why: string): Response {
  return new Response(`${why}\n`, { status: 403 });
}

/** A name in the Host may resolve to any address, so only known names are accepted. An IP address resolves to nothing else. */
function isOwnHost(host: string, { host: listening, port, origin }: PageAddress): boolean {
  if (origin !== null && host === new URL(origin).host) return true;
  const match = /^(.+?)(?::(\d{1,5}))?$/.exec(host);
  if (match === null || Number(match[2] ?? 80) !== port) return false;
  const name = match[1]!.replace(/^\[(.*)\]$/, "$1").toLowerCase();
  if (isLoopback(name) || name === listening.toLowerCase()) return true;
  if (isLoopback(listening)) return false;
  const ownName = hostname().toLowerCase();
  return isIP(name) !== 0 || [ownName, `${ownName}.local`].includes(name);
}

export function isOwnOrigin(origin: string, address: PageAddress): boolean {
  if (origin === address.origin) return true;
  return origin.startsWith("http://") && isOwnHost(origin.slice("http://".length), { ...address, origin: null });
}
