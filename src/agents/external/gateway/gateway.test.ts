import { afterEach, describe, expect, test } from "bun:test";
import type { TurnError } from "../../../protocol/api/error.ts";
import type { Spent } from "../../../protocol/tree/usage.ts";
import {
  startGatewayFixture,
  ask,
  clients,
  endpoints,
  gatewayTo,
  key,
  serveStream,
  stopAll,
  usage,
  wires,
} from "../fixtures/vendor-clients.ts";

afterEach(stopAll);

describe("gateway", () => {
  for (const wire of wires) {
    for (const stream of [true, false]) {
      test(`${wire}${stream ? " with a stream" : ""}: a request gets the real key, and its answer is forwarded and counted`, async () => {
        const { gateway, server, metered } = startGatewayFixture();
        const through = await ask(gateway, wire, { stream });
        const text = await through.text();
        expect({ status: through.status, hasText: text.includes("Hello") }).toEqual({ status: 200, hasText: true });
        const { headers, text: sent, path } = server.requests[0]!;
        expect(clients[wire].realKey(headers)).toBe(key);
        expect(JSON.stringify([headers, sent, path])).not.toContain(gateway.token);
        expect(text + JSON.stringify([...through.headers])).not.toContain(key);
        await gateway.close();
        const { model } = { model: "gemini-3-pro-preview", ...clients[wire].body(stream) };
        expect(metered).toMatchObject([{ wire, kind: "answer", model, status: 200, usage, costUsd: 0.12, error: null }]);
        expect(gateway.spent()).toEqual({ usage, costUsd: 0.12 });
      });
    }

    test(`${wire}: a request with a wrong token is refused in the vendor's format and not forwarded`, async () => {
      const { gateway, server, metered } = startGatewayFixture();
      for (const token of ["", "sk-skein-wrong", gateway.token.slice(0, -1)]) {
        const answer = await ask(gateway, wire, { token });
        const [type, message] = clients[wire].error((await answer.json()) as never);
        expect([answer.status, type]).toEqual([401, wire === "gemini" ? "UNAUTHENTICATED" : "authentication_error"]);
        expect(message).toBe("skein: the token does not belong to this turn");
      }
      expect([server.requests.length, metered.length]).toEqual([0, 0]);
    });

    test(`${wire}: a request over the budget is refused in the vendor's format, and recorded`, async () => {
      const refusal: TurnError = { kind: "budget", limit: "money", message: "the budget is used up: $0.1200 of $0.1" };
      let costUsd = 0;
      const settle = (spent: Spent) => (costUsd += spent.costUsd ?? 0);
      const { gateway, server, metered } = startGatewayFixture({ reserve: async () => (costUsd >= 0.1 ? refusal : settle) });
      await (await ask(gateway, wire)).text();
      const answer = await ask(gateway, wire);
      const [type, message] = clients[wire].error((await answer.json()) as never);
      expect([answer.status, type]).toEqual([400, wire === "gemini" ? "INVALID_ARGUMENT" : "invalid_request_error"]);
      // A CLI that looks for status codes in messages must not find one.
      expect(message).toBe("skein: this turn's budget is used up");
      expect(answer.headers.get("x-should-retry")).toBe("false");
      expect(server.requests.length).toBe(1);
      expect(metered[1]).toMatchObject({ error: refusal, status: null, costUsd: 0 });
    });

    test(`${wire}: an unreachable vendor is a 502 that names the vendor`, async () => {
      const closedServer = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
      closedServer.stop(true);
      const { gateway, metered } = gatewayTo(`http://127.0.0.1:${closedServer.port}`);
      const answer = await ask(gateway, wire);
      const [, message] = clients[wire].error((await answer.json()) as never);
      expect(answer.status).toBe(502);
      expect(message).toStartWith(`skein: ${endpoints("")[wire].vendor}: `);
      expect(message).not.toContain(key);
      expect(metered).toMatchObject([{ status: null, error: { kind: "network" }, costUsd: 0 }]);
    });
  }

  test("a limit that ends in hours is forwarded as final, and its third refusal in a row ends the turn", async () => {
    const limits: TurnError[] = [];
    const { gateway, server } = startGatewayFixture({ onRepeatedLimit: (error) => limits.push(error) });
    const askOnce = async (retryAfter: string | null) => {
      server.setFault(retryAfter === null ? null : { type: "status", status: 429, message: "limit reached", retryAfter });
      const { headers } = await ask(gateway, "anthropic");
      return [headers.get("retry-after"), headers.get("x-should-retry"), limits.length];
    };
    expect(await askOnce("7200")).toEqual([null, "false", 0]);
    expect(await askOnce("7200")).toEqual([null, "false", 0]);
    await askOnce(null);
    expect(await askOnce("30")).toEqual(["30", null, 0]);
    for (const count of [0, 0, 1]) expect(await askOnce("7200")).toEqual([null, "false", count]);
    expect(limits[0]).toMatchObject({ kind: "rate-limited", resetAt: expect.any(Number) });
  });

  test("errors of the vendor are forwarded and classified, and a key that they quote is removed", async () => {
    const { gateway, server, metered } = startGatewayFixture();
    for (const [status, kind] of [
      [401, "auth"],
      [429, "rate-limited"],
      [500, "overloaded"],
    ] as const) {
      server.setFault({ type: "status", status, message: `no: ${status} for ${key}`, retryAfter: "7" });
      for (const wire of wires) {
        const answer = await ask(gateway, wire);
        expect([answer.status, answer.headers.get("retry-after")]).toEqual([status, "7"]);
        expect(clients[wire].error((await answer.json()) as never)[1]).toBe(`no: ${status} for [key]`);
        expect(metered.at(-1)).toMatchObject({ status, costUsd: 0, error: { kind } });
        expect(JSON.stringify(metered)).not.toContain(key);
      }
    }
  });

  test("an error within a stream and a dropped connection reach the client and are recorded", async () => {
    const { gateway, server, metered } = startGatewayFixture();
    for (const wire of wires) {
      server.setFault({ type: "error-event", message: "too busy" });
      expect(await (await ask(gateway, wire)).text()).toContain("too busy");
      expect(metered.at(-1)).toMatchObject({ status: 200, error: { kind: expect.any(String) as string } });
      server.setFault({ type: "drop", afterEvents: 1 });
      await expect(ask(gateway, wire).then((answer) => answer.text())).rejects.toThrow();
      expect(metered.at(-1)).toMatchObject({ status: 200, error: { kind: "network" } });
    }
  });

  test("each chunk is forwarded at once", async () => {
    const steps: (() => void)[] = [];
    const vendor = serveStream(async function* () {
      for (const event of ["message_start", "content_block_delta"]) {
        yield `event: ${event}\ndata: {"type":"${event}"}\n\n`;
        await new Promise<void>((resolve) => steps.push(resolve));
      }
    });
    const { gateway } = gatewayTo(vendor.url);
    const reader = (await ask(gateway, "anthropic")).body!.getReader();
    const next = async () => new TextDecoder().decode((await reader.read()).value);
    expect(await next()).toContain("message_start");
    steps.shift()!();
    expect(await next()).toContain("content_block_delta");
    steps.shift()!();
    expect((await reader.read()).done).toBe(true);
  });

  test("a client that disconnects cancels the vendor's request, and the usage until then is counted", async () => {
    const { gateway, server, metered } = startGatewayFixture();
    server.setFault({ type: "stall", afterEvents: 3 });
    const disconnect = new AbortController();
    const answer = await ask(gateway, "anthropic", { init: { signal: disconnect.signal } });
    await answer.body!.getReader().read();
    disconnect.abort();
    while (metered.length === 0) await Bun.sleep(5);
    expect(metered).toMatchObject([{ error: { kind: "cancelled" }, usage: { input: 100, output: 1, cacheRead: 30 } }]);
  });

  for (const wire of wires) {
    test(`${wire}: a client that disconnects after the last event got a complete answer`, async () => {
      const { server } = startGatewayFixture();
      const body = await (
        await fetch(server.url + clients[wire].path(true), { method: "POST", body: JSON.stringify(clients[wire].body(true)) })
      ).text();
      const vendor = serveStream(async function* () {
        yield body;
        await new Promise(() => {});
      });
      const { gateway, metered } = gatewayTo(vendor.url);
      const disconnect = new AbortController();
      await (await ask(gateway, wire, { init: { signal: disconnect.signal } })).body!.getReader().read();
      disconnect.abort();
      while (metered.length === 0) await Bun.sleep(5);
      expect(metered).toMatchObject([{ status: 200, error: null }]);
    });
  }

  test("an error in the budget or the price ends that request, not the gateway", async () => {
    const isLast = { now: false };
    const { gateway, metered } = startGatewayFixture({
      reserve: async () => {
        if (isLast.now) throw new Error("no idea");
        return () => {};
      },
      price: () => Promise.reject(new Error("no price")),
    });
    expect(await (await ask(gateway, "anthropic")).text()).toContain("Hello");
    isLast.now = true;
    expect((await ask(gateway, "anthropic")).status).toBe(502);
    await gateway.close();
    expect(metered.map(({ costUsd, error }) => [costUsd, error?.kind])).toEqual([
      [null, undefined],
      [0, "broken"],
    ]);
  });

  test("close interrupts running requests, read or not, and counts them", async () => {
    const { gateway, server, metered } = startGatewayFixture();
    server.setFault({ type: "stall", afterEvents: 1 });
    await ask(gateway, "openai-responses");
    await ask(gateway, "gemini");
    await gateway.close();
    expect(metered.map(({ error }) => error?.kind)).toEqual(["cancelled", "cancelled"]);
    await expect(ask(gateway, "anthropic")).rejects.toThrow();
  });

  test("a reservation is settled once with the counted usage, also for an interrupted answer", async () => {
    const limits: (number | null)[] = [];
    const settled: Spent[] = [];
    const { gateway, server } = startGatewayFixture({
      reserve: async (request) => {
        limits.push(request.outputLimit);
        return (spent) => settled.push(spent);
      },
    });
    await (await ask(gateway, "anthropic")).text();
    server.setFault({ type: "stall", afterEvents: 3 });
    await (await ask(gateway, "gemini")).body!.getReader().read();
    expect([limits, settled]).toEqual([[null, null], [{ usage, costUsd: 0.12 }]]);
    await gateway.close();
    expect(settled).toHaveLength(2);
  });
});
