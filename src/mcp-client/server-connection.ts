// One connection to one server, from its handshake to its end. Every request has a time limit that a pause of the turn
// stops. A server that exceeds it is ended, so that the next call starts a new one.
import { Client, ProtocolError, type ClientOptions, type RequestOptions, type Transport } from "@modelcontextprotocol/client";
import { startCountdown } from "../kit/flow/countdown.ts";
import { formatDuration } from "../kit/text/duration.ts";
import { oneLine } from "../kit/text/cut-text.ts";
import { messageOf } from "../protocol/api/error.ts";
import type { McpCallOptions, RunningProgram } from "../protocol/api/ports.ts";
import type { HttpServer, McpServer, StdioServer } from "../protocol/mcp/server-entry.ts";
import { ServerRefusal } from "./bounded-answer.ts";
import { createHttpTransport } from "./http-transport.ts";
import type { SignInStore } from "./sign-in.ts";
import { type ProgramStart, StdioTransport } from "./stdio-transport.ts";

export type ConnectionDeps = {
  version: string;
  /** Starts the program of a server in the turn's sandbox. */
  openProgram: (name: string, server: StdioServer, start: ServerStart) => Promise<RunningProgram>;
  /** The place of the sign-in to a server; null if sign-ins are not stored. */
  signInOf: (server: HttpServer) => SignInStore | null;
  /** Progress messages extend a time limit to at most so many times its length. For tests. */
  maxExtensions?: number;
};

export type ServerStart = ProgramStart & Pick<McpCallOptions, "registerPausable">;

/** A failure of a server. The message completes "the server ...". `isRefusal`: the server answered with an error. */
export class ServerFailure extends Error {
  readonly isRefusal: boolean;

  constructor(message: string, isRefusal = false) {
    super(message);
    this.isRefusal = isRefusal;
  }
}

const maxPages = 20;
/** The client's own limit would also run while the turn is paused. */
const noClientLimit = 2 ** 31 - 1;
const closeTimeoutMs = 2_000;
const defaultMaxExtensions = 30;

export class ServerConnection {
  readonly name: string;
  readonly client: Client;
  readonly #server: McpServer;
  readonly #transport: Transport;
  readonly #maxExtensions: number;
  hasEnded = false;
  /** Set by a message of the server that its tools have changed, until it is taken. */
  #haveToolsChanged = false;

  constructor(name: string, server: McpServer, deps: ConnectionDeps & Pick<McpCallOptions, "registerPausable">) {
    const { registerPausable, maxExtensions = defaultMaxExtensions } = deps;
    this.#maxExtensions = maxExtensions;
    this.name = name;
    this.#server = server;
    this.client = new Client(
      { name: "skein", version: deps.version },
      // The schemas of a server are untrusted: a pattern in one could block this process. So none is compiled.
      { capabilities: {}, listMaxPages: maxPages, jsonSchemaValidator: acceptAll },
    );
    this.#transport =
      server.kind === "http"
        ? createHttpTransport(name, server, deps.signInOf(server))
        : new StdioTransport({ open: (start) => deps.openProgram(name, server, { ...start, registerPausable }) });
    // The client has no event listeners, only this property.
    Object.assign(this.client, { onclose: () => (this.hasEnded = true) });
    this.client.setNotificationHandler("notifications/tools/list_changed", () => {
      this.#haveToolsChanged = true;
    });
  }

  /** Rejects with a `ServerFailure`; the connection is closed then. */
  async connect(options: McpCallOptions): Promise<void> {
    try {
      await this.request(options, (limits) => this.client.connect(this.#transport, limits));
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  takeToolChange(): boolean {
    const haveChanged = this.#haveToolsChanged;
    this.#haveToolsChanged = false;
    return haveChanged;
  }

  /** Rejects with a `ServerFailure`, or with the reason of `options.signal`. */
  async request<Result>(options: McpCallOptions, send: (limits: RequestOptions) => Promise<Result>): Promise<Result> {
    const { timeoutMs } = this.#server;
    const timeout = new AbortController();
    let endedAfterMs = timeoutMs;
    const end = () => timeout.abort(new Error("no answer in time"));
    const start = () => startCountdown(timeoutMs, end);
    let countdown = start();
    // A server could report progress for ever.
    const longestMs = timeoutMs * this.#maxExtensions;
    const total = startCountdown(longestMs, () => {
      endedAfterMs = longestMs;
      end();
    });
    const pausables = () => [countdown, total];
    const unregister = options.registerPausable({
      pause: () => pausables().forEach((each) => each.pause()),
      resume: () => pausables().forEach((each) => each.resume()),
    });
    const onprogress = (): void => {
      countdown.clear();
      countdown = start();
      options.onProgress();
    };
    const signal = AbortSignal.any([options.signal, timeout.signal]);
    const aborted = Promise.withResolvers<never>();
    const abort = (): void => aborted.reject(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
    try {
      return await Promise.race([send({ signal, onprogress, timeout: noClientLimit }), aborted.promise]);
    } catch (error) {
      options.signal.throwIfAborted();
      if (!timeout.signal.aborted) throw this.#failureOf(error);
      void this.close();
      const ending = this.#server.kind === "stdio" ? " and was ended" : "";
      throw new ServerFailure(
        this.#withStray(`gave no answer within ${formatDuration(endedAfterMs)}${ending}; whether the call had an effect is unknown`),
      );
    } finally {
      signal.removeEventListener("abort", abort);
      for (const each of pausables()) each.clear();
      unregister();
    }
  }

  /** Never rejects. */
  async close(): Promise<void> {
    this.hasEnded = true;
    // The client drops its transport when the transport ends, but the server's program may still run.
    const closing = Promise.allSettled([this.client.close(), this.#transport.close()]);
    await Promise.race([closing, Bun.sleep(closeTimeoutMs)]);
  }

  #failureOf(error: unknown): ServerFailure {
    const refusal = findRefusal(error);
    if (refusal !== null) return new ServerFailure(refusal.message);
    if (error instanceof ProtocolError) return new ServerFailure(`answered with an error: ${messageOf(error)}`, true);
    const endText = this.#transport instanceof StdioTransport ? this.#transport.endText : null;
    if (endText !== null) return new ServerFailure(this.#withStray(endText));
    if (this.#server.kind === "stdio") return new ServerFailure(this.#withStray(`failed: ${oneLine(messageOf(error), 500)}`));
    return new ServerFailure(`can't be reached: ${oneLine(messageOf(error), 500)}`);
  }

  #withStray(text: string): string {
    const stray = this.#transport instanceof StdioTransport ? this.#transport.strayText : "";
    return stray === "" ? text : `${text}; ${stray}`;
  }
}

const acceptAll: NonNullable<ClientOptions["jsonSchemaValidator"]> = {
  getValidator: () => (input) => ({ valid: true, data: input as never, errorMessage: undefined }),
};

function findRefusal(error: unknown): ServerRefusal | null {
  for (let current = error; current instanceof Error; current = current.cause) if (current instanceof ServerRefusal) return current;
  return null;
}
