// JSON-RPC 2.0 between two equals: requests and notices either way, cancellation, one message per frame. Knows no
// transport and no protocol on top of it; frames are whole texts, and too large ones are refused. Nothing here throws.

export type RpcError = { code: number; message: string; data?: unknown };
/**
 * `sent` is called when the answer is on its way: what belongs after it can follow. `unsent` is called instead when the
 * request was taken back by then: what was opened for it can be closed.
 */
export type RpcReply = { ok: true; result: unknown; sent?: () => void; unsent?: () => void } | { ok: false; error: RpcError };

export type RpcOptions = {
  /** One frame; how frames are told apart is the transport's. */
  send: (frame: string) => void;
  /** What the other side asks. Without it every request is answered with "method not found". */
  onRequest?: (method: string, params: unknown, signal: AbortSignal) => RpcReply | Promise<RpcReply>;
  onNotice?: (method: string, params: unknown) => void;
  /** Answers wait for it, one by one, and count as running meanwhile. Null: there is room. */
  room?: () => Promise<void> | null;
  /** The notice that takes a request back, and the field that names it; protocols differ in both. */
  cancel?: { method: string; field: string };
  /** In characters, either way. */
  maxFrame?: number;
  /** Requests of the other side that may run at once. */
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
type Message = Record<string, unknown>;

export class Rpc {
  readonly #options: RpcOptions;
  readonly #maxFrame: number;
  readonly #waiting = new Map<Id, (reply: RpcReply) => void>();
  readonly #running = new Map<Id, AbortController>();
  #lastId = 0;
  #closed: string | null = null;

  constructor(options: RpcOptions) {
    this.#options = options;
    this.#maxFrame = options.maxFrame ?? 16 << 20;
  }

  /** Settles in any case: with the answer, when it is taken back, and when the connection is closed. */
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

  /** False when it could not be sent. */
  notify(method: string, params: unknown): boolean {
    return this.#closed === null && this.#send({ method, params });
  }

  /** The same with params that are JSON already. */
  notifyText(method: string, params: string): boolean {
    return this.#closed === null && this.#sendFrame(`{"jsonrpc":"2.0","method":${JSON.stringify(method)},"params":${params}}`);
  }

  /** False when the frame is no message; the other side is told so where that is the custom. */
  receive(frame: string): boolean {
    if (this.#closed !== null) return false;
    if (frame.length > this.#maxFrame) return this.#refuse(rpcCodes.tooLarge, "the message is too large");
    const message = parse(frame);
    if (message === null) return this.#refuse(rpcCodes.parse, "this is no JSON");
    if (!isObject(message)) return this.#refuse(rpcCodes.invalid, "this is no message; batches are not taken");
    const { id, method } = message;
    if (typeof method === "string") {
      if (id === undefined) this.#noticed(method, message["params"]);
      else if (isId(id)) void this.#answer(id, method, message["params"]);
      else return this.#refuse(rpcCodes.invalid, "an id is a text or a number");
      return true;
    }
    if (!isId(id) || !("result" in message || "error" in message)) return this.#refuse(rpcCodes.invalid, "this is no message");
    this.#settle(id, replyIn(message));
    return true;
  }

  /** Whoever waits is told why, and whoever works for the other side is stopped. */
  close(why: string): void {
    this.#closed ??= why;
    for (const id of this.#waiting.keys()) this.#settle(id, rpcFailure(rpcCodes.closed, this.#closed));
    for (const stop of this.#running.values()) stop.abort();
    this.#running.clear();
  }

  #settle(id: Id, reply: RpcReply): void {
    const resolve = this.#waiting.get(id);
    this.#waiting.delete(id);
    resolve?.(reply);
  }

  #noticed(method: string, params: unknown): void {
    const { cancel, onNotice } = this.#options;
    if (method !== cancel?.method) return onNotice?.(method, params);
    const id = isObject(params) ? params[cancel.field] : undefined;
    if (isId(id)) this.#running.get(id)?.abort();
  }

  async #answer(id: Id, method: string, params: unknown): Promise<void> {
    const { onRequest, room = () => null, maxRunning = 256 } = this.#options;
    if (this.#running.has(id)) return this.#reply(id, rpcFailure(rpcCodes.invalid, "a request with this id is running"));
    if (this.#running.size >= maxRunning) return this.#reply(id, rpcFailure(rpcCodes.tooMany, "too many requests at once"));
    if (onRequest === undefined) return this.#reply(id, noMethod(method));
    const stop = new AbortController();
    this.#running.set(id, stop);
    const reply = await answered(() => onRequest(method, params, stop.signal));
    for (let wait = room(); wait !== null; wait = room()) await wait;
    if (!this.#running.delete(id)) return;
    this.#reply(id, stop.signal.aborted ? cancelled : reply);
    if (!reply.ok) return;
    if (stop.signal.aborted) reply.unsent?.();
    else reply.sent?.();
  }

  #reply(id: Id | null, reply: RpcReply): void {
    const sent = this.#send(reply.ok ? { id, result: reply.result ?? null } : { id, error: reply.error });
    if (!sent) this.#send({ id, error: { code: rpcCodes.tooLarge, message: "the answer is too large" } });
  }

  #refuse(code: number, message: string): false {
    this.#reply(null, rpcFailure(code, message));
    return false;
  }

  #send(message: Message): boolean {
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

async function answered(act: () => RpcReply | Promise<RpcReply>): Promise<RpcReply> {
  try {
    return await act();
  } catch (error) {
    return rpcFailure(rpcCodes.internal, error instanceof Error ? error.message : String(error));
  }
}

function replyIn(message: Message): RpcReply {
  const { error } = message;
  if (!("error" in message) || error === null) return { ok: true, result: message["result"] };
  if (!isObject(error)) return rpcFailure(rpcCodes.internal, typeof error === "string" ? error : JSON.stringify(error));
  const { code, message: text, data } = error;
  return rpcFailure(typeof code === "number" ? code : rpcCodes.internal, typeof text === "string" ? text : "it gave no reason", data);
}

function parse(frame: string): unknown {
  try {
    return JSON.parse(frame);
  } catch {
    return null;
  }
}

function isObject(value: unknown): value is Message {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isId(value: unknown): value is Id {
  return typeof value === "string" || typeof value === "number";
}
