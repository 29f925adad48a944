// Hostile and wrong input over both transports: it gets an error or a close, never a crash, and no buffer grows.
import { describe, expect, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLossyQueue } from "../kit/flow/lossy-queue.ts";
import type { Event } from "../protocol/tree/event.ts";
import { connectApi } from "./api-client.ts";
import { connectionLimits, type Connection } from "../protocol/connection/connection.ts";
import {
  helloFrame,
  durableEvent,
  transientEvent,
  connectRaw,
  requestFrame,
  startTestServer,
  token,
  transports,
} from "./fixtures/test-server.ts";
import { listenUnix } from "./unix-socket.ts";

const health = { status: "healthy", version: "1", protocol: 1, pid: 1, startedAt: 1_700_000_000_000, running: 0 } as const;
const healthy = { health: { check: async () => health } };

test("a frame in pieces, several frames at once and empty lines are all parsed", async () => {
  using hub = startTestServer("unix", healthy);
  const raw = await connectRaw(hub.address);
  for (const character of `${helloFrame}\n`) raw.write(character);
  raw.write(`\n\r\n${requestFrame(1, "health.check")}\n${requestFrame(2, "health.check")}\n`);
  // Replies to concurrent requests may arrive in any order.
  for (const reply of [1, 2]) await raw.until(({ id }) => id === reply);
  expect(raw.frames.map(({ id }) => id).toSorted((a, b) => Number(a) - Number(b))).toEqual([0, 1, 2]);
  raw.close();
});

test("invalid frames get an error answer and do not end the connection", async () => {
  using hub = startTestServer("unix", healthy);
  const raw = await connectRaw(hub.address);
  const invalidLines = [
    "no json",
    "[]",
    "7",
    '"text"',
    "{}",
    '{"jsonrpc":"2.0","id":{},"method":"x"}',
    "[".repeat(200_000),
    "\u0000\u0001",
  ];
  for (const line of invalidLines) raw.write(`${line}\n`);
  raw.write(new Uint8Array([0xff, 0xfe, 0x80, 10]));
  raw.write(
    `${requestFrame(1, "health.check")}\n${helloFrame}\n${helloFrame.replace('"id":0', '"id":4')}\n${requestFrame(2, "health.check", { nothing: 1 })}\n`,
  );
  raw.write(`${requestFrame(3, "health.check", null)}\n`);
  await raw.until(({ id }) => id === 3);
  const refused = raw.frames.filter(({ id }) => id === null);
  expect(refused.length).toBe(invalidLines.length + 1);
  for (const { error } of refused) expect(error).toMatchObject({ code: expect.any(Number), message: expect.any(String) });
  const answerOf = (wanted: number) => raw.frames.find(({ id }) => id === wanted);
  expect(answerOf(1)).toMatchObject({ error: { message: "hub.hello must come first" } });
  expect(answerOf(2)).toMatchObject({ error: { code: -32602, message: expect.stringContaining("nothing") } });
  expect(answerOf(3)).toMatchObject({ result: { status: "healthy" } });
  expect(answerOf(0)).toMatchObject({ result: { pid: process.pid } });
  expect(answerOf(4)).toMatchObject({ error: { message: "hub.hello was sent before" } });
  raw.close();
});

test("a line above the limit is refused before its end arrives", async () => {
  using hub = startTestServer("unix", healthy);
  const raw = await connectRaw(hub.address);
  raw.write(new Uint8Array(connectionLimits.frameBytes + 100_000).fill(97));
  await raw.closed;
  expect(raw.frames).toMatchObject([{ id: null, error: { message: "the message is too large" } }]);
});

test("a WebSocket frame that is too large or binary ends only its own connection", async () => {
  using hub = startTestServer("web", healthy);
  const { url } = hub.address as { url: string };
  const { api } = await hub.connect();
  for (const frame of ["x".repeat(connectionLimits.frameBytes + 1), new Uint8Array(10)]) {
    const socket = new WebSocket(`${url}?token=${token}`);
    const closed = new Promise<number>((resolve) => socket.addEventListener("close", ({ code }) => resolve(code)));
    await new Promise((resolve) => socket.addEventListener("open", resolve));
    socket.send(frame);
    expect([1003, 1009]).toContain(await closed);
  }
  expect(await api.health.check()).toEqual(health);
  await api.close();
});

test("an answer above the limit is replaced by an error", async () => {
  using hub = startTestServer("unix", { config: { schema: async () => ({ text: "x".repeat(connectionLimits.frameBytes) }) }, ...healthy });
  const { api } = await hub.connect();
  await expect(api.config.schema()).rejects.toMatchObject({ code: "usage", message: "the answer is too large" });
  expect(await api.health.check()).toEqual(health);
  await api.close();
});

describe.each(transports)("over %s", (transport) => {
  test("a client of another protocol version gets an error with a hint", async () => {
    using hub = startTestServer(transport, {});
    const hello = (protocol: unknown) => JSON.stringify({ jsonrpc: "2.0", id: 1, method: "hub.hello", params: { protocol, client: "x" } });
    const answers: unknown[] = [];
    for (const frame of [hello(0), hello(99), hello("1")]) answers.push(await answerTo(hub.address, frame));
    expect(answers).toMatchObject([
      { error: { code: -32000, data: { code: "protocol-mismatch", hint: "update the client" } } },
      { error: { code: -32000, data: { code: "protocol-mismatch", hint: expect.stringContaining("skein hub stop") } } },
      { error: { code: -32602, message: "protocol must be a whole number" } },
    ]);
  });

  test("one connection has a limit of requests and feeds", async () => {
    using hub = startTestServer(transport, {
      session: { current: () => new Promise(() => {}) },
      turn: { watch: () => ({ [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => {}) }) }) },
    });
    const { api, call } = await hub.connect();
    for (let opened = 0; opened < 100; opened += 1) await call("turn.watch", { session: "s" });
    await expect(call("turn.watch", { session: "s" })).rejects.toMatchObject({ message: "too many feeds at once" });
    const calls = Array.from({ length: 100 }, () => api.session.current({ directory: "/x" }));
    const refused = await Promise.race(calls.map((call) => call.catch((error: unknown) => error)));
    expect(refused).toMatchObject({ code: "usage", message: "too many requests at once" });
    await api.close();
    await Promise.allSettled(calls);
  });
});

/** The answer to a first frame, over a connection of its own. */
async function answerTo(address: Parameters<typeof connectApi>[0], frame: string): Promise<unknown> {
  if ("socket" in address) {
    const raw = await connectRaw(address);
    raw.write(`${frame}\n`);
    const answer = await raw.until(({ id }) => id === 1);
    raw.close();
    return answer;
  }
  const socket = new WebSocket(address.url, ["skein", address.token]);
  const answer = new Promise((resolve) => socket.addEventListener("message", ({ data }) => resolve(JSON.parse(String(data)))));
  socket.addEventListener("open", () => socket.send(frame));
  return answer.finally(() => socket.close());
}

describe("access to the hub", () => {
  const statusOf = async (url: string, headers: Record<string, string> = {}) =>
    (await fetch(url.replace("ws:", "http:"), { headers })).status;

  test("a WebSocket client must send the token in one of three ways", async () => {
    using hub = startTestServer("web", healthy);
    const { url } = hub.address as { url: string };
    expect(await statusOf(url)).toBe(401);
    expect(await statusOf(url, { Authorization: "Bearer wrong" })).toBe(401);
    expect(await statusOf(url, { Authorization: `Bearer ${token}x` })).toBe(401);
    expect(await statusOf(`${url}?token=`)).toBe(401);
    expect(await statusOf(url, { Authorization: `Bearer ${token}` })).toBe(426);
    expect(await statusOf(`${url}?token=${token}`)).toBe(426);
    expect(await statusOf(url, { "Sec-WebSocket-Protocol": `skein, ${token}` })).toBe(426);
    await expect(connectApi({ url, token: "wrong" }, { client: "x" })).rejects.toMatchObject({ code: "connection-lost" });
  });

  test("a page of another origin is refused even with the token; our own origin is accepted", async () => {
    using hub = startTestServer("web", healthy);
    const { url } = hub.address as { url: string };
    const { port } = new URL(url);
    for (const Origin of ["http://evil.example", "null", `http://127.0.0.1:1${port}`, `https://127.0.0.1:${port}`]) {
      expect(await statusOf(`${url}?token=${token}`, { Origin })).toBe(403);
    }
    for (const Origin of [`http://127.0.0.1:${port}`, `http://localhost:${port}`]) {
      expect(await statusOf(`${url}?token=${token}`, { Origin })).toBe(426);
    }
  });

  test("only the user of the hub can open its unix socket", async () => {
    using hub = startTestServer("unix", healthy);
    const { socket } = hub.address as { socket: string };
    expect(statSync(socket).mode & 0o777).toBe(0o600);
    if (process.getuid!() !== 0) return;
    // The mode of the socket must be enough: here everyone can enter the directory.
    chmodSync(join(socket, ".."), 0o755);
    const code = `Bun.connect({unix: process.argv[1], socket: {data() {}}}).then(() => process.exit(0), () => process.exit(7))`;
    const asUser = (id: string) =>
      Bun.spawnSync(["setpriv", `--reuid=${id}`, "--clear-groups", process.execPath, "-e", code, socket]).exitCode;
    expect(asUser("0")).toBe(0);
    expect(asUser("65534")).toBe(7);
  });
});

test("listening and connecting work with a path longer than a socket address", async () => {
  const root = mkdtempSync(join(tmpdir(), "skein-hub-"));
  const directory = join(root, "d".repeat(180));
  const socket = join(directory, "s.sock");
  try {
    mkdirSync(directory);
    const listener = listenUnix(socket, (connection) => ({ receive: (frame) => connection.send(`<${frame}>`), closed: () => {} }));
    expect(statSync(socket).mode & 0o777).toBe(0o600);
    const raw = await connectRaw({ socket });
    raw.write('"hello"\n');
    raw.close();
    await raw.closed;
    listener.close();
    expect(existsSync(socket)).toBe(false);
  } finally {
    rmSync(root, { recursive: true });
  }
});

describe("a slow reader", () => {
  /** Like the engine: transient events are dropped when the queue is full, durable events are read again from the store. */
  async function* watch(stored: Event[], queue: ReturnType<typeof createLossyQueue<Event>>, pulled: { count: number }) {
    let lastSeq = 0;
    for (;;) {
      const { items, lags } = await queue.next();
      for (const event of items) {
        if (!("n" in event) && event.seq <= lastSeq) continue;
        if (!("n" in event)) lastSeq = event.seq;
        pulled.count += 1;
        yield event;
      }
      if (lags || items.length === 0)
        for (const event of stored.slice(lastSeq)) yield (((lastSeq = event.seq), (pulled.count += 1), event));
      if (items.length === 0 && !lags) return;
    }
  }

  test("a slow reader gets all durable events when it reads again, and the server buffers nothing meanwhile", async () => {
    const stored: Event[] = [];
    const queue = createLossyQueue<Event>();
    const pulled = { count: 0 };
    using hub = startTestServer("unix", { turn: { watch: () => watch(stored, queue, pulled) } });
    const frames: string[] = [];
    const feedEnded = Promise.withResolvers<void>();
    const socket = await Bun.connect({
      unix: (hub.address as { socket: string }).socket,
      socket: {
        data(_, bytes) {
          frames.push(bytes.toString());
          if (bytes.includes("feed.end")) feedEnded.resolve();
        },
      },
    });
    socket.write(`${helloFrame}\n${requestFrame(1, "turn.watch", { session: "s" })}\n`);
    while (!frames.join("").includes('"feed"')) await Bun.sleep(1);
    socket.pause();
    const text = "x".repeat(10_000);
    for (let seq = 1; seq <= 5000; seq += 1) {
      stored.push(durableEvent(seq, text));
      queue.push(stored.at(-1)!, "required");
      for (let n = 0; n < 20; n += 1) queue.push(transientEvent(seq, n, text), "lossy");
      if (seq % 100 === 0) await Bun.sleep(0);
    }
    queue.end();
    await Bun.sleep(50);
    // Only the buffers of the operating system are full.
    expect(pulled.count).toBeLessThan(500);
    socket.resume();
    await feedEnded.promise;
    const items = frames
      .join("")
      .split("\n")
      .flatMap((line) => (line.includes("feed.item") ? [JSON.parse(line).params.item] : []));
    const seqs = items.filter((item) => item.n === undefined).map((item) => item.seq);
    expect(seqs).toEqual(stored.map(({ seq }) => seq));
    expect(items.length).toBeLessThan(5000 * 20);
    socket.end();
  });

  test("a slow WebSocket reader gets all events when it reads again", async () => {
    let pulled = 0;
    async function* watch() {
      for (let seq = 1; seq <= 3000; seq += 1) {
        pulled = seq;
        yield durableEvent(seq, "x".repeat(10_000));
      }
    }
    using hub = startTestServer("web", { turn: { watch } });
    const { hostname, port } = new URL((hub.address as { url: string }).url);
    let received = 0;
    let last = "";
    const feedEnded = Promise.withResolvers<void>();
    const socket = await Bun.connect({
      hostname,
      port: Number(port),
      socket: {
        data(_, bytes) {
          received += bytes.length;
          last = (last + bytes.toString("latin1")).slice(-200);
          if (last.includes("feed.end")) feedEnded.resolve();
        },
      },
    });
    const key = Buffer.alloc(16).toString("base64");
    const headers = [
      "GET / HTTP/1.1",
      `Host: ${hostname}:${port}`,
      "Upgrade: websocket",
      "Connection: Upgrade",
      `Authorization: Bearer ${token}`,
    ];
    socket.write(`${[...headers, `Sec-WebSocket-Key: ${key}`, "Sec-WebSocket-Version: 13"].join("\r\n")}\r\n\r\n`);
    socket.write(masked(helloFrame));
    socket.write(masked(requestFrame(1, "turn.watch", { session: "s" })));
    while (received < 1000) await Bun.sleep(1);
    socket.pause();
    for (let before = -1; before !== pulled; await Bun.sleep(20)) before = pulled;
    expect(pulled).toBeLessThan(1500);
    socket.resume();
    await feedEnded.promise;
    expect(received).toBeGreaterThan(3000 * 10_000);
    socket.end();
  });

  test("a slow reader gets all answers when it reads again, also more than may be queued", async () => {
    using hub = startTestServer("unix", { config: { schema: async () => ({ text: "x".repeat(2 << 20) }) } });
    let text = "";
    let answers = 0;
    const socket = await Bun.connect({
      unix: (hub.address as { socket: string }).socket,
      socket: {
        data(_, bytes) {
          const lines = (text + bytes.toString()).split("\n");
          text = lines.pop()!;
          answers += lines.length;
        },
      },
    });
    socket.write(`${helloFrame}\n`);
    while (answers === 0) await Bun.sleep(1);
    socket.pause();
    socket.write(Array.from({ length: 60 }, (_, id) => `${requestFrame(id + 1, "config.schema")}\n`).join(""));
    await Bun.sleep(100);
    socket.resume();
    while (answers < 61) await Bun.sleep(1);
    socket.end();
  }, 60_000);

  test("a slow reader is disconnected when its queue is too large", async () => {
    const root = mkdtempSync(join(tmpdir(), "skein-hub-"));
    const path = join(root, "s.sock");
    const lost = Promise.withResolvers<string>();
    const accepted = Promise.withResolvers<Connection>();
    const listener = listenUnix(path, (connection) => {
      accepted.resolve(connection);
      return { receive: () => {}, closed: lost.resolve };
    });
    const closed = Promise.withResolvers<void>();
    const socket = await Bun.connect({
      unix: path,
      socket: { open: (opened) => opened.pause(), data: () => {}, close: () => closed.resolve() },
    });
    const connection = await accepted.promise;
    for (let sent = 0; sent <= connectionLimits.unsentBytes; sent += 8 << 20) connection.send("x".repeat(8 << 20));
    expect(await lost.promise).toBe("the other side does not read");
    socket.resume();
    await closed.promise;
    listener.close();
    rmSync(root, { recursive: true });
  });
});

/** A frame as clients must send it, with a mask. A mask of zeros changes nothing. */
function masked(text: string): Uint8Array {
  const length = Buffer.byteLength(text);
  const head = length < 126 ? [0x81, 0x80 | length] : [0x81, 0x80 | 126, length >> 8, length & 255];
  return Buffer.concat([Buffer.from([...head, 0, 0, 0, 0]), Buffer.from(text)]);
}
