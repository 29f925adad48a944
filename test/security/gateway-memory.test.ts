// A hostile agent tries to fill the memory of skein, which is outside of the sandbox and of its limits: with a small request that
// becomes large when it is parsed, and with large requests that never end.
import { afterEach, expect, test } from "bun:test";
import { zstdCompressSync } from "node:zlib";
import { ask, clients, startGatewayFixture, stopAll } from "../../src/agents/external/fixtures/vendor-clients.ts";

afterEach(stopAll);

const { anthropic } = clients;
const megabyte = new Uint8Array(1 << 20).fill(0x20);

test.each([
  ["empty lists", "[],", ""],
  ["empty objects", "{},", ""],
  ["numbers", "1,", ""],
  ["what looks like a string", "[],", '"\\\\":'],
])(
  "a compressed request with millions of %s is refused before it is parsed",
  async (_, value, before) => {
    const { gateway, server } = startGatewayFixture();
    const open = JSON.stringify(anthropic.body(true)).slice(0, -1);
    const body = `${open},"x":[${before === "" ? "" : `{${before}1},`}${value.repeat(5_000_000)}1]}`;
    const memory = process.memoryUsage.rss();
    const answer = await ask(gateway, "anthropic", {
      init: {
        headers: { ...anthropic.auth(gateway.token), "content-encoding": "zstd" },
        body: new Uint8Array(zstdCompressSync(body)),
      },
    });
    expect([answer.status, await answer.text()]).toEqual([413, expect.stringContaining("values")]);
    expect(process.memoryUsage.rss() - memory).toBeLessThan(300 << 20);
    expect(server.requests).toEqual([]);
  },
  60_000,
);

test("requests that never end hold a bounded part of the memory, and others work again when they are gone", async () => {
  const { gateway } = startGatewayFixture();
  const leave = new AbortController();
  const settled: number[] = [];
  let sent = 0;
  const unended = () => {
    let count = 0;
    const body = new ReadableStream<Uint8Array>({
      async pull(controller) {
        if (count >= 60) return new Promise(() => {});
        count += 1;
        sent += 1;
        controller.enqueue(megabyte);
      },
    });
    const init = { headers: anthropic.auth(gateway.token), body, signal: leave.signal };
    return ask(gateway, "anthropic", { init }).then(({ status }) => settled.push(status));
  };
  const requests = Array.from({ length: 6 }, () => unended().catch(() => null));
  while (settled.length < 2) await Bun.sleep(10);
  expect(settled.every((status) => status === 503)).toBe(true);
  leave.abort();
  await Promise.all(requests);
  expect(sent).toBeGreaterThan(200);
  const retry = async (): Promise<number> => {
    const { status } = await ask(gateway, "anthropic", {
      init: { body: JSON.stringify({ ...anthropic.body(true), system: "x".repeat(50 << 20) }) },
    });
    return status === 503 ? Bun.sleep(20).then(retry) : status;
  };
  expect(await retry()).toBe(200);
}, 60_000);
