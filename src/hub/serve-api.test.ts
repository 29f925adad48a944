// An Api over both transports with real sockets: answers, faults and feeds are those of an Api in the same process.
import { describe, expect, test } from "bun:test";
import { methodNames } from "../protocol/schema/check-params.ts";
import type { Session } from "../protocol/tree/turn.ts";
import { Fault } from "../protocol/api/error.ts";
import { durableEvent, startTestServer, transports, type PartialApi } from "./fixtures/test-server.ts";

const session = { id: "s-1", name: "long", createdAt: 1_700_000_000_000, tip: null, toolLevel: "minimal" } as unknown as Session;

describe.each(transports)("over %s", (transport) => {
  test("a call passes its params to the Api and returns the Api's result", async () => {
    const received: unknown[] = [];
    using hub = startTestServer(transport, { session: { find: async (params) => (received.push(params), session) } });
    const { api, welcome } = await hub.connect({ directory: "/somewhere", trust: false });
    expect(await api.session.find({ wanted: "long", directory: "/x" })).toEqual(session);
    expect(received).toEqual([{ wanted: "long", directory: "/x" }]);
    expect(hub.hellos).toEqual([{ client: "test", directory: "/somewhere", env: null, trust: false, window: 256 } as never]);
    expect(welcome).toEqual({ protocol: 1, version: "1.2.3", pid: process.pid, started_at: "2023-11-14T22:13:20.000Z" });
    await api.close();
  });

  test("a Fault arrives as the same Fault; any other error arrives as an internal error", async () => {
    const failingApi: PartialApi = {
      session: {
        find: () => Promise.reject(new Fault("session-unknown", "no session", { hint: "look again" })),
        current: () => Promise.reject(new TypeError("a mistake of ours")),
      },
    };
    using hub = startTestServer(transport, failingApi);
    const { api } = await hub.connect();
    const fault = await api.session.find({ wanted: "x", directory: "/x" }).catch((error: unknown) => error);
    expect(fault).toBeInstanceOf(Fault);
    expect(fault).toMatchObject({ code: "session-unknown", message: "no session", hint: "look again" });
    await expect(api.session.current({ directory: "/x" })).rejects.toMatchObject({ code: "internal", message: "a mistake of ours" });
    await api.close();
  });

  test("invalid params are reported by name and never reach the Api", async () => {
    using hub = startTestServer(transport, {});
    const { api } = await hub.connect();
    await expect(api.session.find({ wanted: "x", directory: 7 } as never)).rejects.toMatchObject({
      code: "usage",
      message: expect.stringContaining("directory"),
    });
    expect(hub.hellos).toEqual([]);
    await api.close();
  });

  test("an unknown method is answered with similar names", async () => {
    using hub = startTestServer(transport, {});
    const { call, api } = await hub.connect();
    await expect(call("turn.wach", {})).rejects.toMatchObject({
      code: "usage",
      hint: expect.stringMatching(/^there is turn\.watch, turn\./),
    });
    await expect(call("constructor", {})).rejects.toMatchObject({ code: "usage", hint: "docs/HUB.md lists the methods" });
    await expect(call("toString.call", {})).rejects.toMatchObject({ code: "usage" });
    await api.close();
  });

  test("the client has every method of the table", async () => {
    using hub = startTestServer(transport, {});
    const { api } = await hub.connect();
    const nouns = api as unknown as Record<string, Record<string, unknown>>;
    const functions = methodNames.map((name) => name.split(".") as [string, string]).map(([noun, verb]) => nouns[noun]?.[verb]);
    expect(functions.filter((method) => typeof method !== "function")).toEqual([]);
    await api.close();
  });

  test("a feed sends its items in order and ends", async () => {
    async function* watch() {
      for (let seq = 1; seq <= 1000; seq += 1) yield durableEvent(seq);
    }
    using hub = startTestServer(transport, { turn: { watch } });
    const { api } = await hub.connect();
    const items = await Array.fromAsync(api.turn.watch({ session: "s", afterSeq: 0, until: "idle" }));
    expect(items).toEqual(Array.from({ length: 1000 }, (_, at) => durableEvent(at + 1)));
    await api.close();
  });

  test("a failing feed sends its earlier items, then the fault", async () => {
    async function* watch() {
      yield durableEvent(1);
      throw new Fault("session-unknown", "it was purged");
    }
    using hub = startTestServer(transport, { turn: { watch } });
    const { api } = await hub.connect();
    const feed = api.turn.watch({ session: "s", afterSeq: 0, until: "idle" })[Symbol.asyncIterator]();
    expect(await feed.next()).toEqual({ value: durableEvent(1), done: false });
    // `rejects` would run the event loop inside the callback that receives the next frame.
    const fault = await feed.next().catch((error: unknown) => error);
    expect(fault).toMatchObject({ name: "Fault", code: "session-unknown", message: "it was purged" });
    await api.close();
  });

  test("leaving a feed closes only that feed on the server, also while it is silent", async () => {
    const closed = Promise.withResolvers<void>();
    const silent = {
      next: () => new Promise<never>(() => {}),
      return: async () => (closed.resolve(), { value: undefined, done: true as const }),
    };
    using hub = startTestServer(transport, {
      turn: { watch: () => ({ [Symbol.asyncIterator]: () => silent }) },
      session: { find: async () => session },
    });
    const { api } = await hub.connect();
    const feed = api.turn.watch({ session: "s", afterSeq: 0, until: "never" })[Symbol.asyncIterator]();
    const next = feed.next();
    await feed.return!();
    expect(await next).toEqual({ value: undefined, done: true });
    await closed.promise;
    expect(await api.session.find({ wanted: "long", directory: "/x" })).toEqual(session);
    await api.close();
  });

  test("a lost connection ends its feeds and closes its Api, so that turns continue", async () => {
    const closed = Promise.withResolvers<void>();
    async function* start() {
      try {
        yield durableEvent(1);
        await new Promise((resolve) => setTimeout(resolve, 5));
        yield durableEvent(2);
        await new Promise((resolve) => setTimeout(resolve, 5));
        yield durableEvent(3);
      } finally {
        closed.resolve();
      }
    }
    using hub = startTestServer(transport, { turn: { watch: start } });
    const { api } = await hub.connect();
    const feed = api.turn.watch({ session: "s", afterSeq: 0, until: "idle" })[Symbol.asyncIterator]();
    await feed.next();
    await api.close();
    await closed.promise;
    while (hub.closed.length === 0) await Bun.sleep(1);
    expect(hub.closed).toEqual(["finish"]);
  });

  test("pending calls fail when the server is stopped", async () => {
    const hub = startTestServer(transport, {
      session: { find: () => new Promise(() => {}) },
      turn: { watch: () => ({ [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => {}) }) }) },
    });
    const { api } = await hub.connect();
    const call = api.session.find({ wanted: "x", directory: "/x" }).catch((error: unknown) => error);
    const feed = Array.fromAsync(api.turn.watch({ session: "s", afterSeq: 0, until: "never" })).catch((error: unknown) => error);
    while (hub.hellos.length === 0) await Bun.sleep(1);
    hub[Symbol.dispose]();
    expect(await call).toMatchObject({ name: "Fault", code: "connection-lost" });
    expect(await feed).toMatchObject({ name: "Fault", code: "connection-lost" });
    await expect(api.session.find({ wanted: "x", directory: "/x" })).rejects.toMatchObject({ code: "connection-lost" });
  });

  test("an aborted agent trial is stopped on the server", async () => {
    const started = Promise.withResolvers<AbortSignal | undefined>();
    using hub = startTestServer(transport, { doctor: { tryAgents: ({ signal }) => (started.resolve(signal), new Promise(() => {})) } });
    const { api } = await hub.connect();
    const stop = new AbortController();
    const trial = api.doctor.tryAgents({ signal: stop.signal, onProgress: () => {} }).catch((error: unknown) => error);
    const serverSignal = (await started.promise)!;
    expect(serverSignal.aborted).toBe(false);
    stop.abort();
    expect(await trial).toBeInstanceOf(Fault);
    while (!serverSignal.aborted) await Bun.sleep(1);
    await api.close();
  });

  test("a request fails if its Api can't be created, and the next request tries again", async () => {
    let isBroken = true;
    using hub = startTestServer(
      transport,
      {},
      {
        apiFor: () => {
          if (isBroken) throw new Fault("config", "the configuration is broken");
          return { session: { current: async () => session }, close: async () => {} } as never;
        },
      },
    );
    const { api } = await hub.connect();
    await expect(api.session.current({ directory: "/x" })).rejects.toMatchObject({ code: "config" });
    isBroken = false;
    expect(await api.session.current({ directory: "/x" })).toEqual(session);
    await api.close();
  });

  test("a request that is refused for now is not started", async () => {
    using hub = startTestServer(
      transport,
      {},
      { refuse: (method) => (method === "bash.execute" ? new Fault("hub-unreachable", "it is stopping") : null) },
    );
    const { api } = await hub.connect();
    const feed = Array.fromAsync(
      api.bash.execute({ session: "s", command: "true", timeoutMs: null, policy: { name: "workspace" } as never }),
    );
    await expect(feed).rejects.toMatchObject({ code: "hub-unreachable", message: "it is stopping" });
    await api.close();
  });

  test("a feed is not read further ahead than its credit, and loses nothing", async () => {
    let pulled = 0;
    async function* watch() {
      for (let seq = 1; seq <= 5000; seq += 1) {
        pulled = seq;
        yield durableEvent(seq, "x".repeat(100));
      }
    }
    using hub = startTestServer(transport, { turn: { watch }, session: { current: async () => session } });
    const { api } = await hub.connect();
    const feed = api.turn.watch({ session: "s", afterSeq: 0, until: "idle" });
    const reader = feed[Symbol.asyncIterator]();
    expect(await reader.next()).toMatchObject({ value: { seq: 1 } });
    // Other requests are answered while the feed waits.
    for (let round = 0; round < 50; round += 1) await api.session.current({ directory: "/x" });
    expect(pulled).toBeLessThanOrEqual(2 * 256);
    const laterSeqs: number[] = [];
    for (let next = await reader.next(); !next.done; next = await reader.next()) laterSeqs.push(next.value.seq);
    expect(laterSeqs).toEqual(Array.from({ length: 4999 }, (_, at) => at + 2));
    await api.close();
  });
});

test("an environment is accepted only over the private socket and stored only in memory", async () => {
  const env = { ANTHROPIC_API_KEY: "key", PATH: "/bin" };
  using unix = startTestServer("unix", { session: { current: async () => null } });
  const { api } = await unix.connect({ env });
  await api.session.current({ directory: "/x" });
  expect(unix.hellos[0]?.env).toEqual(env);
  await api.close();
  using web = startTestServer("web", {});
  await expect(web.connect({ env })).rejects.toMatchObject({ code: "usage", message: "env is accepted over the unix socket only" });
});

test("two servers in one process are independent", async () => {
  using unix = startTestServer("unix", { session: { current: async () => session } });
  using web = startTestServer("web", { session: { current: async () => null } });
  const [first, second] = await Promise.all([unix.connect(), web.connect()]);
  expect(await first.api.session.current({ directory: "/x" })).toEqual(session);
  expect(await second.api.session.current({ directory: "/x" })).toBeNull();
  await Promise.all([first.api.close(), second.api.close()]);
});
