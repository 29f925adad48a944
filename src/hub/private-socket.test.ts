// The private sockets of several processes in one directory.
import { afterAll, expect, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Api } from "../protocol/api/api.ts";
import { connectApi } from "./api-client.ts";
import { servePrivateSocket } from "./private-socket.ts";
import { listenUnix } from "./unix-socket.ts";

const root = mkdtempSync(join(tmpdir(), "skein-listen-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const health = { status: "healthy", version: "1", protocol: 1, pid: 1, startedAt: 1_700_000_000_000, running: 0 } as const;
const serving = (running: number) => ({
  apiFor: () => ({ health: { check: async () => ({ ...health, running }) }, close: async () => {} }) as unknown as Api,
  version: "1",
  startedAt: 0,
});

test("two listeners in one directory have separate addresses and delete their files", async () => {
  const run = join(root, "both");
  const addresses = ["1-aa", "1-bb"].map((name) => join(run, `${name}.sock`)) as [string, string];
  const listeners = addresses.map((address, index) => servePrivateSocket(address, serving(index)));
  for (const [index, socket] of addresses.entries()) {
    const api = await connectApi({ socket }, { client: "test" });
    expect(await api.health.check()).toEqual({ ...health, running: index });
    await api.close();
  }
  for (const listener of listeners) listener.close();
  expect(readdirSync(run)).toEqual([]);
  await expect(connectApi({ socket: addresses[0] }, { client: "test" })).rejects.toMatchObject({ code: "connection-lost" });
});

test("a directory that other users could enter gets private permissions first", () => {
  const run = join(root, "open");
  mkdirSync(run);
  chmodSync(run, 0o755);
  servePrivateSocket(join(run, "1-aa.sock"), serving(0)).close();
  expect(statSync(run).mode & 0o777).toBe(0o700);
});

test("sockets of exited processes are deleted; open sockets and other files stay", async () => {
  const run = join(root, "left");
  mkdirSync(run, { mode: 0o700 });
  const unusedPid = 2 ** 22 - 5;
  const pathOf = (name: string) => join(run, name);
  // A killed process does not delete its socket.
  const code = `Bun.listen({unix: process.argv[1], socket: {data() {}}}); process.kill(process.pid, "SIGKILL")`;
  for (const name of [`${unusedPid}-dead.sock`, `${process.pid}-beef.sock`, "hub.sock"]) {
    await Bun.spawn([process.execPath, "-e", code, pathOf(name)]).exited;
    expect(existsSync(pathOf(name))).toBe(true);
  }
  const otherContainer = listenUnix(pathOf(`${unusedPid}-cafe.sock`), () => ({ receive: () => {}, closed: () => {} }));
  const listener = servePrivateSocket(pathOf("1-aa.sock"), serving(0));
  while (existsSync(pathOf(`${unusedPid}-dead.sock`))) await Bun.sleep(5);
  expect(readdirSync(run).sort()).toEqual([`1-aa.sock`, `${unusedPid}-cafe.sock`, `${process.pid}-beef.sock`, "hub.sock"].sort());
  listener.close();
  otherContainer.close();
});
