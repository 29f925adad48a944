// The port of the page: programs on this machine must not get the next login by knowing or taking it.
import { afterEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PageServer } from "./page-server.ts";
import { toPageFiles } from "./page-files.ts";

const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const cleanup of cleanups.splice(0).toReversed()) cleanup();
});

function temporaryState(): string {
  const state = mkdtempSync(join(tmpdir(), "skein-web-"));
  cleanups.push(() => rmSync(state, { recursive: true, force: true }));
  return state;
}

function createServer(state = temporaryState()): PageServer<null> {
  const server = new PageServer<null>({
    sockets: { upgrade: () => undefined, closeAll: () => {}, closeLogin: () => {}, websocket: { message: () => {} } },
    state,
    version: "1.2.3",
    log: () => {},
    loadFiles: async () => toPageFiles({ build: "b1", files: {} }),
  });
  cleanups.push(() => server.close());
  return server;
}

test("the port of a new page can't be known before, and stays the same in the next hub", async () => {
  const state = temporaryState();
  const server = createServer(state);
  const { port } = await server.open({});
  const others = await Promise.all([1, 2, 3].map(() => createServer().open({})));
  // Ports one after the other could be guessed.
  expect(Math.max(...others.map((page) => Math.abs(page.port - port)))).toBeGreaterThan(100);
  server.close();
  expect((await createServer(state).open({})).port).toBe(port);
});

test("the page behind a proxy never moves to another port, where the proxy would pass logins on to a program at the old one", async () => {
  const state = temporaryState();
  const server = createServer(state);
  const { port } = await server.open({ port: 0, origin: "https://dev.example" });
  server.close();
  const other = Bun.serve({ hostname: "127.0.0.1", port, fetch: () => new Response("another program") });
  cleanups.push(() => void other.stop(true));
  const next = createServer(state);
  expect(await next.open({}).catch((error: Error) => error.message)).toBe(`port ${port} is in use`);
  await next.end();
  expect((await next.open({})).port).not.toBe(port);
});
