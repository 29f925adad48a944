// Requests as no browser sends them, byte by byte, to the page of `skein web`: each is refused, and the server goes on.
import { expect, test } from "bun:test";
import { connect } from "node:net";
import { webOpened } from "../../src/protocol/fixtures/printed-schemas.ts";
import { temporaryHome } from "../support/temporary-home.ts";

/** Sends the bytes and resolves with the status lines of all answers. A server may reset a connection after its answer. */
function statusesOf(port: number, bytes: string): Promise<string[]> {
  return new Promise((resolve) => {
    let received = "";
    const socket = connect(port, "127.0.0.1", () => socket.write(bytes));
    socket.on("data", (chunk) => {
      received += chunk.toString("latin1");
      if (received.includes("\r\n\r\n")) socket.end();
    });
    socket.on("close", () => resolve(received.match(/^HTTP\/1\.1 \d+/gm)?.map((line) => line.slice(9)) ?? []));
    socket.on("error", () => socket.destroy());
  });
}

test("requests with forged hosts, origins, paths, bodies and upgrades are refused, also with a stolen cookie", async () => {
  using skein = temporaryHome();
  const page = webOpened.parse((await skein.run(["web", "--json"])).json());
  const { port } = page;
  try {
    const origin = `http://127.0.0.1:${port}`;
    const code = new URLSearchParams(new URL(page.login_url).hash.slice(1)).get("login")!;
    const response = await fetch(`${origin}/login`, { method: "POST", body: JSON.stringify({ code }), headers: { Origin: origin } });
    const { key } = (await response.json()) as { key: string };
    const cookie = `Cookie: ${response.headers.get("set-cookie")!.split(";")[0]!}`;
    const host = `Host: 127.0.0.1:${port}`;
    const own = `Origin: ${origin}`;
    const upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==";
    const withKey = `${upgrade}\r\nSec-WebSocket-Protocol: skein, ${key}`;
    const request = (line: string, headers: string[], body = "") =>
      [`${line} HTTP/1.1`, ...headers, ...(body === "" ? ["Content-Length: 0"] : [`Content-Length: ${body.length}`]), "", body].join(
        "\r\n",
      );
    const proof = JSON.stringify({ login: "x", nonce: "n", origin: "http://evil.example" });
    const expected: [bytes: string, status: string][] = [
      [request("GET /", [host]), "200"],
      [request("GET /", []), "400"],
      ["GET / HTTP/1.0\r\n\r\n", "400"],
      [request("GET /", [host, "Host: evil.example"]), "403"],
      [request("GET /", ["Host: evil.example", host]), "403"],
      [request("GET /", [`Host: 127.0.0.1:${port}@evil.example`]), "400"],
      [request("GET /", [`Host: localhost.:${port}`]), "403"],
      [request("GET /", [`Host: localhost.evil.example:${port}`]), "403"],
      [request("GET /", ["Host: 127.0.0.1:1"]), "403"],
      [request("GET /../../web.json", [host]), "404"],
      [request("GET /assets/%2e%2e/%2e%2e/web.json", [host]), "404"],
      [request("GET /__proto__", [host]), "404"],
      [request("POST /login", [host, "Origin: null"], "{}"), "403"],
      [request("POST /login", [host], "{}"), "403"],
      [request("POST /login", [host, own], '{"code":[]}'), "401"],
      [request("POST /login", [host, own], "null"), "401"],
      [request("POST /login", [host, own], "x".repeat(70_000)), "413"],
      [request("POST /logout", [host, cookie, "Origin: http://127.0.0.1:1"]), "403"],
      [request("POST /logout", [host, cookie, `Origin: https://127.0.0.1:${port}`]), "403"],
      [request("POST /logout", [host, cookie, own, "Origin: http://evil.example"]), "403"],
      [request("POST /logout", [host, cookie, own, "Sec-Fetch-Site: same-site"]), "403"],
      [request("POST /proof", [host, own], proof), "403"],
      [request("OPTIONS /login", [host, "Origin: http://evil.example", "Access-Control-Request-Method: POST"]), "403"],
      [request("GET /socket", [host, own, withKey]), "401"],
      [request("GET /socket", [host, own, cookie, `${upgrade}\r\nSec-WebSocket-Protocol: skein`]), "401"],
      [request("GET /socket", [host, cookie, withKey]), "403"],
      [request("GET /socket", [host, cookie, withKey, "Origin: http://evil.example"]), "403"],
      [request("GET //socket", [host, cookie, withKey]), "404"],
      [request("POST /socket", [host, own, cookie, withKey]), "404"],
      [
        `POST /login HTTP/1.1\r\n${host}\r\n${own}\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /socket HTTP/1.1\r\n${host}\r\n\r\n`,
        "400",
      ],
      [request("GET /socket", [host, own, cookie, withKey]), "101"],
    ];
    for (const [bytes, status] of expected)
      expect([bytes.slice(0, 300), await statusesOf(port, bytes)]).toEqual([bytes.slice(0, 300), [status]]);
  } finally {
    await skein.run(["hub", "stop", "--wait", "0"]);
  }
});
