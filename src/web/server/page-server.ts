// The server of `skein web`, inside the hub. It serves the files of the page, exchanges login links for cookies, and passes
// WebSockets of logged-in browsers to the hub. It holds no data of sessions: the page gets them over the socket.
import { randomInt } from "node:crypto";
import { listenOnFreePort } from "../../kit/flow/loopback.ts";
import { parseJson } from "../../kit/text/json.ts";
import { Fault, messageOf } from "../../protocol/api/error.ts";
import type { WebOpenedJson } from "../../protocol/schema/printed.ts";
import { isLoopback, isOwnOrigin, refusalOf, type PageAddress } from "./access.ts";
import { Logins } from "./logins.ts";
import { loadPageFiles, type PageFiles } from "./page-files.ts";
import { fileResponse, textResponse, withSafeHeaders } from "./page-response.ts";
import {
  defaultOptions,
  parseOptions,
  readPassword,
  readSettings,
  storedParams,
  writeSettings,
  type PageOptions,
  type PageSettings,
} from "./page-settings.ts";

export type UpgradeOptions = { headers?: Record<string, string>; login?: string };

/** Makes WebSockets of requests. The hub implements it. */
export type PageSockets<Client> = {
  websocket: Bun.WebSocketHandler<Client>;
  upgrade: (request: Request, server: Bun.Server<Client>, options?: UpgradeOptions) => Response | undefined;
  closeAll: (why: string) => void;
  closeLogin: (login: string, why: string) => void;
};

export type PageServerDeps<Client> = {
  sockets: PageSockets<Client>;
  state: string;
  version: string;
  log: (line: string) => void;
  /** Default: the files of this program. */
  loadFiles?: () => Promise<PageFiles>;
  now?: () => number;
};

/** The answer of `hub.open_page`. The command line adds the pid. */
export type OpenedPage = Omit<WebOpenedJson, "pid">;

/**
 * A new page gets a random one of these ports. A page that the user has opened from another program can leave a service worker
 * at its address. That worker would get the next login there, so no program may know the address before. Systems give their
 * clients higher ports.
 */
const ports = { from: 10_000, to: 32_000 };
const maxBodyBytes = 64 << 10;
const maxCookies = 20;
/** A browser can't send headers with a WebSocket, so it sends its key as a subprotocol. */
const subprotocol = "skein";

export class PageServer<Client> {
  readonly #deps: PageServerDeps<Client>;
  #files: Promise<PageFiles> | null = null;
  #open: OpenListener | null = null;
  /** Changes of the listener follow each other: a hub that has just started may still open its page. */
  #lastChange: Promise<unknown> = Promise.resolve();

  constructor(deps: PageServerDeps<Client>) {
    this.#deps = deps;
  }

  readonly methods = {
    "hub.open_page": (params: Record<string, unknown>) => this.open(params),
    "hub.close_page": () => this.end(),
  };

  /** Opens the page, or uses the open one, and creates a login link for it. */
  open(params: Record<string, unknown>): Promise<OpenedPage> {
    return this.#change(() => this.#openNow(params));
  }

  /** Closes the page and ends all logins. */
  end(): Promise<{ was_open: boolean }> {
    return this.#change(() => this.#endNow());
  }

  /** Listens again if the page was open when the last hub ended. Never rejects: a hub works also without its page. */
  reopen(): Promise<void> {
    return this.#change(() => this.#reopenNow());
  }

  close(): void {
    this.#closeListener();
  }

  #change<Result>(change: () => Promise<Result>): Promise<Result> {
    const result = this.#lastChange.then(change);
    this.#lastChange = result.catch(() => {}); // the caller gets the error
    return result;
  }

  async #openNow(params: Record<string, unknown>): Promise<OpenedPage> {
    const options = parseOptions({ ...storedParams(this.#open?.options ?? readSettings(this.#deps.state)), ...params });
    const { port } = options;
    const isSame =
      this.#open !== null && JSON.stringify(this.#open.options) === JSON.stringify({ ...options, port: port ?? this.#open.port });
    if (!isSame) {
      this.#closeListener();
      this.#open = await this.#listen(options);
    }
    return openedPage(this.#open!);
  }

  async #endNow(): Promise<{ was_open: boolean }> {
    const wasOpen = this.#open !== null;
    this.#open?.logins.endAll();
    this.#closeListener();
    const { state } = this.#deps;
    writeSettings(state, { ...readSettings(state), ...defaultOptions, isOpen: false, logins: [] });
    return { was_open: wasOpen };
  }

  async #reopenNow(): Promise<void> {
    try {
      const { isOpen, ...settings } = readSettings(this.#deps.state);
      if (isOpen) this.#open = await this.#listen(settings);
    } catch (error) {
      this.#deps.log(`the page of skein web can't be opened again: ${messageOf(error)}`);
    }
  }

  #closeListener(): void {
    this.#deps.sockets.closeAll("the server stops");
    void this.#open?.server.stop(true);
    this.#open = null;
  }

  async #listen({ port, host, basePath, origin, tokenFile }: PageOptions): Promise<OpenListener> {
    const { state, now = Date.now, log } = this.#deps;
    this.#files ??= (this.#deps.loadFiles ?? loadPageFiles)();
    this.#files.catch(() => (this.#files = null));
    const files = await this.#files;
    const stored = readSettings(state);
    // Open pages of an earlier hub try the old port.
    const wanted = port ?? stored.port;
    const logins = new Logins({
      stored: stored.logins,
      onChange: (changed) => this.#store({ logins: changed }),
      onEnd: (login) => this.#deps.sockets.closeLogin(login, "logged out"),
      readPassword: () => readPassword({ tokenFile }),
      now,
    });
    // A proxy passes logins on to the old port. If another program has taken it, a page at a new port would help that program.
    const mayMove = port === null && (origin === null || stored.port === null);
    const firstPort = randomInt(ports.from, ports.to);
    const server =
      listenOnFreePort(wanted, firstPort, (candidate) => this.#serve(candidate, host)) ??
      (mayMove ? listenOnFreePort(null, firstPort, (candidate) => this.#serve(candidate, host)) : null);
    if (server === null) throw new Fault("network", `port ${wanted ?? firstPort} is in use`, { hint: "choose another port with --port" });
    const options = { port: server.port!, host, basePath, origin, tokenFile };
    this.#store({ ...options, isOpen: true });
    log(`the page of skein web is open at ${urlOf(options)}`);
    return { server, options, port: server.port!, logins, files, instance: readSettings(state).instance };
  }

  #store(changes: Partial<PageSettings>): void {
    const { state } = this.#deps;
    writeSettings(state, { ...readSettings(state), ...changes });
  }

  #serve(port: number, hostname: string): Bun.Server<Client> {
    return Bun.serve<Client>({
      hostname,
      port,
      maxRequestBodySize: maxBodyBytes,
      fetch: async (request, server) => {
        const response = await this.#answer(request, server);
        return response === undefined ? undefined : withSafeHeaders(response);
      },
      error: (error) => {
        this.#deps.log(`skein web: ${error.message}`);
        return withSafeHeaders(textResponse(500, "an error of skein; see hub.log"));
      },
      websocket: this.#deps.sockets.websocket,
    });
  }

  async #answer(request: Request, server: Bun.Server<Client>): Promise<Response | undefined> {
    const page = this.#open;
    if (page === null) return textResponse(503, "the page is being opened");
    const address: PageAddress = { ...page.options, port: page.port };
    // A request without a Host, or with one that is no host, has no address.
    const pathname = URL.parse(request.url)?.pathname;
    if (pathname === undefined) return textResponse(400, "the request names no host");
    if (page.options.basePath !== "" && pathname === page.options.basePath) return redirect(`${page.options.basePath}/`);
    const name = nameOf(pathname, page.options.basePath);
    const route = `${request.method} ${name}`;
    const isChange = request.method !== "GET" || name === "socket";
    const refused = refusalOf(request, address, { needsOrigin: isChange });
    if (refused !== null) return refused;
    if (route === "GET socket") return this.#connect(request, server, page);
    if (route === "GET login") return isLoggedIn(request, page) ? new Response(null, { status: 204 }) : notLoggedIn();
    if (route === "POST proof") return proveServer(request, page, address);
    if (route === "POST login") return logIn(request, page);
    if (route === "POST logout") return logOut(request, page);
    if (route === "GET build.json") return Response.json({ build: page.files.build, version: this.#deps.version });
    const file = page.files.files.get(name === "" ? "index.html" : name);
    if (request.method !== "GET" || file === undefined) return textResponse(404, "there is no such page");
    return fileResponse(request, file, { isHashed: name.startsWith("assets/") });
  }

  #connect(request: Request, server: Bun.Server<Client>, page: OpenListener): Response | undefined {
    const key = (request.headers.get("sec-websocket-protocol") ?? "").split(",").find((each) => each.trim() !== subprotocol);
    const login = page.logins.loginOf(cookiesOf(request, page), key?.trim() ?? null);
    if (login === null) return notLoggedIn();
    return this.#deps.sockets.upgrade(request, server, { headers: { "Sec-WebSocket-Protocol": subprotocol }, login });
  }
}

type OpenListener = {
  server: { stop: (force: boolean) => Promise<void> };
  options: PageOptions;
  port: number;
  logins: Logins;
  files: PageFiles;
  instance: string;
};

function openedPage({ options, port, logins }: OpenListener): OpenedPage {
  const { code, endsAt } = logins.createCode();
  const url = urlOf({ ...options, port });
  const { host, basePath } = options;
  return { url, login_url: `${url}#login=${code}`, login_ends_at: new Date(endsAt).toISOString(), host, port, base_path: basePath };
}

function urlOf({ host, port, basePath, origin }: Omit<PageOptions, "tokenFile">): string {
  const name = isLoopback(host) || ["0.0.0.0", "::"].includes(host) ? "127.0.0.1" : host.includes(":") ? `[${host}]` : host;
  return `${origin ?? `http://${name}:${port}`}${basePath}/`;
}

/** The path below the base path. A proxy may have removed the base path already. */
function nameOf(pathname: string, basePath: string): string {
  const path = basePath !== "" && pathname.startsWith(`${basePath}/`) ? pathname.slice(basePath.length) : pathname;
  return path.slice(1);
}

async function logIn(request: Request, page: OpenListener): Promise<Response> {
  const { code } = parseJson(await request.text()) ?? {};
  const login = typeof code === "string" ? page.logins.exchange(code) : "wrong";
  if (login === "too many failures") return textResponse(429, "too many wrong codes; wait a minute");
  if (login === "wrong") return textResponse(401, "the link was used before, has ended, or is wrong; run `skein web` for a new one");
  return Response.json({ key: login.key }, { headers: { "Set-Cookie": cookieText(page, login.cookie, 30 * 86_400) } });
}

/** Lets a page check that this is the server of its login, before it sends a cookie or a key. The request contains neither. */
async function proveServer(request: Request, page: OpenListener, address: PageAddress): Promise<Response> {
  const { login, nonce, origin } = parseJson(await request.text()) ?? {};
  if (typeof login !== "string" || typeof nonce !== "string" || nonce.length > 100 || typeof origin !== "string")
    return textResponse(400, "a proof needs login, nonce and origin");
  // A program that passes requests on has another address than this server, and its pages another origin.
  if (!isOwnOrigin(origin, address)) return textResponse(403, "pages of other origins are not served");
  const proof = page.logins.prove(login, `${nonce}\n${origin}`);
  return proof === null ? notLoggedIn() : Response.json({ proof });
}

/** For a page whose socket was refused: a browser does not show it the reason. */
function isLoggedIn(request: Request, page: OpenListener): boolean {
  return page.logins.loginOf(cookiesOf(request, page), request.headers.get("x-skein-key")) !== null;
}

function logOut(request: Request, page: OpenListener): Response {
  for (const cookie of cookiesOf(request, page)) page.logins.end(cookie);
  return Response.json({}, { headers: { "Set-Cookie": cookieText(page, "", 0) } });
}

function notLoggedIn(): Response {
  return textResponse(401, "not logged in: run `skein web` and open the link that it prints");
}

function redirect(path: string): Response {
  return new Response(null, { status: 308, headers: { Location: path } });
}

function cookieText({ instance, options: { basePath, origin } }: OpenListener, value: string, maxAgeSeconds: number): string {
  const secure = origin?.startsWith("https:") === true ? "; Secure" : "";
  return `skein_${instance}=${value}; Path=${basePath}/; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=Strict${secure}`;
}

/**
 * All cookies with the name of the login. A program on another port of this host can set more of them, for a longer path,
 * and browsers send those first.
 */
function cookiesOf(request: Request, { instance }: OpenListener): string[] {
  const cookies = (request.headers.get("cookie") ?? "").split(";").map((each) => each.trim().split("="));
  return cookies.flatMap(([name, value]) => (name === `skein_${instance}` && value !== undefined ? [value] : [])).slice(0, maxCookies);
}
