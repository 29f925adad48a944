// The page of `skein web` with the real hub: without a login nothing is reachable, and a login reaches only the Api.
import { expect, test } from "bun:test";
import { webOpened, webStopped } from "../../src/protocol/fixtures/printed-schemas.ts";
import { temporaryHome } from "../support/temporary-home.ts";

type Page = { port: number };

/** Opens a WebSocket as a program could that forges every header. Resolves with null if it was refused. */
function openSocket(page: Page, key: string, headers: Record<string, string>): Promise<WebSocket | null> {
  const socket = new WebSocket(`ws://127.0.0.1:${page.port}/socket`, { protocols: ["skein", key], headers });
  return new Promise((resolve) => {
    socket.addEventListener("open", () => resolve(socket));
    socket.addEventListener("error", () => resolve(null));
    socket.addEventListener("close", () => resolve(null));
  });
}

function call(socket: WebSocket, method: string, params: unknown): Promise<Record<string, unknown>> {
  const id = Math.random();
  socket.send(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
  return new Promise((resolve) => {
    const listen = ({ data }: MessageEvent) => {
      const reply = JSON.parse(String(data)) as Record<string, unknown>;
      if (reply["id"] !== id) return;
      socket.removeEventListener("message", listen);
      resolve(reply);
    };
    socket.addEventListener("message", listen);
  });
}

test("only a login reaches the Api, and it can't stop the hub, send an environment or a frame of 50 MB", async () => {
  using skein = temporaryHome();
  const page = webOpened.parse((await skein.run(["web", "--json"])).json());
  try {
    const origin = `http://127.0.0.1:${page.port}`;
    const code = new URLSearchParams(new URL(page.login_url).hash.slice(1)).get("login")!;
    expect(await openSocket(page, code, { Origin: origin })).toBeNull();
    const logIn = () => fetch(`${origin}/login`, { method: "POST", body: JSON.stringify({ code }), headers: { Origin: origin } });
    const response = await logIn();
    const { key } = (await response.json()) as { key: string };
    const Cookie = response.headers.get("set-cookie")!.split(";")[0]!;
    expect((await logIn()).status).toBe(401);

    expect(await openSocket(page, key, { Origin: "http://evil.example", Cookie })).toBeNull();
    expect(await openSocket(page, key, { Origin: origin, Cookie, Host: "evil.example" })).toBeNull();
    expect(await openSocket(page, key, { Origin: origin })).toBeNull();

    const socket = (await openSocket(page, key, { Origin: origin, Cookie }))!;
    const hello = { protocol: 1, client: "test" };
    expect(await call(socket, "hub.hello", { ...hello, env: { PATH: "/tmp" } })).toMatchObject({
      error: { message: expect.stringContaining("env") },
    });
    expect(await call(socket, "hub.hello", hello)).toMatchObject({ result: { protocol: 1 } });
    for (const method of ["hub.stop", "hub.open_page", "hub.close_page"])
      expect(await call(socket, method, {})).toMatchObject({ error: { code: -32601 } });
    expect(await call(socket, "session.list", {})).toMatchObject({ result: [] });
    const closed = new Promise((resolve) => socket.addEventListener("close", resolve));
    socket.send(`"${"x".repeat(50 << 20)}"`);
    await closed;

    const again = (await openSocket(page, key, { Origin: origin, Cookie }))!;
    expect(await call(again, "hub.hello", hello)).toMatchObject({ result: { protocol: 1 } });
    again.close();

    expect(webStopped.parse((await skein.run(["web", "--stop", "--json"])).json())).toEqual({ outcome: "closed" });
    expect(await fetch(origin).catch(() => "refused")).toBe("refused");
    expect((await skein.run(["web", "--stop"])).out).toBe("the page was not open\n");
  } finally {
    await skein.run(["hub", "stop", "--wait", "0"]);
  }
});

test("other interfaces need a password file, and --stop takes no other flag", async () => {
  using skein = temporaryHome();
  try {
    const open = await skein.run(["web", "--host", "0.0.0.0", "--no-open"]);
    expect(open).toMatchObject({ code: 2, out: "", err: expect.stringContaining("needs --token-file") });
    expect(await skein.run(["web", "--stop", "--port", "1"])).toMatchObject({
      code: 2,
      err: expect.stringContaining("--port does not go with --stop"),
    });
  } finally {
    await skein.run(["hub", "stop", "--wait", "0"]);
  }
});
