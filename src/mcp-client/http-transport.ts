// The transport to a server over HTTP, from skein's own process. Requests go only to the configured URL, and to renew a
// sign-in to the origins of that sign-in. No redirect is followed, and an answer is bounded.
import { SSEClientTransport, StreamableHTTPClientTransport, type FetchLike, type Transport } from "@modelcontextprotocol/client";
import { oneLine } from "../kit/text/cut-text.ts";
import type { HttpServer } from "../protocol/mcp/server-entry.ts";
import { boundedAnswer, ServerRefusal } from "./bounded-answer.ts";
import { createProvider, type SignInStore } from "./sign-in.ts";

/** A token in the headers takes precedence over a sign-in. */
export function createHttpTransport(name: string, server: HttpServer, store: SignInStore | null): Transport {
  const url = new URL(server.url);
  const hasToken = Object.keys(server.headers).some((header) => header.toLowerCase() === "authorization");
  const signIn = hasToken || store?.read()?.tokens === undefined ? null : store;
  const authProvider =
    signIn === null
      ? {}
      : {
          authProvider: createProvider(signIn, () => {
            throw new ServerRefusal(`needs a new sign-in; in a terminal: skein mcp login ${name}`);
          }),
        };
  const options = { ...authProvider, fetch: guardedFetch(name, server, signIn), requestInit: { headers: { ...server.headers } } };
  return server.isOldSse ? new SSEClientTransport(url, options) : new StreamableHTTPClientTransport(url, options);
}

/** The old transport sends messages to a second path, which the server names. */
function guardedFetch(name: string, server: HttpServer, signIn: SignInStore | null): FetchLike {
  const allowed = new URL(server.url);
  return async (input, init) => {
    const url = new URL(String(input));
    const isServer = url.origin === allowed.origin && url.pathname === allowed.pathname;
    if (!isServer && signIn?.read()?.origins.includes(url.origin) === true)
      return boundedAnswer(await fetch(url, { ...init, redirect: "manual" }));
    if (url.origin !== allowed.origin || (!server.isOldSse && url.pathname !== allowed.pathname))
      throw new ServerRefusal(`named another address, ${oneLine(url.origin + url.pathname, 200)}; only its configured URL is used`);
    const headers = server.isOldSse ? withHeaders(init?.headers, server.headers) : init?.headers;
    const response = await fetch(url, { ...init, ...(headers === undefined ? {} : { headers }), redirect: "manual" });
    // The transport renews a sign-in itself.
    const problem = response.status === 401 && signIn !== null ? null : problemOf(name, response);
    if (problem === null) return boundedAnswer(response);
    await response.body?.cancel().catch(() => undefined);
    throw new ServerRefusal(problem);
  };
}

/** The request that begins an old event stream does not get the headers of the transport. */
function withHeaders(given: ConstructorParameters<typeof Headers>[0], own: Readonly<Record<string, string>>): Headers {
  const headers = new Headers(given);
  for (const [name, value] of Object.entries(own)) headers.set(name, value);
  return headers;
}

function problemOf(name: string, { status, headers }: Response): string | null {
  if (status === 401) {
    const wantsOAuth = /resource_metadata|bearer/i.test(headers.get("www-authenticate") ?? "");
    const reason = wantsOAuth ? "asks for a sign-in" : "refused the credentials";
    return `${reason} (HTTP 401); in a terminal: skein mcp login ${name}; or add a token to its headers`;
  }
  if (status === 403) return "denied access (HTTP 403); check its headers";
  if (status < 300 || status >= 400 || status === 304) return null;
  return `redirects to ${oneLine(headers.get("location") ?? "another address", 200)} (HTTP ${status}); configure that URL if you trust it`;
}
