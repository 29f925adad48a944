// A real hub among strangers: ten thousand connections that come and go, another user of the machine, and one client that
// stays and uses many sessions.
import { expect, test } from "bun:test";
import { chmodSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { connectApi, type ApiAddress } from "../../src/hub/api-client.ts";
import type { HubFile } from "../../src/hub/hub-file.ts";
import { connectToHub } from "../support/hub-client.ts";
import { childrenOf } from "../support/processes.ts";
import { temporaryHome, type TemporaryHome } from "../support/temporary-home.ts";
import { until } from "../support/cpu-time.ts";

async function withHub(visit: (hub: HubFile, skein: TemporaryHome) => Promise<void>): Promise<void> {
  using skein = temporaryHome();
  try {
    await skein.run(["hub", "start"]);
    await visit(JSON.parse(readFileSync(join(skein.env["SKEIN_HOME"]!, "state", "hub.json"), "utf8")), skein);
  } finally {
    await skein.run(["hub", "stop"]);
  }
}

const helloFrame = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "hub.hello", params: { protocol: 1, client: "crowd" } });
const askFrame = JSON.stringify({ jsonrpc: "2.0", id: 2, method: "turn.nothing" });
/** Some say nothing, some half a word, some rubbish, some all of it. */
const words = ["", helloFrame.slice(0, 20), "rubbish\n", `${helloFrame}\n`, `${helloFrame}\n${askFrame}\n`];

/** Opens a connection and leaves it. */
async function comeAndGo(address: ApiAddress, nth: number): Promise<void> {
  const said = words[nth % words.length]!;
  const closed = Promise.withResolvers<void>();
  if ("socket" in address) {
    const socket = await Bun.connect({ unix: address.socket, socket: { data: () => {}, close: () => closed.resolve() } });
    if (said !== "") socket.write(said);
    socket.end();
    return closed.promise;
  }
  const socket = new WebSocket(`${address.url}?token=${nth % 7 === 0 ? "wrong" : address.token}`);
  socket.addEventListener("close", () => closed.resolve());
  socket.addEventListener("open", () => {
    if (said !== "") socket.send(said);
    socket.close();
  });
  return closed.promise;
}

/** By the hundred: one more is let in, and welcomed, only when those before it were. */
async function crowd(address: ApiAddress, count: number): Promise<void> {
  for (let at = 0; at < count; at += 100) {
    await Promise.all(Array.from({ length: 100 }, (_, nth) => comeAndGo(address, at + nth)));
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
    await crowd(address, 2_000);
    const before = sizeOf(hub.pid);
    await crowd(address, 10_000);
    const api = await connectApi(address, { client: "the last one" });
    expect(await api.health.check()).toMatchObject({ status: "healthy", running: 0, pid: hub.pid });
    await api.close();
    const after = sizeOf(hub.pid);
    expect(after.files).toBeLessThanOrEqual(before.files + 10);
    expect(after.mb - before.mb).toBeLessThan(40);
  });
});

test("more connections at once than a hub takes are refused, and those it has go on", async () => {
  await withHub(async (hub) => {
    const first = await connectApi({ socket: hub.socket }, { client: "first" });
    let gone = 0;
    const opened = await Promise.allSettled(
      Array.from({ length: 600 }, () => Bun.connect({ unix: hub.socket, socket: { data: () => {}, close: () => void (gone += 1) } })),
    );
    const refused = () => gone + opened.filter(({ status }) => status === "rejected").length;
    while (refused() < 600 - 511) await Bun.sleep(5);
    expect(await first.health.check()).toMatchObject({ status: "healthy" });
    expect(refused()).toBe(600 - 511);
    for (const one of opened) if (one.status === "fulfilled") one.value.end();
    await first.close();
  });
});

test("another user of the machine can neither open the socket nor read the token", async () => {
  if (process.getuid!() !== 0) return;
  await withHub(async (hub, skein) => {
    // As if every directory above were open to all.
    for (const path of [skein.root, skein.env["SKEIN_HOME"]!, dirname(hub.token_file), dirname(hub.socket)]) chmodSync(path, 0o755);
    const code = `
      const [socket, token] = process.argv.slice(1);
      const isOpen = await Bun.connect({ unix: socket, socket: { data() {} } }).then(() => true, () => false);
      const isRead = await Bun.file(token).text().then(() => true, () => false);
      console.log(JSON.stringify({ isOpen, isRead }));
      process.exit();`;
    const seenBy = (id: number): unknown =>
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
    expect(seenBy(0)).toEqual({ isOpen: true, isRead: true });
    expect(seenBy(65_534)).toEqual({ isOpen: false, isRead: false });
  });
});

test("a client that stays and uses many sessions leaves no process behind for each, and can go on in the first", async () => {
  await withHub(async (hub, skein) => {
    const talk = await connectToHub("unix", hub, { protocol: 1, client: "stays", directory: skein.project });
    const executors = () => childrenOf(hub.pid).filter(({ command }) => command.includes("__executor"));
    const open = async () =>
      ((await talk.ask("session.open", { directory: skein.project, model: "ollama/none" })).result as { id: string }).id;
    const say = async (session: string, word: string) => {
      const policy = { name: "full", sandbox: "off" };
      const { items } = await talk.follow("bash.execute", { session, command: `echo ${word}`, policy });
      expect(JSON.stringify(items)).toContain(word);
      expect(items.at(-1)).toMatchObject({ type: "turn.ended", turn: { status: "ok" } });
    };
    const first = await open();
    await say(first, "first");
    for (let nth = 0; nth < 14; nth += 1) await say(await open(), `word-${nth}`);
    await until(() => executors().length <= 9, "those that nobody uses have ended");
    await say(first, "again");
    talk.close();
    await until(() => executors().length === 0, "all have ended when nobody is connected");
  });
});
