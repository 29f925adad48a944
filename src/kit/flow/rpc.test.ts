// Connects two ends directly, and tests how each handles the messages of the other.
import { describe, expect, test } from "bun:test";
import { noMethod, Rpc, rpcCodes, rpcFailure, type RpcOptions } from "./rpc.ts";

/** Two connected ends, and all frames that were sent. */
function pair(left: Partial<RpcOptions> = {}, right: Partial<RpcOptions> = {}): { left: Rpc; right: Rpc; sent: string[] } {
  const sent: string[] = [];
  const ends: { left: Rpc; right: Rpc } = {
    left: new Rpc({ ...left, send: (frame) => (sent.push(frame), ends.right.receive(frame)) }),
    right: new Rpc({ ...right, send: (frame) => (sent.push(frame), ends.left.receive(frame)) }),
  };
  return { ...ends, sent };
}

describe("requests", () => {
  test("requests go in both directions and get their own answers, in any order", async () => {
    const slow = Promise.withResolvers<void>();
    const answer: RpcOptions["onRequest"] = async (method, params) => {
      if (method === "slow") await slow.promise;
      return { ok: true, result: [method, params] };
    };
    const { left, right } = pair({ onRequest: answer }, { onRequest: answer });
    const first = left.request("slow", 1);
    expect(await left.request("fast", 2)).toEqual({ ok: true, result: ["fast", 2] });
    expect(await right.request("back", { a: 1 })).toEqual({ ok: true, result: ["back", { a: 1 }] });
    slow.resolve();
    expect(await first).toEqual({ ok: true, result: ["slow", 1] });
  });

  test("requests that are unknown, fail or throw are answered with an error", async () => {
    const { left, right } = pair(
      {},
      {
        onRequest: (method) => {
          if (method === "throws") throw new Error("it broke");
          return method === "fails" ? rpcFailure(7, "no", { why: "x" }) : noMethod(method);
        },
      },
    );
    expect(await right.request("any", {})).toEqual(rpcFailure(rpcCodes.noMethod, "there is no method any"));
    expect(await left.request("other", {})).toEqual(rpcFailure(rpcCodes.noMethod, "there is no method other"));
    expect(await left.request("fails", {})).toEqual(rpcFailure(7, "no", { why: "x" }));
    expect(await left.request("throws", {})).toEqual(rpcFailure(rpcCodes.internal, "it broke"));
  });

  test("pending requests fail when the connection is closed, and later ones are not sent", async () => {
    const rpc = new Rpc({ send: () => {} });
    const waiting = rpc.request("one", {});
    rpc.close("it is gone");
    expect(await waiting).toEqual(rpcFailure(rpcCodes.closed, "it is gone"));
    expect(await rpc.request("two", {})).toEqual(rpcFailure(rpcCodes.closed, "it is gone"));
    expect([rpc.notify("three", {}), rpc.receive('{"jsonrpc":"2.0","method":"x"}')]).toEqual([false, false]);
  });

  test("requests above the limit of running requests are refused", async () => {
    const never = Promise.withResolvers<never>();
    const { left } = pair({}, { maxRunning: 1, onRequest: () => never.promise });
    void left.request("one", {});
    expect(await left.request("two", {})).toEqual(rpcFailure(rpcCodes.tooMany, "too many requests at once"));
  });
});

describe("cancellation", () => {
  test("a cancelled request settles here, stops the work there and gets no second answer", async () => {
    const cancel = { method: "$/cancel", field: "id" };
    const stopped = Promise.withResolvers<string>();
    const onRequest: RpcOptions["onRequest"] = (_, __, signal) =>
      new Promise((resolve) =>
        signal.addEventListener("abort", () => {
          stopped.resolve("stopped");
          resolve({ ok: true, result: 1 });
        }),
      );
    const { left, sent } = pair({ cancel }, { cancel, onRequest });
    const stop = new AbortController();
    const waiting = left.request("work", {}, stop.signal);
    stop.abort();
    expect(await waiting).toEqual(rpcFailure(rpcCodes.cancelled, "cancelled"));
    expect(await stopped.promise).toBe("stopped");
    await Bun.sleep(0);
    expect(sent.map((frame) => JSON.parse(frame) as unknown)).toEqual([
      { jsonrpc: "2.0", id: 1, method: "work", params: {} },
      { jsonrpc: "2.0", method: "$/cancel", params: { id: 1 } },
      { jsonrpc: "2.0", id: 1, error: { code: rpcCodes.cancelled, message: "cancelled" } },
    ]);
  });

  test("onUnsent is called if a request is cancelled before its answer is sent", async () => {
    const cancel = { method: "$/cancel", field: "id" };
    const drained = Promise.withResolvers<void>();
    let whenDrained: Promise<void> | null = null;
    const log: string[] = [];
    const onRequest: RpcOptions["onRequest"] = () => {
      whenDrained = drained.promise.then(() => void (whenDrained = null));
      return { ok: true, result: { feed: 1 }, onSent: () => log.push("sent"), onUnsent: () => log.push("unsent") };
    };
    const { left } = pair({ cancel }, { cancel, onRequest, whenWritable: () => whenDrained });
    const stop = new AbortController();
    const waiting = left.request("watch", {}, stop.signal);
    await Promise.resolve();
    stop.abort();
    drained.resolve();
    expect(await waiting).toEqual(rpcFailure(rpcCodes.cancelled, "cancelled"));
    expect(await left.request("watch", {})).toMatchObject({ ok: true });
    expect(log).toEqual(["unsent", "sent"]);
  });

  test("a request with an aborted signal is not sent", async () => {
    const { left, sent } = pair();
    expect(await left.request("work", {}, AbortSignal.abort())).toMatchObject({ ok: false });
    expect(sent).toEqual([]);
  });
});

describe("frames", () => {
  test.each([
    ["not JSON", "{", rpcCodes.parse],
    ["a batch", "[]", rpcCodes.invalid],
    ["a number", "7", rpcCodes.invalid],
    ["neither a request nor an answer", '{"id":1}', rpcCodes.invalid],
    ["a message with an invalid id", '{"id":{},"method":"x"}', rpcCodes.invalid],
    ["too large", JSON.stringify({ method: "x".repeat(200) }), rpcCodes.tooLarge],
  ])("a frame is refused if it is %s", (_, frame, code) => {
    const sent: string[] = [];
    const rpc = new Rpc({ send: (text) => sent.push(text), maxFrame: 150 });
    expect(rpc.receive(frame)).toBe(false);
    expect(sent.map((text) => JSON.parse(text) as unknown)).toMatchObject([{ id: null, error: { code } }]);
  });

  test("frames that are too large are not sent, and the caller gets an error", async () => {
    const { left } = pair({ maxFrame: 120 }, { maxFrame: 120, onRequest: () => ({ ok: true, result: "y".repeat(200) }) });
    expect(await left.request("x".repeat(200), {})).toMatchObject({ ok: false, error: { code: rpcCodes.tooLarge } });
    expect(await left.request("small", {})).toMatchObject({ ok: false, error: { code: rpcCodes.tooLarge } });
    expect(left.notify("x".repeat(200), {})).toBe(false);
  });

  test("an answer without a request is ignored, and an error of unusual form stays an error", async () => {
    const { left } = pair();
    expect(left.receive('{"jsonrpc":"2.0","id":99,"result":1}')).toBe(true);
    const rpc = new Rpc({ send: () => {} });
    const waiting = rpc.request("a", {});
    rpc.receive('{"id":1,"error":"broken"}');
    expect(await waiting).toEqual(rpcFailure(rpcCodes.internal, "broken"));
  });

  test("notifications are passed to the listener", () => {
    const notifications: unknown[] = [];
    const { left } = pair({}, { onNotification: (method, params) => notifications.push([method, params]) });
    left.notify("hello", { a: 1 });
    expect(notifications).toEqual([["hello", { a: 1 }]]);
  });
});
