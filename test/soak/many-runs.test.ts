// Starts many runs at once on one store. Waiting for the store must be fair: no run may fail because others are faster.
// SKEIN_SOAK_RUNS sets the number of runs; 500 need about 12 GB of memory.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { result } from "../../src/protocol/fixtures/printed-schemas.ts";
import { startModelServer, type ModelServer } from "../../src/scripted-model/model-server.ts";
import { shellScript } from "../../src/scripted-model/script.ts";
import { beginTurn } from "../../src/store/fixtures/begin-turn.ts";
import { agentNode, okTurnEnd } from "../../src/store/fixtures/samples.ts";
import { openStore } from "../../src/store/sqlite/sqlite-store.ts";
import { temporaryHome, vendorEnv, wireModels, type TemporaryHome } from "../support/temporary-home.ts";

const count = Number(process.env["SKEIN_SOAK_RUNS"] ?? 150);
const limitMs = 60_000 + count * 1000;

describe("many runs at once", () => {
  let server: ModelServer;
  beforeAll(() => {
    server = startModelServer(({ position }) => shellScript([], `answer to ${position.prompt}`));
  });
  afterAll(() => server.stop());

  /** Every run must end ok with its own answer. */
  async function startRuns(skein: TemporaryHome): Promise<void> {
    const tasks = Array.from({ length: count }, (_, index) => `task-${index}`);
    const startedAt = performance.now();
    const ended = await Promise.all(tasks.map((task) => skein.run(["run", task, "-m", wireModels.anthropic, "--json"])));
    console.log(`${count} runs in ${((performance.now() - startedAt) / 1000).toFixed(1)} s`);
    expect(ended.filter(({ code }) => code !== 0).map(({ code, err }) => ({ code, err }))).toEqual([]);
    const results = ended.map((run) => result.parse(run.json()));
    expect(results.map((run) => [run.status, run.result])).toEqual(tasks.map((task) => ["ok", `answer to ${task}`]));
  }

  async function checkStore(skein: TemporaryHome): Promise<void> {
    const verified = await skein.run(["verify", "--json"]);
    const counts = { sessions: count, turns: count, transcripts: count, nodes: 2 * count };
    expect({ code: verified.code, ...verified.json() }).toMatchObject({ code: 0, ok: true, problems: [], ...counts });
  }

  test(
    "all runs on one new store end ok, and the store is intact",
    async () => {
      using skein = temporaryHome(vendorEnv(server.url));
      await startRuns(skein);
      await checkStore(skein);
    },
    limitMs,
  );

  test(
    "all runs end ok while the store is purged, searched and indexed",
    async () => {
      using skein = temporaryHome(vendorEnv(server.url));
      await fillStore(skein);
      let isRunning = true;
      const runs = startRuns(skein).finally(() => (isRunning = false));
      const purge = skein.run(["purge", "--json"]);
      let searches = 0;
      do {
        const search = await skein.run(["search", "task", "answer", "--all-projects", "--json"]);
        expect(search.err).toBe("");
        // 1: nothing is found while the archived sessions are gone already and no run has stored its prompt yet.
        expect([0, 1]).toContain(search.code);
        searches += 1;
      } while (isRunning);
      await runs;
      expect((await skein.run(["search", "task", "answer", "--all-projects", "--json"])).code).toBe(0);
      const purged = await purge;
      expect({ code: purged.code, err: purged.err }).toEqual({ code: 0, err: "" });
      // A run that ends also removes expired sessions. Its exit cuts that off after 500 ms, so the next purge removes the rest.
      expect((await skein.run(["purge", "--json"])).code).toBe(0);
      expect((await skein.run(["list", "--archived", "--all", "--json"])).json()).toEqual([] as never);
      console.log(`${searches} searches`);
      await checkStore(skein);
    },
    limitMs,
  );
});

const archivedSessions = 10;
const nodesEach = 2000;

/** Archived sessions for the purge, whose nodes are also not indexed yet. */
async function fillStore(skein: TemporaryHome): Promise<void> {
  const data = join(skein.root, "skein", "data");
  const store = await openStore({ path: join(data, "skein.db"), outputsDir: join(data, "outputs") });
  for (let session = 0; session < archivedSessions; session += 1) {
    const { session: created, lease, turn } = await beginTurn(store);
    for (let node = 0; node < nodesEach; node += 1) await store.appendNode(lease, turn.id, agentNode(`task answer ${session} ${node}`));
    await store.endTurn(lease, turn.id, okTurnEnd);
    await store.release(lease);
    await store.updateSession(created.id, { archivedAt: 1 });
  }
  await store.close();
}
