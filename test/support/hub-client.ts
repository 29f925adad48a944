// Starts a real hub in a temporary home and talks to it with raw frames, as any program could.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pollUntil } from "../../src/kit/flow/sleep.ts";
import { hasEnded, statFields } from "../../src/kit/process/proc-files.ts";
import type { TemporaryHome } from "./temporary-home.ts";

const waitLimitMs = 60_000;

export type HubFile = { url: string; socket: string; token_file: string; pid: number };
export type Answer = { result?: unknown; error?: { code: number; message: string; data?: { code?: string; hint?: string } } };
export type Item = Record<string, unknown>;

export type HubClient = {
  ask: (method: string, params?: unknown) => Promise<Answer>;
  /** Resolves at the end of a feed with its items, and with its error if it failed. */
  follow: (method: string, params: unknown) => Promise<{ items: Item[]; error?: Answer["error"] }>;
  /** Sends any text. Answers without an id are added to `loose`. */
  raw: (frame: string) => void;
  notify: (method: string, params: unknown) => void;
  loose: Answer[];
  /** Every received frame. */
  frames: string[];
  close: () => void;
};

export function hubFile(skein: TemporaryHome): string {
  return join(skein.env["SKEIN_HOME"]!, "state", "hub.json");
}

/** Starts the hub as users do. `await using` stops it and waits for its end. */
export async function startHub(skein: TemporaryHome): Promise<HubFile & AsyncDisposable> {
  const ran = await skein.run(["hub", "start"]);
  if (ran.code !== 0) throw new Error(`the hub did not start: ${ran.err}`);
  const file = JSON.parse(readFileSync(hubFile(skein), "utf8")) as HubFile;
  return {
    ...file,
    async [Symbol.asyncDispose]() {
      await skein.run(["hub", "stop"]);
    },
  };
}

/** Kills the hub with SIGKILL once it has started, and waits for its end: until then it may still answer. */
export async function killHub(skein: TemporaryHome): Promise<void> {
  if (!(await pollUntil(waitLimitMs, async () => existsSync(hubFile(skein))))) throw new Error("the hub did not start");
  const { pid } = JSON.parse(readFileSync(hubFile(skein), "utf8")) as HubFile;
  process.kill(pid, "SIGKILL");
  if (!(await pollUntil(waitLimitMs, async () => hasEnded(statFields(`/proc/${pid}`)))))
    throw new Error(`the hub (process ${pid}) did not end`);
}

export const hello = { protocol: 1, client: "journey" };

export async function connectToHub(transport: "web" | "unix", hub: HubFile, greeting: unknown = hello): Promise<HubClient> {
  const client = new Frames();
  if (transport === "web") await client.overWeb(hub);
  else await client.overUnix(hub);
  const { error } = await client.ask("hub.hello", greeting);
  if (error === undefined) return client;
  client.close();
  throw new Error(`hub.hello: ${error.message}`);
}

type Feed = { items: Item[]; ended: PromiseWithResolvers<Answer["error"]> };

class Frames implements HubClient {
  readonly loose: Answer[] = [];
  readonly frames: string[] = [];
  readonly #answers = new Map<number, (answer: Answer) => void>();
  readonly #feeds = new Map<number, Feed>();
  #lastId = 0;
  #send: (frame: string) => void = () => {};
  #close: () => void = () => {};

  async overWeb({ url, token_file }: HubFile): Promise<void> {
    const socket = new WebSocket(url, { headers: { Authorization: `Bearer ${readFileSync(token_file, "utf8")}` } });
    this.#send = (frame) => socket.send(frame);
    this.#close = () => socket.close();
    socket.addEventListener("message", ({ data }) => this.#receive(data as string));
    socket.addEventListener("close", ({ reason }) => this.#onClose(reason));
    await new Promise((resolve, reject) => Object.assign(socket, { onopen: resolve, onerror: reject }));
  }

  async overUnix({ socket: path }: HubFile): Promise<void> {
    let remainder = "";
    const decoder = new TextDecoder();
    const unsent: Buffer[] = [];
    const flush = (socket: Bun.Socket) => {
      for (let first = unsent[0]; first !== undefined; first = unsent[0]) {
        const written = Math.max(0, socket.write(first));
        if (written < first.length) return void (unsent[0] = first.subarray(written));
        unsent.shift();
      }
    };
    const socket = await Bun.connect({
      unix: path,
      socket: {
        data: (_, bytes) => {
          const lines = (remainder + decoder.decode(bytes, { stream: true })).split("\n");
          remainder = lines.pop()!;
          for (const line of lines) this.#receive(line);
        },
        drain: flush,
        close: () => this.#onClose("closed"),
      },
    });
    this.#send = (frame) => {
      unsent.push(Buffer.from(`${frame}\n`));
      flush(socket);
    };
    this.#close = () => socket.end();
  }

  ask(method: string, params?: unknown): Promise<Answer> {
    const id = ++this.#lastId;
    const answer = new Promise<Answer>((resolve) => this.#answers.set(id, resolve));
    this.raw(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
    return answer;
  }

  async follow(method: string, params: unknown): Promise<{ items: Item[]; error?: Answer["error"] }> {
    const { result, error } = await this.ask(method, params);
    if (error !== undefined) return { items: [], error };
    const { items, ended } = this.#feedOf((result as { feed: number }).feed);
    const why = await ended.promise;
    return { items, ...(why === undefined ? {} : { error: why }) };
  }

  raw(frame: string): void {
    this.#send(frame);
  }

  notify(method: string, params: unknown): void {
    this.raw(JSON.stringify({ jsonrpc: "2.0", method, params }));
  }

  close(): void {
    this.#close();
  }

  #receive(frame: string): void {
    this.frames.push(frame);
    const { id, method, params, result, error } = JSON.parse(frame);
    if (method === "feed.item") this.#feedOf(params.feed).items.push(params.item);
    if (method === "feed.end") this.#feedOf(params.feed).ended.resolve(params.error);
    if (method !== undefined) return;
    const answer: Answer = error === undefined ? { result } : { error };
    const waiting = this.#answers.get(id);
    if (waiting === undefined) this.loose.push(answer);
    else waiting(answer);
    this.#answers.delete(id);
  }

  /** A feed may end before the answer with its id is read. */
  #feedOf(id: number): Feed {
    const feed = this.#feeds.get(id) ?? { items: [], ended: Promise.withResolvers() };
    this.#feeds.set(id, feed);
    return feed;
  }

  #onClose(why: string): void {
    for (const settle of this.#answers.values()) settle({ error: { code: 0, message: `the connection was lost: ${why}` } });
    for (const { ended } of this.#feeds.values()) ended.resolve({ code: 0, message: `the connection was lost: ${why}` });
    this.#answers.clear();
  }
}
