// Which requests an agent's CLI may make through the gateway, and where each of them goes. The only list of paths:
// what is not on it can't be reached. Pure.
import type { Endpoint, WireName } from "../../../models/model.ts";

export type GatewayRoute = {
  wire: WireName;
  /** Only an answer is paid for. */
  kind: "answer" | "count" | "list";
  /** Where the path names it. */
  model: string | null;
  /** Below the vendor's versioned root. */
  path: string;
  version: string;
};

type Row = { method: "GET" | "POST"; path: RegExp; wire: WireName; kind: GatewayRoute["kind"] };

const rows: Row[] = [
  { method: "POST", path: /^\/(v1)(\/messages)$/, wire: "anthropic", kind: "answer" },
  { method: "POST", path: /^\/(v1)(\/messages\/count_tokens)$/, wire: "anthropic", kind: "count" },
  { method: "POST", path: /^\/(v1)(\/responses)$/, wire: "openai-responses", kind: "answer" },
  { method: "POST", path: /^\/(v1)(\/responses\/input_tokens)$/, wire: "openai-responses", kind: "count" },
  { method: "POST", path: /^\/(v1)(\/chat\/completions)$/, wire: "openai-chat", kind: "answer" },
  {
    method: "POST",
    path: /^\/(v1(?:alpha|beta)?)(\/models\/([\w.-]+):(?:streamGenerateContent|generateContent))$/,
    wire: "gemini",
    kind: "answer",
  },
  { method: "POST", path: /^\/(v1(?:alpha|beta)?)(\/models\/([\w.-]+):countTokens)$/, wire: "gemini", kind: "count" },
  { method: "GET", path: /^\/(v1(?:alpha|beta))(\/models(?:\/[\w.-]+)?)$/, wire: "gemini", kind: "list" },
];

export const routedWires: readonly WireName[] = [...new Set(rows.map(({ wire }) => wire))];

/** Three vendors keep their list of models at the same path. */
const modelList = /^\/(v1)(\/models(?:\/[\w.:-]+)?)$/;

/** Null for everything that is not on the list. */
export function matchRoute(method: string, path: string, headers: Headers, has: (wire: WireName) => boolean): GatewayRoute | null {
  for (const row of rows) {
    const found = row.method === method ? row.path.exec(path) : null;
    if (found) return { wire: row.wire, kind: row.kind, model: found[3] ?? null, path: found[2]!, version: found[1]! };
  }
  const listed = method === "GET" ? modelList.exec(path) : null;
  if (!listed) return null;
  const wire = headers.has("anthropic-version") ? "anthropic" : has("openai-responses") ? "openai-responses" : "openai-chat";
  return { wire, kind: "list", model: null, path: listed[2]!, version: "v1" };
}

/** The same roots as in models/wire; the query without any key. */
export function vendorUrl(route: GatewayRoute, endpoint: Endpoint, query: URLSearchParams): string {
  const kept = new URLSearchParams(query);
  kept.delete("key");
  const search = kept.size === 0 ? "" : `?${kept.toString()}`;
  return `${rootOf(route, endpoint)}${route.path}${search}`;
}

function rootOf({ wire, version }: GatewayRoute, { baseUrl }: Endpoint): string {
  const base = baseUrl.replace(/\/+$/, "");
  if (wire === "anthropic") return `${base.replace(/\/v1$/, "")}/v1`;
  if (wire === "gemini") return /\/v\d+(alpha|beta)?$/.test(base) ? base : `${base}/${version}`;
  return base;
}

/** The vendor's own credential and headers, over whatever the CLI sent. */
export function vendorHeaders(wire: WireName, { apiKey, headers }: Endpoint): Record<string, string> {
  if (apiKey === "") return headers;
  if (wire === "anthropic") return "authorization" in headers ? headers : { "x-api-key": apiKey, ...headers };
  if (wire === "gemini") return { "x-goog-api-key": apiKey, ...headers };
  return { authorization: `Bearer ${apiKey}`, ...headers };
}

const credentialHeaders = ["x-api-key", "authorization", "x-goog-api-key"];

/** Every token a CLI sent, wherever its vendor wants one. */
export function authTokens(headers: Headers, query: URLSearchParams): string[] {
  const sent = credentialHeaders.map((name) => headers.get(name)?.replace(/^Bearer\s+/i, ""));
  return [...sent, query.get("key")].filter((token) => typeof token === "string");
}

/** They belong to one connection, or say whose request it is; the last is asked for anew. */
const ownHeaders = new Set([
  ..."connection keep-alive proxy-connection proxy-authenticate proxy-authorization te trailer transfer-encoding upgrade".split(" "),
  ..."host expect cookie set-cookie content-length content-encoding accept-encoding".split(" "),
  ...credentialHeaders,
]);

export function forwardedHeaders(headers: Headers): Record<string, string> {
  const named = new Set(
    headers
      .get("connection")
      ?.toLowerCase()
      .split(/\s*,\s*/) ?? [],
  );
  return Object.fromEntries([...headers].filter(([name]) => !ownHeaders.has(name) && !named.has(name)));
}

/** An error of ours as the vendor would say it, so that every CLI can read it. None that a CLI tries again, but for 502. */
export function errorAnswer(wire: WireName, status: 400 | 401 | 404 | 413 | 502, message: string): Response {
  const text = `skein: ${message}`;
  const headers = status === 502 ? undefined : { "x-should-retry": "false" };
  return Response.json(errorBody(wire, status, text), { status, headers });
}

/** For a request that leads nowhere: whose client it is shows in its headers and its path. */
export function guessWire(path: string, headers: Headers): WireName {
  if (headers.has("anthropic-version")) return "anthropic";
  return headers.has("x-goog-api-key") || /^\/v1(alpha|beta)\//.test(path) ? "gemini" : "openai-chat";
}

const words = {
  400: ["invalid_request_error", "INVALID_ARGUMENT"],
  401: ["authentication_error", "UNAUTHENTICATED"],
  404: ["not_found_error", "NOT_FOUND"],
  413: ["request_too_large", "INVALID_ARGUMENT"],
  502: ["api_error", "UNAVAILABLE"],
} as const;

function errorBody(wire: WireName, status: keyof typeof words, message: string): object {
  const [type, grpc] = words[status];
  if (wire === "anthropic") return { type: "error", error: { type, message } };
  if (wire === "gemini") return { error: { code: status, message, status: grpc } };
  return { error: { message, type, param: null, code: type } };
}
