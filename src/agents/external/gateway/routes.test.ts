import { afterEach, describe, expect, test } from "bun:test";
import { fstatSync, openSync } from "node:fs";
import { startModelServer } from "../../../scripted-model/model-server.ts";
import type { Gateway } from "./gateway.ts";
import { startGatewayFixture, ask, endpoints, gatewayTo, key, open, stopAll, wires } from "../fixtures/vendor-clients.ts";

afterEach(stopAll);

describe("gateway routes", () => {
  test("a path that is not in the table is a 404", async () => {
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
    const root = await fetch(gateway.url, { method: "HEAD" });
    expect([root.status, server.requests.length]).toEqual([200, 0]);
  });

  test("a request on a wire without a vendor is a 404", async () => {
    const { gateway, server } = startGatewayFixture({ endpoints: [] });
    for (const wire of wires) expect((await ask(gateway, wire)).status).toBe(404);
    expect(server.requests).toEqual([]);
  });

  test("a redirect is neither followed nor forwarded", async () => {
    const elsewhere = startModelServer({ steps: [], final: "x" });
    open.push({ stop: () => elsewhere.stop() });
    const vendor = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => Response.redirect(`${elsewhere.url}/v1/messages`, 307) });
    open.push({ stop: () => vendor.stop(true) });
    const { gateway, metered } = gatewayTo(`http://127.0.0.1:${vendor.port}`);
    const answer = await ask(gateway, "anthropic", { init: { redirect: "manual" } });
    expect([answer.status, answer.headers.get("location"), elsewhere.requests.length]).toEqual([502, null, 0]);
    expect(metered[0]?.status).toBe(307);
  });

  test("the token is accepted in every vendor's header, and never forwarded", async () => {
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
    const forwarded = JSON.stringify(server.requests);
    for (const word of [token, "a=b", "trailers", "other"]) expect(forwarded).not.toContain(word);
    expect(server.requests[0]?.headers["x-goog-api-key"]).toBe(key);
  });

  test("counting tokens and listing models are recorded and cost nothing", async () => {
    const { gateway, metered } = startGatewayFixture();
    const get = (path: string, headers: Record<string, string>) => fetch(gateway.url + path, { headers });
    await (await get("/v1/models", { "x-api-key": gateway.token, "anthropic-version": "x" })).text();
    await (await get("/v1/models", { authorization: `Bearer ${gateway.token}` })).text();
    await (await get("/v1beta/models", { "x-goog-api-key": gateway.token })).text();
    await gateway.close();
    expect(metered.map(({ wire, kind, costUsd }) => [wire, kind, costUsd])).toEqual([
      ["anthropic", "list", 0],
      ["openai-responses", "list", 0],
      ["gemini", "list", 0],
    ]);
  });

  test("the configured bearer token and headers replace those of the CLI", async () => {
    const bearer = { ...endpoints("").anthropic, headers: { authorization: `Bearer ${key}`, "x-team": "red" } };
    const { server } = startGatewayFixture();
    const { gateway } = gatewayTo("", { endpoints: [{ ...bearer, baseUrl: `${server.url}/v1/` }] });
    await ask(gateway, "anthropic");
    const { headers } = server.requests[0]!;
    expect([headers["authorization"], headers["x-api-key"], headers["x-team"]]).toEqual([`Bearer ${key}`, undefined, "red"]);
  });

  test("a closed gateway closes a socket that it should serve", async () => {
    const { gateway } = startGatewayFixture();
    await gateway.close();
    const late = openSync("/dev/null", "r");
    await gateway.listen({ fd: late });
    expect(() => fstatSync(late)).toThrow("EBADF");
  });
});

async function rawRequest(gateway: Gateway, text: string): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  let received = "";
  await Bun.connect({
    hostname: "127.0.0.1",
    port: Number(new URL(gateway.url).port),
    socket: {
      open: (socket) => void socket.write(text),
      data: (_socket, data) => void (received += data.toString()),
      close: () => resolve(received),
    },
  });
  return promise;
}
