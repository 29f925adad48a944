// Turns that wait for the end of a vendor's limit: in the foreground, over a killed hub, stopped by hand, and several at once.
import { expect, test } from "bun:test";
import { pollUntil } from "../../../src/kit/flow/sleep.ts";
import { turnInfo } from "../../../src/protocol/fixtures/printed-schemas.ts";
import { startModelServer, type ModelServer } from "../../../src/scripted-model/model-server.ts";
import { killHub } from "../../support/hub-client.ts";
import { endWaits, limitOf } from "../../support/limits.ts";
import { temporaryHome, vendorEnv, wireModels, type TemporaryHome } from "../../support/temporary-home.ts";

const model = ["-m", wireModels.anthropic];
const waitLimitMs = 60_000;
type JourneyContext = { skein: TemporaryHome; server: ModelServer };

async function runJourney(check: (ctx: JourneyContext) => Promise<void>): Promise<void> {
  const server = startModelServer({ steps: [], final: "Answered after the limit." });
  using skein = temporaryHome(vendorEnv(server.url));
  try {
    await check({ skein, server });
  } finally {
    await skein.run(["hub", "stop", "--wait", "0"]);
    await server.stop();
  }
}

async function listTurns(skein: TemporaryHome, ...flags: string[]) {
  const turns = (await skein.run(["ps", "--json", ...flags])).json() as unknown as unknown[];
  return turns.map((turn) => turnInfo.parse(turn));
}

async function waitForStates(skein: TemporaryHome, states: string[]): Promise<void> {
  const areReached = async () =>
    Bun.deepEquals(
      (await listTurns(skein)).map(({ state }) => state),
      states,
    ) || null;
  expect(await pollUntil(waitLimitMs, areReached)).toBe(true);
}

test("a run in the foreground waits for the end of the limit and ends with the answer, also if the hub is killed meanwhile", async () => {
  await runJourney(async ({ skein, server }) => {
    server.setFault(limitOf(3600));
    const run = skein.start(["run", "hello", "--session", "limited", ...model, "--at-limit", "wait"]);
    await waitForStates(skein, ["waiting"]);
    expect((await skein.run(["ps"])).out).toMatch(/limited +waiting until (\d+ \w+ )?\d\d:\d\d/);
    server.setFault(null);
    await killHub(skein);
    endWaits(skein);
    const [out, err, code] = await Promise.all([new Response(run.stdout).text(), new Response(run.stderr).text(), run.exited]);
    expect({ code, out }).toEqual({ code: 0, out: "Answered after the limit.\n" });
    expect(err).toMatch(/usage limit reached.*waiting until (\d+ \w+ )?\d\d:\d\d.* · skein kill [0-9a-f]{8} ends it/);
    const { nodes } = (await skein.run(["show", "limited", "--json"])).json() as { nodes: { author: string }[] };
    expect(nodes.map(({ author }) => author)).toEqual(["user", "agent"]);
    expect((await listTurns(skein, "--all")).map(({ turn }) => turn.status)).toEqual(["ok", "rate-limited"]);
  });
});

test("kill ends the wait, and the run in the foreground ends with the limit", async () => {
  await runJourney(async ({ skein, server }) => {
    server.setFault(limitOf(3600));
    const run = skein.start(["run", "hello", "--session", "limited", ...model, "--at-limit", "wait", "--json"]);
    await waitForStates(skein, ["waiting"]);
    expect((await skein.run(["kill", "limited"])).out).toBe("stopped limited\n");
    expect(await run.exited).toBe(5);
    expect(JSON.parse(await new Response(run.stdout).text())).toMatchObject({ status: "rate-limited" });
    expect(await listTurns(skein)).toEqual([]);
  });
});

test("a turn does not wait for a limit that ends after --wait-at-most", async () => {
  await runJourney(async ({ skein, server }) => {
    server.setFault(limitOf(3600));
    const ran = await skein.run(["run", "hello", ...model, "--at-limit", "wait", "--wait-at-most", "10m"]);
    expect(ran).toMatchObject({ code: 5, err: expect.stringContaining("--wait-at-most") });
    expect(await listTurns(skein)).toEqual([]);
  });
});

test("five detached turns that wait for one key continue once each, and not in the same second", async () => {
  await runJourney(async ({ skein, server }) => {
    server.setFault(limitOf(3600));
    for (const n of [1, 2, 3, 4, 5])
      await skein.run(["run", `prompt ${n}`, "--detach", "--session", `s${n}`, ...model, "--at-limit", "wait"]);
    await waitForStates(skein, Array(5).fill("waiting"));
    const wakes = (await listTurns(skein)).map(({ pending }) => Date.parse(pending!.wake_at!));
    expect(new Set(wakes.map((wake) => Math.floor(wake / 1000))).size).toBe(5);
    server.setFault(null);
    const before = server.main().length;
    await killHub(skein);
    endWaits(skein, -60_000);
    expect((await skein.run(["hub", "start"])).code).toBe(0);
    await waitForStates(skein, []);
    expect(server.main()).toHaveLength(before + 5);
    const started = (await listTurns(skein, "--all"))
      .filter(({ turn }) => turn.status === "ok")
      .map(({ turn }) => Date.parse(turn.started_at));
    expect(new Set(started.map((time) => Math.floor(time / 1000))).size).toBe(5);
  });
});

test("a wait within one request is shown in ps, and stored until its end", async () => {
  await runJourney(async ({ skein, server }) => {
    server.setFault(limitOf(40));
    await skein.run(["run", "hello", "--detach", "--session", "limited", ...model]);
    const isWaiting = async () => ((await listTurns(skein))[0]?.retry_at === undefined ? null : true);
    expect(await pollUntil(waitLimitMs, isWaiting)).toBe(true);
    expect((await skein.run(["ps"])).out).toMatch(/limited +waiting until (\d+ \w+ )?\d\d:\d\d:\d\d/);
    expect((await listTurns(skein))[0]).toMatchObject({ state: "running", retry_at: expect.stringMatching(/^\d{4}-.*Z$/) });
    expect((await skein.run(["kill", "limited"])).out).toBe("stopped limited\n");
  });
});
