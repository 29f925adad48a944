import { afterEach, describe, expect, test } from "bun:test";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { startGatewayFixture, ask, clients, gatewayTo, open, serveStream, stopAll, usage, wires } from "../fixtures/vendor-clients.ts";

afterEach(stopAll);

describe("meter", () => {
  test("an answer that can't be parsed is forwarded, and its cost is unknown", async () => {
    const bodies = ["event: x\ndata: {no json\n\n", `data: {"usage":"none"}\n\ndata: [1,2]\n\n`, "", `data: ${"x".repeat(20_000_000)}\n\n`];
    for (const body of bodies) {
      const vendor = serveStream(async function* () {
        yield body;
      });
      const { gateway, metered } = gatewayTo(vendor.url);
      for (const wire of wires) expect(await (await ask(gateway, wire)).text()).toBe(body);
      await gateway.close();
      expect(metered.map(({ costUsd }) => costUsd)).toEqual(wires.map(() => null));
    }
  });

  test("an answer that is compressed without being asked for is unpacked", async () => {
    const body = JSON.stringify({ usage: { input_tokens: 5, output_tokens: 6 } });
    const headers = { "content-encoding": "gzip", "content-type": "application/json" };
    const vendor = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response(gzipSync(body), { headers }) });
    open.push({ stop: () => vendor.stop(true) });
    const { gateway } = gatewayTo(`http://127.0.0.1:${vendor.port}`);
    const answer = await ask(gateway, "anthropic", { stream: false });
    expect([await answer.text(), answer.headers.get("content-encoding")]).toEqual([body, null]);
    expect(gateway.spent().usage).toEqual({ input: 5, output: 6, cacheRead: 0, cacheWrite: 0 });
  });

  test("a compressed request is unpacked, and a too large one is refused", async () => {
    const { gateway, server } = startGatewayFixture();
    const { anthropic } = clients;
    const send = (body: Uint8Array<ArrayBuffer>, encoding: string) =>
      fetch(`${gateway.url}/v1/messages`, {
        method: "POST",
        headers: { ...anthropic.auth(gateway.token), "content-encoding": encoding },
        body,
      });
    const body = JSON.stringify(anthropic.body(true));
    expect((await send(new Uint8Array(gzipSync(body)), "gzip")).status).toBe(200);
    expect((await send(new Uint8Array(zstdCompressSync(body)), "zstd")).status).toBe(200);
    expect(server.requests.map(({ text }) => text)).toEqual([body, body]);
    expect((await send(new Uint8Array(gzipSync(Buffer.alloc(65 * 1024 * 1024))), "gzip")).status).toBe(413);
    expect((await send(new Uint8Array(65 * 1024 * 1024), "identity")).status).toBe(413);
    expect((await send(new Uint8Array(3), "br")).status).toBe(413);
    expect(server.requests.length).toBe(2);
  });

  test("a Chat Completions request asks for usage, unless the client has set the option", async () => {
    const { gateway, server } = startGatewayFixture();
    await ask(gateway, "openai-chat");
    expect(server.requests[0]?.body).toMatchObject({ stream_options: { include_usage: true } });
    const body = { ...clients["openai-chat"].body(true), stream_options: { include_usage: false } };
    await ask(gateway, "openai-chat", { init: { body: JSON.stringify(body) } });
    expect(server.requests[1]?.body).toMatchObject({ stream_options: { include_usage: false } });
  });

  test("a model without a price makes the total cost unknown", async () => {
    const { gateway } = startGatewayFixture();
    const body = { ...clients.anthropic.body(true), model: "unknown" };
    await (await ask(gateway, "anthropic", { init: { body: JSON.stringify(body) } })).text();
    expect(gateway.spent()).toEqual({ usage, costUsd: null });
  });
});
