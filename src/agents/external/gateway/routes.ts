// The requests that a CLI may send through the gateway, and their URL at the vendor. No other path can be reached. Pure.
import type { Endpoint, WireName } from "../../../models/model.ts";

export type GatewayRoute = {
  wire: WireName;
  /** Only an `answer` costs money. */
  kind: "answer" | "count" | "list";
  /** Null if the path names no model. */
  model: string | null;
  /** The path below the vendor's versioned root. */
  path: string;
  version: string;
};

type RoutePattern = { method: "GET" | "POST"; path: RegExp; wire: WireName; kind: GatewayRoute["kind"] };

const patterns: RoutePattern[] = [
  { method: "POST", path: /^\/(v1)(\/messages)$/, wire: "anthropic", kind: "answer" },
  { method: "POST", path: /^\/(v1)(\/messages\/count_tokens)$/, wire: "anthropic", kind: "count" },
  { method: "POST", path: /^\/(v1)(\/responses)$/, wire: "openai-responses", kind: "answer" },
  { method: "POST", path: /^\/(v1)(\/responses\/input_tokens)$/, wire: "openai-responses", kind: "count" },
  { method: "POST", path: /^\/(v1)(\/chat\/completions)$/, wire: "openai-chat", kind: "answer" },
  { method: "POST", path: /^\/(v1(?:alpha|beta)?)(\/models\/([\w.-]+):(?:streamG|g)enerateContent)$/, wire: "gemini", kind: "answer" },
  { method: "POST", path: /^\/(v1(?:alpha|beta)?)(\/models\/([\w.-]+):countTokens)$/, wire: "gemini", kind: "count" },
  { method: "GET", path: /^\/(v1(?:alpha|beta))(\/models(?:\/[\w.-]+)?)$/, wire: "gemini", kind: "list" },
];

/** The list of models, which has the same path at three vendors. */
const modelList = /^\/(v1)(\/models(?:\/[\w.:-]+)?)$/;

/** Returns null for a request that may not pass. */
export function matchRoute({ method, headers }: Request, path: string, hasWire: (wire: WireName) => boolean): GatewayRoute | null {
  for (const { wire, kind, ...pattern } of patterns) {
    const match = pattern.method === method ? pattern.path.exec(path) : null;
    if (match) return { wire, kind, model: match[3] ?? null, path: match[2]!, version: match[1]! };
  }
  const match = method === "GET" ? modelList.exec(path) : null;
  if (!match) return null;
  const wire = headers.has("anthropic-version") ? "anthropic" : hasWire("openai-responses") ? "openai-responses" : "openai-chat";
  return { wire, kind: "list", model: null, path: match[2]!, version: "v1" };
}

/** Uses the same roots as models/wire, and drops a key in the query. */
export function vendorUrl(route: GatewayRoute, endpoint: Endpoint, query: URLSearchParams): string {
  const forwarded = new URLSearchParams(query);
  forwarded.delete("key");
  const search = forwarded.size === 0 ? "" : `?${forwarded.toString()}`;
  return `${rootOf(route, endpoint)}${route.path}${search}`;
}

function rootOf({ wire, version }: GatewayRoute, { baseUrl }: Endpoint): string {
  const base = baseUrl.replace(/\/+$/, "");
  if (wire === "anthropic") return `${base.replace(/\/v1$/, "")}/v1`;
  if (wire === "gemini") return /\/v\d+(alpha|beta)?$/.test(base) ? base : `${base}/${version}`;
  return base;
}

/** The real credential and the configured headers. They replace those of the CLI. */
export function vendorHeaders(wire: WireName, { apiKey, headers }: Endpoint): Record<string, string> {
  if (apiKey === "") return headers;
  if (wire === "anthropic") return "authorization" in headers ? headers : { "x-api-key": apiKey, ...headers };
  if (wire === "gemini") return { "x-goog-api-key": apiKey, ...headers };
  return { authorization: `Bearer ${apiKey}`, ...headers };
}

const credentialHeaders = ["x-api-key", "authorization", "x-goog-api-key"];

/** Every token in the request, at each place where some vendor expects it. */
export function authTokens(headers: Headers, query: URLSearchParams): string[] {
  const tokens = credentialHeaders.map((name) => headers.get(name)?.replace(/^Bearer\s+/i, ""));
  return [...tokens, query.get("key")].filter((token) => typeof token === "string");
}

/** Headers that are not forwarded: they belong to one connection or hold a credential. The gateway sets its own accept-encoding. */
const dropped = new Set([
  ..."connection keep-alive proxy-connection proxy-authenticate proxy-authorization te trailer transfer-encoding upgrade".split(" "),
  ..."host expect cookie set-cookie content-length content-encoding accept-encoding".split(" "),
  ...credentialHeaders,
]);

export function forwardedHeaders(headers: Headers): Record<string, string> {
  const connection = headers.get("connection") ?? "";
  const connectionHeaders = connection.toLowerCase().split(/\s*,\s*/);
  return Object.fromEntries([...headers].filter(([name]) => !dropped.has(name) && !connectionHeaders.includes(name)));
}

/** An error of skein in the vendor's format, so that every CLI can read it. Only a 502 may be retried. */
export function errorAnswer(wire: WireName, status: keyof typeof errorTypes, message: string): Response {
  const text = `skein: ${message}`;
  const headers = status >= 500 ? undefined : { "x-should-retry": "false" };
  return Response.json(errorBody(wire, status, text), { status, headers });
}

/** Guesses the wire of a request without a route, by its headers and its path. */
export function guessWire(path: string, headers: Headers): WireName {
  if (headers.has("anthropic-version")) return "anthropic";
  return headers.has("x-goog-api-key") || /^\/v1(alpha|beta)\//.test(path) ? "gemini" : "openai-chat";
}

const errorTypes = {
  400: ["invalid_request_error", "INVALID_ARGUMENT"],
  401: ["authentication_error", "UNAUTHENTICATED"],
  404: ["not_found_error", "NOT_FOUND"],
  413: ["request_too_large", "INVALID_ARGUMENT"],
  502: ["api_error", "UNAVAILABLE"],
  503: ["api_error", "UNAVAILABLE"],
} as const;

function errorBody(wire: WireName, status: keyof typeof errorTypes, message: string): object {
  const [type, grpc] = errorTypes[status];
  if (wire === "anthropic") return { type: "error", error: { type, message } };
  if (wire === "gemini") return { error: { code: status, message, status: grpc } };
  return { error: { message, type, param: null, code: type } };
}
