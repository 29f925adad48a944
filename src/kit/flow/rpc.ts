// JSON-RPC 2.0 between two peers: requests and notifications in both directions, cancellation, one message per frame.
// Independent of transport and protocol. Frames over the size limit are refused. Nothing here throws.
import { isRecord, type Json } from "../text/json.ts";

export type RpcError = { code: number; message: string; data?: unknown };

export type RpcReply =
  | {
      ok: true;
      result: unknown;
      /** Called once, after this reply was sent. Notifications that must follow the reply are sent here. */
      onSent?: () => void;
      /** Called once instead of `onSent`, if the request was cancelled. Resources that the request opened are closed here. */
      onUnsent?: () => void;
    }
  | { ok: false; error: RpcError };

export type RpcOptions = {
  /** Sends one frame. The transport separates frames. */
  send: (frame: string) => void;
  /** Answers requests of the other side. Without it every request gets "method not found". */
  onRequest?: (method: string, params: unknown, signal: AbortSignal) => RpcReply | Promise<RpcReply>;
  /** Called for each notification of the other side, except the one that cancels a request. */
  onNotification?: (method: string, params: unknown) => void;
  /**
   * Called before each reply. Returns null if the connection can send now, else a promise to wait for.
   * The request counts as running until its reply is sent.
   */
  whenWritable?: () => Promise<void> | null;
  /** The notification that cancels a request, and its field with the request id. Protocols differ in both. */
  cancel?: { method: string; field: string };
  /** In characters, for both directions. */
  maxFrame?: number;
  /** Limit of requests of the other side that run at once. */
  maxRunning?: number;
};

export const rpcCodes = {
  parse: -32700,
  invalid: -32600,
  noMethod: -32601,
  badParams: -32602,
  internal: -32603,
  cancelled: -32800,
  closed: -32097,
  tooLarge: -32098,
  tooMany: -32099,
} as const;

export function rpcFailure(code: number, message: string, data?: unknown): RpcReply {
  return { ok: false, error: { code, message, ...(data === undefined ? {} : { data }) } };
}

type Id = string | number;

export class Rpc {
  readonly #options: RpcOptions;
  readonly #maxFrame: number;
  /** Our requests that have no reply yet. The value resolves the request's promise. */
  readonly #waiting = new Map<Id, (reply: RpcReply) => void>();
  /** Requests of the other side that have no reply yet. The value cancels the handler. */
  readonly #running = new Map<Id, AbortController>();
  #lastId = 0;
  /** The reason of `close`; null while the connection is open. */
  #closed: string | null = null;

  constructor(options: RpcOptions) {
    this.#options = options;
    this.#maxFrame = options.maxFrame ?? 16 << 20;
  }

  /** Never rejects. Resolves with the reply, or with an error if `signal` aborts or the connection is closed. */
  request(method: string, params: unknown, signal?: AbortSignal): Promise<RpcReply> {
    if (this.#closed !== null) return Promise.resolve(rpcFailure(rpcCodes.closed, this.#closed));
    if (signal?.aborted) return Promise.resolve(cancelled);
    const id = (this.#lastId += 1);
    return new Promise((resolve) => {
      const stop = () => {
        const { cancel } = this.#options;
        if (cancel !== undefined) this.notify(cancel.method, { [cancel.field]: id });
        this.#settle(id, cancelled);
      };
      signal?.addEventListener("abort", stop, { once: true });
      this.#waiting.set(id, (reply) => {
        signal?.removeEventListener("abort", stop);
        resolve(reply);
      });
      if (!this.#send({ id, method, params })) this.#settle(id, rpcFailure(rpcCodes.tooLarge, `the request ${method} is too large`));
    });
  }

  /** Returns false if the notification is too large or the connection is closed. */
  notify(method: string, params: unknown): boolean {
    return this.#closed === null && this.#send({ method, params });
  }

  /** Like `notify`, with params that are already JSON text. */
  notifyText(method: string, params: string): boolean {
    return this.#closed === null && this.#sendFrame(`{"jsonrpc":"2.0","method":${JSON.stringify(method)},"params":${params}}`);
  }

  /** Returns false if the frame is not a message; the other side then gets an error. */
  receive(frame: string): boolean {
    if (this.#closed !== null) return false;
    if (frame.length > this.#maxFrame) return this.#refuse(rpcCodes.tooLarge, "the message is too large");
    const message = parse(frame);
    if (message === null) return this.#refuse(rpcCodes.parse, "the frame is not JSON");
    if (!isRecord(message)) return this.#refuse(rpcCodes.invalid, "the frame is not a message; batches are not supported");
    const { id, method } = message;
    if (typeof method === "string") {
      if (id === undefined) this.#handleNotification(method, message["params"]);
      else if (isId(id)) void this.#answer(id, method, message["params"]);
      else return this.#refuse(rpcCodes.invalid, "an id must be a string or a number");
      return true;
    }
    if (!isId(id) || !("result" in message || "error" in message)) return this.#refuse(rpcCodes.invalid, "the frame is not a message");
    this.#settle(id, parseReply(message));
    return true;
  }

  /** Fails our pending requests with `why` and aborts the handlers of the other side's requests. */
  close(why: string): void {
    this.#closed ??= why;
    for (const id of this.#waiting.keys()) this.#settle(id, rpcFailure(rpcCodes.closed, this.#closed));
    for (const controller of this.#running.values()) controller.abort();
    this.#running.clear();
  }

  #settle(id: Id, reply: RpcReply): void {
    const resolve = this.#waiting.get(id);
    this.#waiting.delete(id);
    resolve?.(reply);
  }

  #handleNotification(method: string, params: unknown): void {
    const { cancel, onNotification } = this.#options;
    if (method !== cancel?.method) return onNotification?.(method, params);
    const id = isRecord(params) ? params[cancel.field] : undefined;
    if (isId(id)) this.#running.get(id)?.abort();
  }

  async #answer(id: Id, method: string, params: unknown): Promise<void> {
    const { onRequest, whenWritable = () => null, maxRunning = 256 } = this.#options;
    if (this.#running.has(id)) return this.#reply(id, rpcFailure(rpcCodes.invalid, "a request with this id is running"));
    if (this.#running.size >= maxRunning) return this.#reply(id, rpcFailure(rpcCodes.tooMany, "too many requests at once"));
    if (onRequest === undefined) return this.#reply(id, noMethod(method));
    const controller = new AbortController();
    this.#running.set(id, controller);
    const reply = await runHandler(() => onRequest(method, params, controller.signal));
    for (let writable = whenWritable(); writable !== null; writable = whenWritable()) await writable;
    if (!this.#running.delete(id)) return;
    this.#reply(id, controller.signal.aborted ? cancelled : reply);
    if (!reply.ok) return;
    if (controller.signal.aborted) reply.onUnsent?.();
    else reply.onSent?.();
  }

  #reply(id: Id | null, reply: RpcReply): void {
    const sent = this.#send(reply.ok ? { id, result: reply.result ?? null } : { id, error: reply.error });
    if (!sent) this.#send({ id, error: { code: rpcCodes.tooLarge, message: "the answer is too large" } });
  }

  #refuse(code: number, message: string): false {
    this.#reply(null, rpcFailure(code, message));
    return false;
  }

  #send(message: Json): boolean {
    return this.#sendFrame(JSON.stringify({ jsonrpc: "2.0", ...message }));
  }

  #sendFrame(frame: string): boolean {
    if (frame.length > this.#maxFrame) return false;
    this.#options.send(frame);
    return true;
  }
}

export function noMethod(method: string): RpcReply {
  return rpcFailure(rpcCodes.noMethod, `there is no method ${method}`);
}

const cancelled = rpcFailure(rpcCodes.cancelled, "cancelled");

async function runHandler(handler: () => RpcReply | Promise<RpcReply>): Promise<RpcReply> {
  try {
    return await handler();
  } catch (error) {
    return rpcFailure(rpcCodes.internal, error instanceof Error ? error.message : String(error));
  }
}

function parseReply(message: Json): RpcReply {
  const { error } = message;
  if (!("error" in message) || error === null) return { ok: true, result: message["result"] };
  if (!isRecord(error)) return rpcFailure(rpcCodes.internal, typeof error === "string" ? error : JSON.stringify(error));
  const { code, message: text, data } = error;
  return rpcFailure(typeof code === "number" ? code : rpcCodes.internal, typeof text === "string" ? text : "no reason given", data);
}

function parse(frame: string): unknown {
  try {
    return JSON.parse(frame);
  } catch {
    return null;
  }
}

function isId(value: unknown): value is Id {
  return typeof value === "string" || typeof value === "number";
}
