// Tests a real hub with many clients: ten thousand short connections, another user of the machine, and one client that stays
// connected and uses many sessions.
import { expect, test } from "bun:test";
import { chmodSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { connectApi, type ApiAddress } from "../../src/hub/api-client.ts";
import type { HubFile } from "../../src/hub/hub-file.ts";
import { connectToHub } from "../support/hub-client.ts";
import { childrenOf } from "../support/processes.ts";
import { temporaryHome, type TemporaryHome } from "../support/temporary-home.ts";
import { until } from "../support/cpu-time.ts";

async function withHub(check: (hub: HubFile, skein: TemporaryHome) => Promise<void>): Promise<void> {
  using skein = temporaryHome();
  try {
    await skein.run(["hub", "start"]);
    await check(JSON.parse(readFileSync(join(skein.env["SKEIN_HOME"]!, "state", "hub.json"), "utf8")), skein);
  } finally {
    await skein.run(["hub", "stop"]);
  }
}

const helloFrame = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "hub.hello", params: { protocol: 1, client: "crowd" } });
const askFrame = JSON.stringify({ jsonrpc: "2.0", id: 2, method: "turn.nothing" });
/** A client sends nothing, half a frame, invalid data, or complete frames. */
const inputs = ["", helloFrame.slice(0, 20), "rubbish\n", `${helloFrame}\n`, `${helloFrame}\n${askFrame}\n`];

/** Opens a connection, sends one input and closes it. */
async function connectBriefly(address: ApiAddress, nth: number): Promise<void> {
  const input = inputs[nth % inputs.length]!;
  const closed = Promise.withResolvers<void>();
  if ("socket" in address) {
    const socket = await Bun.connect({ unix: address.socket, socket: { data: () => {}, close: () => closed.resolve() } });
    if (input !== "") socket.write(input);
    socket.end();
    return closed.promise;
  }
  const socket = new WebSocket(`${address.url}?token=${nth % 7 === 0 ? "wrong" : address.token}`);
  socket.addEventListener("close", () => closed.resolve());
  socket.addEventListener("open", () => {
    if (input !== "") socket.send(input);
    socket.close();
  });
  return closed.promise;
}

/** Connects in groups of a hundred. After each group a normal client must still be accepted. */
async function connectMany(address: ApiAddress, count: number): Promise<void> {
  for (let start = 0; start < count; start += 100) {
    await Promise.all(Array.from({ length: 100 }, (_, nth) => connectBriefly(address, start + nth)));
    await (await connectApi(address, { client: "the next one" })).close();
  }
}

function sizeOf(pid: number): { mb: number; files: number } {
  const kilobytes = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))![1];
  return { mb: Number(kilobytes) / 1024, files: readdirSync(`/proc/${pid}/fd`).length };
}

test.each(["unix", "web"])("10,000 connections over %s, opened and dropped, leave nothing in the hub", async (transport) => {
  await withHub(async (hub) => {
    const address = transport === "unix" ? { socket: hub.socket } : { url: hub.url, token: readFileSync(hub.token_file, "utf8") };
    await connectMany(address, 2_000);
    const before = sizeOf(hub.pid);
    await connectMany(address, 10_000);
    const api = await connectApi(address, { client: "the last one" });
    expect(await api.health.check()).toMatchObject({ status: "healthy", running: 0, pid: hub.pid });
    await api.close();
    const after = sizeOf(hub.pid);
    expect(after.files).toBeLessThanOrEqual(before.files + 10);
    expect(after.mb - before.mb).toBeLessThan(40);
  });
});

test("connections above the hub's limit are refused, and open connections keep working", async () => {
  await withHub(async (hub) => {
    const first = await connectApi({ socket: hub.socket }, { client: "first" });
    let closedCount = 0;
    const opened = await Promise.allSettled(
      Array.from({ length: 600 }, () =>
        Bun.connect({ unix: hub.socket, socket: { data: () => {}, close: () => void (closedCount += 1) } }),
      ),
    );
    const refused = () => closedCount + opened.filter(({ status }) => status === "rejected").length;
    while (refused() < 600 - 511) await Bun.sleep(5);
    expect(await first.health.check()).toMatchObject({ status: "healthy" });
    expect(refused()).toBe(600 - 511);
    for (const attempt of opened) if (attempt.status === "fulfilled") attempt.value.end();
    await first.close();
  });
});

test("another user of the machine can neither open the socket nor read the token", async () => {
  if (process.getuid!() !== 0) return;
  await withHub(async (hub, skein) => {
    // Opens every parent directory to all users, so that only the files' own modes protect them.
    for (const path of [skein.root, skein.env["SKEIN_HOME"]!, dirname(hub.token_file), dirname(hub.socket)]) chmodSync(path, 0o755);
    const code = `
      const [socket, token] = process.argv.slice(1);
      const isOpen = await Bun.connect({ unix: socket, socket: { data() {} } }).then(() => true, () => false);
      const isRead = await Bun.file(token).text().then(() => true, () => false);
      console.log(JSON.stringify({ isOpen, isRead }));
      process.exit();`;
    const accessOf = (id: number): unknown =>
      JSON.parse(
        Bun.spawnSync([
          "setpriv",
          `--reuid=${id}`,
          "--clear-groups",
          process.execPath,
          "-e",
          code,
          hub.socket,
          hub.token_file,
        ]).stdout.toString(),
      );
    expect(accessOf(0)).toEqual({ isOpen: true, isRead: true });
    expect(accessOf(65_534)).toEqual({ isOpen: false, isRead: false });
  });
});

test("the executors of unused sessions end while their client stays connected, and its first session still works", async () => {
  await withHub(async (hub, skein) => {
    const client = await connectToHub("unix", hub, { protocol: 1, client: "stays", directory: skein.project });
    const executors = () => childrenOf(hub.pid).filter(({ command }) => command.includes("__executor"));
    const open = async () =>
      ((await client.ask("session.open", { directory: skein.project, model: "ollama/none" })).result as { id: string }).id;
    const echo = async (session: string, word: string) => {
      const policy = { name: "full", sandbox: "off" };
      const { items } = await client.follow("bash.execute", { session, command: `echo ${word}`, policy });
      expect(JSON.stringify(items)).toContain(word);
      expect(items.at(-1)).toMatchObject({ type: "turn.ended", turn: { status: "ok" } });
    };
    const first = await open();
    await echo(first, "first");
    for (let nth = 0; nth < 14; nth += 1) await echo(await open(), `word-${nth}`);
    await until(() => executors().length <= 9, "executors of unused sessions have ended");
    await echo(first, "again");
    client.close();
    await until(() => executors().length === 0, "all executors have ended without a client");
  });
});
