// The transport to a server over HTTP, from skein's own process. Requests go only to the configured URL, no redirect is
// followed, and an answer is bounded.
import { SSEClientTransport, StreamableHTTPClientTransport, type FetchLike, type Transport } from "@modelcontextprotocol/client";
import { oneLine } from "../kit/text/cut-text.ts";
import type { HttpServer } from "../protocol/mcp/server-entry.ts";

const maxAnswerBytes = 64 << 20;

/** An error whose message is already for the model and the user. It completes "the server ...". */
export class ServerRefusal extends Error {}

export function createHttpTransport(server: HttpServer): Transport {
  const url = new URL(server.url);
  const options = { fetch: guardedFetch(server), requestInit: { headers: { ...server.headers } } };
  return server.isOldSse ? new SSEClientTransport(url, options) : new StreamableHTTPClientTransport(url, options);
}

/** The old transport sends messages to a second path, which the server names. */
function guardedFetch(server: HttpServer): FetchLike {
  const allowed = new URL(server.url);
  return async (input, init) => {
    const url = new URL(String(input));
    if (url.origin !== allowed.origin || (!server.isOldSse && url.pathname !== allowed.pathname))
      throw new ServerRefusal(`named another address, ${oneLine(url.origin + url.pathname, 200)}; only its configured URL is used`);
    const headers = server.isOldSse ? withHeaders(init?.headers, server.headers) : init?.headers;
    const response = await fetch(url, { ...init, ...(headers === undefined ? {} : { headers }), redirect: "manual" });
    const problem = problemOf(response);
    if (problem === null) return bounded(response);
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

function problemOf({ status, headers }: Response): string | null {
  if (status === 401) {
    const wantsOAuth = /resource_metadata|bearer/i.test(headers.get("www-authenticate") ?? "");
    const reason = wantsOAuth ? "asks for a sign-in with OAuth, which skein does not support" : "refused the credentials";
    return `${reason} (HTTP 401); add a token to its headers: "Authorization": "Bearer \${NAME}"`;
  }
  if (status === 403) return "denied access (HTTP 403); check its headers";
  if (status < 300 || status >= 400 || status === 304) return null;
  return `redirects to ${oneLine(headers.get("location") ?? "another address", 200)} (HTTP ${status}); configure that URL if you trust it`;
}

function bounded(response: Response): Response {
  if (response.body === null) return response;
  let bytes = 0;
  const counter = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      bytes += chunk.length;
      if (bytes > maxAnswerBytes) controller.error(new ServerRefusal(`sent more than ${maxAnswerBytes >> 20} MB in one answer`));
      else controller.enqueue(chunk);
    },
  });
  const { status, statusText, headers } = response;
  return new Response(response.body.pipeThrough(counter), { status, statusText, headers });
}
