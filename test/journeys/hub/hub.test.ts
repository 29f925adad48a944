// `skein hub` with the real program: started once, used over both sockets, stopped, killed, started again.
import { expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startModelServer } from "../../../src/scripted-model/model-server.ts";
import { shellScript } from "../../../src/scripted-model/script.ts";
import { connectApi } from "../../../src/hub/api-client.ts";
import { connectHub } from "../../../src/hub/find-hub.ts";
import type { HubFile } from "../../../src/hub/hub-file.ts";
import type { Api } from "../../../src/protocol/api/api.ts";
import { Fault } from "../../../src/protocol/api/error.ts";
import type { Event } from "../../../src/protocol/tree/event.ts";
import { defaultPolicy } from "../../../src/protocol/api/policy.ts";
import { bareTurn } from "../../../src/protocol/api/turn-options.ts";
import { hubStarted, hubStatus, hubStopped } from "../../../src/protocol/fixtures/printed-schemas.ts";
import { childrenOf, waitForNoProcesses } from "../../support/processes.ts";
import { skeinCommand, temporaryHome, vendorEnv, wireModels, type TemporaryHome } from "../../support/temporary-home.ts";

const model = wireModels.anthropic;
const longCommand = "echo begun; sleep 86396";

/** A home that stops its hub, if one runs, when it is disposed. */
function homeWithHub(env: Record<string, string> = {}) {
  const skein = temporaryHome(env);
  const state = join(skein.env["SKEIN_HOME"]!, "state");
  return {
    ...skein,
    state,
    file: () => JSON.parse(readFileSync(join(state, "hub.json"), "utf8")) as HubFile,
    async [Symbol.asyncDispose]() {
      await skein.run(["hub", "stop", "--wait", "0"]);
      skein[Symbol.dispose]();
    },
  };
}

function callerOf(skein: TemporaryHome, env: Record<string, string>) {
  return { client: "journey", directory: skein.project, env: { ...skein.env, ...env } };
}

async function openSession(api: Api, directory: string, name: string): Promise<string> {
  const find = { by: "name", wanted: name, orCreate: true } as const;
  const options = { task: "wait", agent: "native", model, toolLevel: "minimal", parentSession: null, transcriptDir: null } as const;
  return (await api.session.open({ find, directory, ...options })).id;
}

/** Starts a turn and returns its session as soon as the scripted model's command is running. */
async function startLong(api: Api, directory: string, name: string): Promise<string> {
  const session = await openSession(api, directory, name);
  for await (const event of api.turn.start({ ...bareTurn(session, defaultPolicy), prompt: "wait" })) {
    if (event.type === "tool.output") return session;
  }
  throw new Error(`the turn of ${name} ended before its command ran`);
}

test("four simultaneous `hub start` start one hub, which can be found and stopped", async () => {
  await using skein = homeWithHub();
  expect(await skein.run(["hub", "status"])).toMatchObject({
    code: 1,
    out: "no hub is running; start one with: skein hub start\n",
    err: "",
  });
  expect(hubStatus.parse((await skein.run(["hub", "status", "--json"])).json())).toEqual({ status: "not-running" });

  const all = await Promise.all(Array.from({ length: 4 }, () => skein.run(["hub", "start", "--json"])));
  const started = all.map((ran) => hubStarted.parse(ran.json()));
  expect(new Set(started.map(({ pid }) => pid)).size).toBe(1);
  expect(started.filter(({ outcome }) => outcome === "started").length).toBe(1);
  const { outcome: _, ...hubFile } = started[0]!;
  expect(skein.file()).toMatchObject(hubFile);
  const privateFiles = [...["hub.json", "hub.token", "hub.log"].map((name) => join(skein.state, name)), hubFile.socket];
  for (const path of privateFiles) expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(statSync(join(skein.state, "run")).mode & 0o777).toBe(0o700);

  const status = hubStatus.parse((await skein.run(["hub", "status", "--json"])).json());
  expect(status).toMatchObject({ status: "running", ...hubFile, turns: [] });
  expect((await skein.run(["hub", "start"])).out).toBe(`the hub is already running: ${hubFile.url}, process ${hubFile.pid}\n`);
  const elsewhere = await skein.run(["hub", "start", "--port", "1"]);
  expect(elsewhere).toMatchObject({ code: 2, out: "", err: expect.stringContaining(`the hub is already running at ${hubFile.url}`) });

  expect(hubStopped.parse((await skein.run(["hub", "stop", "--json"])).json())).toEqual({
    outcome: "stopped",
    pid: hubFile.pid,
    pending: [],
  });
  expect(await waitForNoProcesses(skein.root)).toEqual([]);
  for (const name of ["hub.json", "hub.token"]) expect(existsSync(join(skein.state, name))).toBe(false);
  expect(existsSync(hubFile.socket)).toBe(false);
  expect(await skein.run(["hub", "stop"])).toMatchObject({ code: 0, out: "no hub is running\n" });
});

test("a hub that was stopped with SIGSTOP is reported, is not started a second time, and can be ended", async () => {
  await using skein = homeWithHub();
  const { pid } = hubStarted.parse((await skein.run(["hub", "start", "--json"])).json());
  process.kill(pid, "SIGSTOP");
  const suspendedError = { out: "", err: expect.stringContaining(`the hub (process ${pid}) is suspended`) };
  expect(await skein.run(["hub", "status"])).toMatchObject(suspendedError);
  expect(await skein.run(["hub", "start"])).toMatchObject(suspendedError);
  expect(await skein.run(["hub", "stop"])).toMatchObject({ code: 0, out: "the hub is stopped\n" });
  expect(await waitForNoProcesses(skein.root)).toEqual([]);
});

test("a turn with a client's own keys continues when that client disconnects, and another client sees all its events", async () => {
  const server = startModelServer(shellScript(["for i in 1 2 3; do echo $i; sleep 0.1; done"], "all counted"));
  await using skein = homeWithHub();
  try {
    await skein.run(["hub", "start"]);
    const { url, socket, token_file } = skein.file();
    const first = await connectApi({ socket }, callerOf(skein, vendorEnv(server.url)));
    const session = await openSession(first, skein.project, "counting");
    const firstEvents: Event[] = [];
    for await (const event of first.turn.start({ ...bareTurn(session, defaultPolicy), prompt: "count" })) {
      if (!("n" in event)) firstEvents.push(event);
      if (event.type === "tool.started") break;
    }
    await first.close();
    const second = await connectApi({ url, token: readFileSync(token_file, "utf8") }, { client: "journey", directory: skein.project });
    const watchedEvents = await Array.fromAsync(second.turn.watch({ session, afterSeq: 0, until: "idle" }));
    const durable = watchedEvents.filter((event) => !("n" in event));
    expect(durable.slice(0, firstEvents.length)).toEqual(firstEvents);
    expect(durable.map(({ seq }) => seq)).toEqual(durable.map((_, index) => index + 1));
    expect(durable.at(-1)).toMatchObject({ type: "turn.ended", turn: { status: "ok" } });
    expect(await second.session.find({ wanted: "counting", directory: skein.project })).toMatchObject({ id: session });
    await expect(second.session.find({ wanted: "nobody", directory: skein.project })).rejects.toMatchObject({ code: "session-unknown" });
    await second.close();
  } finally {
    await server.stop();
  }
});

test("hub stop lets a turn finish within --wait, and stops and records one that does not", async () => {
  const server = startModelServer(shellScript(["sleep 0.5; echo slept"], "finished"));
  const longServer = startModelServer(shellScript([longCommand]));
  await using skein = homeWithHub();
  try {
    await skein.run(["hub", "start"]);
    const quick = await connectApi({ socket: skein.file().socket }, callerOf(skein, vendorEnv(server.url)));
    const session = await openSession(quick, skein.project, "quick");
    const turn = quick.turn.start({ ...bareTurn(session, defaultPolicy), prompt: "sleep" })[Symbol.asyncIterator]();
    expect(await turn.next()).toMatchObject({ value: { type: "turn.started" } });
    const ended = Array.fromAsync({ [Symbol.asyncIterator]: () => turn });
    expect(hubStopped.parse((await skein.run(["hub", "stop", "--json", "--wait", "30s"])).json())).toMatchObject({ outcome: "stopped" });
    expect((await ended).at(-1)).toMatchObject({ type: "turn.ended", turn: { status: "ok" } });

    await skein.run(["hub", "start"]);
    const long = await connectApi({ socket: skein.file().socket }, callerOf(skein, vendorEnv(longServer.url)));
    const longSession = await startLong(long, skein.project, "long");
    const { turns } = hubStatus.parse((await skein.run(["hub", "status", "--json"])).json()) as { turns: unknown[] };
    expect(turns).toMatchObject([{ state: "running", session: { id: longSession } }]);
    expect((await skein.run(["hub", "status"])).out).toMatch(/^running for .*\n {2}long {2}running for .* wait\n$/);
    // The hub stops the turn even if no client is connected any more.
    await long.close();
    await skein.run(["hub", "stop", "--wait", "0"]);
    expect(await waitForNoProcesses(skein.root)).toEqual([]);
    expect((await skein.run(["kill", "long", "--json"])).json()).toMatchObject({ outcome: "not-running", status: "cancelled" });
  } finally {
    await Promise.all([server.stop(), longServer.stop()]);
  }
});

test("SIGTERM stops the hub in the same way as hub stop", async () => {
  await using skein = homeWithHub();
  const hub = skein.start(["hub", "start", "--foreground"]);
  await hub.stdout.getReader().read();
  expect(skein.file().pid).toBe(hub.pid);
  hub.kill("SIGTERM");
  expect(await hub.exited).toBe(0);
  expect(existsSync(join(skein.state, "hub.json"))).toBe(false);
});

test("a second signal does not wait for the turns that the first one lets finish", async () => {
  const server = startModelServer(shellScript([longCommand]));
  await using skein = homeWithHub();
  try {
    const hub = skein.start(["hub", "start", "--foreground"]);
    await hub.stdout.getReader().read();
    const api = await connectApi({ socket: skein.file().socket }, callerOf(skein, vendorEnv(server.url)));
    await startLong(api, skein.project, "long");
    hub.kill("SIGTERM");
    const connectAgain = () => connectApi({ socket: skein.file().socket }, { client: "journey" }).catch((error: unknown) => error);
    while (!((await connectAgain()) instanceof Fault)) await Bun.sleep(5);
    expect(await connectAgain()).toMatchObject({ code: "hub-unreachable", message: "the hub is stopping" });
    expect(await api.health.check()).toMatchObject({ running: 1 });
    hub.kill("SIGTERM");
    expect(await hub.exited).toBe(143);
    expect(await waitForNoProcesses(skein.root)).toEqual([]);
  } finally {
    await server.stop();
  }
});

test("a hub.json without a live hub process is ignored and replaced", async () => {
  await using skein = homeWithHub();
  mkdirSync(skein.state, { recursive: true });
  const dead = { url: "ws://127.0.0.1:9", socket: join(skein.state, "run/7-aa.sock"), version: "0", protocol: 1, token_file: "x" };
  const stale = [
    JSON.stringify({ ...dead, pid: 2 ** 22 - 7, process_start: "1" }),
    JSON.stringify({ ...dead, pid: process.pid, process_start: "1" }),
    "{",
  ];
  for (const text of stale) {
    writeFileSync(join(skein.state, "hub.json"), text);
    expect(await skein.run(["hub", "status"])).toMatchObject({ code: 1, err: "" });
    expect((await skein.run(["hub", "start", "--json"])).json()).toMatchObject({ outcome: "started", pid: skein.file().pid });
    await skein.run(["hub", "stop"]);
  }
});

test("a hub whose hub.json is gone ends, and leaves the files of the next hub alone", async () => {
  await using skein = homeWithHub();
  const lost = skein.start(["hub", "start", "--foreground"]);
  await lost.stdout.getReader().read();
  rmSync(skein.state, { recursive: true });
  await skein.run(["hub", "start"]);
  expect(skein.file().pid).not.toBe(lost.pid);
  expect(await lost.exited).toBe(0);
  expect(hubStatus.parse((await skein.run(["hub", "status", "--json"])).json())).toMatchObject({
    status: "running",
    pid: skein.file().pid,
  });
});

test("a hub killed with SIGKILL leaves no process, and the next hub records its turns as killed", async () => {
  const server = startModelServer(shellScript([longCommand]));
  await using skein = homeWithHub();
  try {
    await skein.run(["hub", "start"]);
    const { pid, socket } = skein.file();
    const api = await connectApi({ socket }, callerOf(skein, vendorEnv(server.url)));
    const sessions = await Promise.all(Array.from({ length: 10 }, (_, index) => startLong(api, skein.project, `run-${index}`)));
    process.kill(pid, "SIGKILL");
    expect(await waitForNoProcesses(skein.root)).toEqual([]);
    await expect(api.health.check()).rejects.toMatchObject({ code: "connection-lost" });
    expect((await skein.run(["hub", "status"])).code).toBe(1);

    await skein.run(["hub", "start"]);
    expect(skein.file().pid).not.toBe(pid);
    const again = await connectApi({ socket: skein.file().socket }, callerOf(skein, {}));
    for (const session of sessions) {
      let events: Event[] = [];
      while (events.at(-1)?.type !== "turn.ended") events = await Array.fromAsync(again.turn.watch({ session, afterSeq: 0, until: "now" }));
      expect(events.at(-1)).toMatchObject({ type: "turn.ended", turn: { status: "killed" } });
      expect(events.some((event) => event.type === "node.added" && event.node.author === "tool")).toBe(true);
    }
    await again.close();
    expect((await skein.run(["verify", "--json"])).json()).toMatchObject({ ok: true });
  } finally {
    await server.stop();
  }
});

test("a hub that a client started has no keys in its environment and uses those of its caller", async () => {
  const server = startModelServer(shellScript([], "answered"));
  await using skein = homeWithHub();
  try {
    const env = { ...skein.env, ...vendorEnv(server.url), GITHUB_TOKEN: "key-of-another-kind" };
    const hubOptions = { state: skein.state, home: skein.home, selfCommand: skeinCommand(), version: "0.0.0", env };
    await expect(connectHub(hubOptions, {}, { start: false })).rejects.toMatchObject({
      code: "hub-unreachable",
      hint: "skein hub start",
    });
    const { api } = await connectHub(hubOptions, { directory: skein.project }, { start: true });
    const hubEnv = readFileSync(`/proc/${skein.file().pid}/environ`, "utf8");
    expect(hubEnv).toContain(`SKEIN_HOME=${skein.env["SKEIN_HOME"]}`);
    expect(hubEnv).not.toContain("key-");
    // The hub is not a child of this process, so it survives programs that end all their descendants.
    expect(childrenOf(process.pid).map(({ pid }) => pid)).not.toContain(skein.file().pid);
    const session = await openSession(api, skein.project, "brief");
    const events = await Array.fromAsync(api.turn.start({ ...bareTurn(session, defaultPolicy), prompt: "hello" }));
    expect(events.at(-1)).toMatchObject({ type: "turn.ended", turn: { status: "ok" } });
    await api.close();
    const logs = readFileSync(join(skein.state, "hub.log"), "utf8") + readFileSync(join(skein.state, "hub.json"), "utf8");
    expect(logs).not.toContain("key-");
  } finally {
    await server.stop();
  }
});
