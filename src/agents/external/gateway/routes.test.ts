import { afterEach, describe, expect, test } from "bun:test";
import { fstatSync, mkdtempSync, openSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startModelServer } from "../../../scripted-model/model-server.ts";
import type { Gateway } from "./gateway.ts";
import { startGatewayFixture, ask, clients, endpoints, gatewayTo, key, open, stopAll, wires } from "../fixtures/vendor-clients.ts";

afterEach(stopAll);

describe("the gateway as a wall", () => {
  test("only the vendors' own paths lead anywhere", async () => {
    const { gateway, server } = startGatewayFixture();
    const authorization = `Bearer ${gateway.token}`;
    const attempts = [
      "GET /v1/files",
      "POST /v1/batches",
      "DELETE /v1/models/x",
      "GET /v1/messages",
      "POST /v1/messages/../files",
      "POST //v1/messages",
    ];
    attempts.push(
      "POST /v1beta/models/x%2F..:generateContent",
      "POST /v1beta/cachedContents",
      "GET http://169.254.169.254/latest",
      "POST /v1/messages/",
    );
    for (const attempt of attempts) {
      const [method, path] = attempt.split(" ") as [string, string];
      const answer = await rawRequest(
        gateway,
        `${method} ${path} HTTP/1.1\r\nHost: elsewhere\r\nAuthorization: ${authorization}\r\nConnection: close\r\n\r\n`,
      );
      expect([attempt, /^HTTP\/1.1 (\d+)/.exec(answer)?.[1]]).toEqual([attempt, "404"]);
    }
    const root = await fetch(gateway.url!, { method: "HEAD" });
    expect([root.status, server.requests.length]).toEqual([200, 0]);
  });

  test("a wire without a vendor in this turn is closed", async () => {
    const { gateway, server } = startGatewayFixture({ vendors: () => null });
    for (const wire of wires) expect((await ask(gateway, wire)).status).toBe(404);
    expect(server.requests).toEqual([]);
  });

  test("redirects are not followed and not passed on", async () => {
    const elsewhere = startModelServer({ steps: [], final: "x" });
    open.push({ stop: () => elsewhere.stop() });
    const vendor = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => Response.redirect(`${elsewhere.url}/v1/messages`, 307) });
    open.push({ stop: () => vendor.stop(true) });
    const { gateway, metered } = gatewayTo(`http://127.0.0.1:${vendor.port}`);
    const answer = await ask(gateway, "anthropic", { init: { redirect: "manual" } });
    expect([answer.status, answer.headers.get("location"), elsewhere.requests.length]).toEqual([502, null, 0]);
    expect(metered[0]?.status).toBe(307);
  });

  test("the token is taken from wherever a client puts it, and goes no further", async () => {
    const { gateway, server } = startGatewayFixture();
    const send = (path: string, headers: Record<string, string> = {}) =>
      fetch(gateway.url + path, { method: "POST", headers: { ...headers, cookie: "a=b", te: "trailers" }, body: "{}" });
    const { token } = gateway;
    const statuses = [
      (await send(`/v1beta/models/m:countTokens?key=${token}&x=1`)).status,
      (await send("/v1/messages/count_tokens", { authorization: `Bearer ${token}` })).status,
      (await send("/v1/messages/count_tokens", { "x-api-key": token, "x-goog-api-key": "other" })).status,
    ];
    expect(statuses).toEqual([200, 200, 200]);
    const seen = JSON.stringify(server.requests);
    for (const word of [token, "a=b", "trailers", "other"]) expect(seen).not.toContain(word);
    expect(server.requests[0]?.headers["x-goog-api-key"]).toBe(key);
  });

  test("counting tokens and listing models cost nothing, and are on the record", async () => {
    const { gateway, metered } = startGatewayFixture();
    const get = (path: string, headers: Record<string, string>) => fetch(gateway.url + path, { headers });
    await (await get("/v1/models", { "x-api-key": gateway.token, "anthropic-version": "x" })).text();
    await (await get("/v1/models", { authorization: `Bearer ${gateway.token}` })).text();
    await (await get("/v1beta/models", { "x-goog-api-key": gateway.token })).text();
    await gateway.close();
    expect(metered.map(({ wire, kind, costUsd, note }) => [wire, kind, costUsd, note])).toEqual([
      ["anthropic", "list", 0, null],
      ["openai-responses", "list", 0, null],
      ["gemini", "list", 0, null],
    ]);
  });

  test("a vendor's own bearer and headers replace the CLI's", async () => {
    const bearer = { ...endpoints("").anthropic, headers: { authorization: `Bearer ${key}`, "x-team": "red" } };
    const { server } = startGatewayFixture();
    const { gateway } = gatewayTo("", { vendors: () => ({ ...bearer, baseUrl: `${server.url}/v1/` }) });
    await ask(gateway, "anthropic");
    const { headers } = server.requests[0]!;
    expect([headers["authorization"], headers["x-api-key"], headers["x-team"]]).toEqual([`Bearer ${key}`, undefined, "red"]);
  });

  test("a unix socket is ours alone and goes with the gateway", async () => {
    const folder = mkdtempSync(join(tmpdir(), "skein-gateway-"));
    open.push({ stop: () => rmSync(folder, { recursive: true }) });
    const unix = join(folder, "g");
    const { gateway } = startGatewayFixture({ listen: { unix } });
    expect([gateway.url, statSync(unix).mode & 0o777]).toEqual([null, 0o600]);
    const { anthropic } = clients;
    const answer = await fetch("http://gateway/v1/messages", {
      unix,
      method: "POST",
      headers: anthropic.auth(gateway.token),
      body: JSON.stringify(anthropic.body(true)),
    });
    expect(await answer.text()).toContain("Hello");
    await gateway.close();
    expect(statSync(unix, { throwIfNoEntry: false })).toBeUndefined();
    const late = openSync("/dev/null", "r");
    await gateway.serve(late);
    expect(() => fstatSync(late)).toThrow("EBADF");
  });
});

async function rawRequest(gateway: Gateway, text: string): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  let got = "";
  await Bun.connect({
    hostname: "127.0.0.1",
    port: Number(new URL(gateway.url!).port),
    socket: {
      open: (socket) => void socket.write(text),
      data: (_socket, data) => void (got += data.toString()),
      close: () => resolve(got),
    },
  });
  return promise;
}
