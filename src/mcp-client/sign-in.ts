// Signs in to a server over HTTP with OAuth: the user's consent in a browser, then tokens that are renewed when they expire.
// The secrets go to the given store and to the authorization server, and nowhere else.
import {
  auth,
  extractWWWAuthenticateParams,
  type FetchLike,
  type OAuthClientProvider,
  type OAuthDiscoveryState,
  type StoredOAuthClientInformation,
  type StoredOAuthTokens,
} from "@modelcontextprotocol/client";
import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { isMachineAddress, isPublicAddress } from "../kit/flow/public-address.ts";
import { oneLine } from "../kit/text/cut-text.ts";
import { Fault, messageOf } from "../protocol/api/error.ts";
import type { HttpServer } from "../protocol/mcp/server-entry.ts";
import { boundedAnswer } from "./bounded-answer.ts";

/** One server's sign-in. All fields but `origins` are secrets or parts of the protocol's state. */
export type StoredSignIn = {
  client?: StoredOAuthClientInformation | undefined;
  tokens?: StoredOAuthTokens | undefined;
  discovery?: OAuthDiscoveryState | undefined;
  /** The state of a sign-in that waits for the browser. */
  pending?: { verifier: string; state: string; redirectUrl: string } | undefined;
  /** The origins that the sign-in used. Tokens are renewed there only. */
  origins: readonly string[];
};

export type SignInStore = {
  /** Null if there is none. */
  read: () => StoredSignIn | null;
  /** Null removes it. */
  write: (signIn: StoredSignIn | null) => void;
};

const requestTimeoutMs = 30_000;

/** Returns the address that the user opens in a browser. `redirectUrl` then gets the code. */
export async function startSignIn(server: HttpServer, store: SignInStore, redirectUrl: string): Promise<string> {
  const state = crypto.randomUUID();
  const origins = new Set<string>();
  // A registered client belongs to its redirect URL, so each sign-in registers a new one.
  store.write({ pending: { verifier: "", state, redirectUrl }, origins: [] });
  const opened = Promise.withResolvers<string>();
  const provider = createProvider(store, (url) => opened.resolve(url.href));
  const fetchFn = signInFetch(server, origins);
  try {
    const { resourceMetadataUrl, scope } = extractWWWAuthenticateParams(await probe(server, fetchFn));
    const options = { serverUrl: server.url, fetchFn, ...(resourceMetadataUrl && { resourceMetadataUrl }), ...(scope && { scope }) };
    await auth(provider, options);
    change(store, { origins: [...origins] });
    return browserAddress(await Promise.race([opened.promise, Promise.reject(new Error("it asked for no sign-in"))]));
  } catch (error) {
    store.write(null);
    throw new Fault("auth", `the server offers no sign-in: ${oneLine(messageOf(error), 300)}`, {
      hint: "if it has tokens, add one to its headers: skein mcp add <name> <url> -H 'Authorization: Bearer $NAME'",
    });
  }
}

/** Exchanges the code for tokens and stores them. */
export async function finishSignIn(server: HttpServer, store: SignInStore, answer: { code: string; state: string }): Promise<void> {
  const pending = store.read()?.pending;
  if (pending === undefined || pending.state !== answer.state)
    throw new Fault("auth", "the answer of the browser belongs to no sign-in that was started here", { hint: "start it again" });
  const origins = new Set(store.read()?.origins);
  try {
    await auth(
      createProvider(store, () => {
        throw new Error("the server asks for another sign-in");
      }),
      { serverUrl: server.url, authorizationCode: answer.code, fetchFn: signInFetch(server, origins) },
    );
  } catch (error) {
    store.write(null);
    throw new Fault("auth", `the sign-in failed: ${oneLine(messageOf(error), 300)}`, { hint: "start it again" });
  }
  change(store, { origins: [...origins], pending: undefined });
}

/** `onAuthorize` gets the address for the user's browser; it throws where no user is there. */
export function createProvider(store: SignInStore, onAuthorize: (url: URL) => void): OAuthClientProvider {
  const pending = store.read()?.pending;
  let usedTokens: StoredOAuthTokens | undefined;
  return {
    redirectUrl: pending?.redirectUrl ?? "http://127.0.0.1/callback",
    clientMetadata: {
      client_name: "skein",
      redirect_uris: [pending?.redirectUrl ?? "http://127.0.0.1/callback"],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      token_endpoint_auth_method: "none",
    },
    state: () => pending?.state ?? "",
    clientInformation: () => store.read()?.client,
    saveClientInformation: (client) => change(store, { client }),
    tokens: () => (usedTokens = store.read()?.tokens),
    saveTokens: (tokens) => change(store, { tokens }),
    redirectToAuthorization: onAuthorize,
    saveCodeVerifier: (verifier) => {
      const current = store.read()?.pending;
      if (current !== undefined) change(store, { pending: { ...current, verifier } });
    },
    codeVerifier: () => store.read()?.pending?.verifier ?? "",
    discoveryState: () => store.read()?.discovery,
    saveDiscoveryState: (discovery) => change(store, { discovery }),
    invalidateCredentials: (scope) => {
      if (scope === "client" || scope === "all") change(store, { client: undefined });
      if (scope === "discovery" || scope === "all") change(store, { discovery: undefined });
      // Another turn may have renewed them since.
      const isUnchanged = store.read()?.tokens?.access_token === usedTokens?.access_token;
      if ((scope === "tokens" || scope === "all") && isUnchanged) change(store, { tokens: undefined });
    },
  };
}

function change(store: SignInStore, fields: Partial<StoredSignIn>): void {
  store.write({ ...(store.read() ?? { origins: [] }), ...fields });
}

/** The refusal of a server names the place of its metadata. */
function probe({ url }: HttpServer, fetchFn: FetchLike): Promise<Response> {
  const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "skein", version: "1" } };
  return fetchFn(url, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize", params }),
  });
}

/** A page of the web. With another scheme, a server could open files and start programs of this machine. */
function browserAddress(address: string): string {
  const { protocol } = new URL(address);
  if (protocol === "https:" || protocol === "http:") return address;
  throw new Error(`its page for the sign-in is no web page (${oneLine(protocol, 40)})`);
}

const maxAnswerBytes = 1 << 20;

/** Requests of a sign-in go where the server's answers lead. Records their origins. */
export function signInFetch(server: Pick<HttpServer, "url">, origins: Set<string>): FetchLike {
  return async (input, init) => {
    const url = new URL(String(input));
    await refuseInnerAddress(new URL(server.url), url);
    origins.add(url.origin);
    const response = await fetch(url, { ...init, redirect: "manual", signal: AbortSignal.timeout(requestTimeoutMs) });
    return boundedAnswer(response, maxAnswerBytes);
  };
}

/** A server elsewhere must not make skein ask a server of this machine or its network. */
async function refuseInnerAddress(server: URL, url: URL): Promise<void> {
  if (url.origin === server.origin || !(await isInner(url)) || (await isInner(server))) return;
  throw new Error(`it named an address of this machine or its network, ${oneLine(url.origin, 200)}`);
}

/** A name may lead into the user's own network: an organisation can have its sign-in there. */
async function isInner({ hostname }: URL): Promise<boolean> {
  const host = hostname.replace(/^\[(.*)\]$/, "$1");
  if (isIP(host) !== 0) return !isPublicAddress(host);
  // A proxy may resolve names that this machine can't.
  const found = await lookup(host, { all: true }).catch(() => []);
  return found.some(({ address }) => isMachineAddress(address));
}
