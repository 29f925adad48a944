// Several processes run random operations on one store and are killed at random. The store must equal a model in memory: it
// contains every acknowledged operation, and none that was never tried. SKEIN_SEED repeats the choices.
import { expect } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { newSession } from "../../src/store/fixtures/samples.ts";
import { readLog, settle } from "../../src/store/fixtures/stress-log.ts";
import { type Model, modelOf, neededNodes } from "../../src/store/fixtures/stress-model.ts";
import type { Store } from "../../src/store/store.ts";

const lanes = [0, 1, 2];
const kills = 15;

export type StressOptions = {
  /** A file or a URL for a lane, as `stress-worker.ts` takes it. */
  targetOf: (lane: number) => string;
  /** Resolves when the store works on nothing of a killed worker any more. */
  afterKill?: (lane: number) => Promise<void>;
  outputsDir: string;
  /** Opens the same store in this process. */
  open: () => Promise<Store>;
  minSteps: number;
};

/** The logs of the workers are files of a temporary directory. */
type Storm = StressOptions & { store: Store; shared: string[]; seed: number; logOf: (lane: number) => string };

export async function stressStore(options: StressOptions): Promise<void> {
  const root = mkdtempSync(join(tmpdir(), "skein-storm-"));
  const seed = Number(process.env["SKEIN_SEED"] ?? Math.floor(Math.random() * 2 ** 31));
  console.log(`seed ${seed}`);
  const store = await options.open();
  try {
    const shared = await Promise.all([1, 2].map(async () => (await store.createSession(newSession())).id));
    const logOf = (lane: number) => join(root, `lane-${lane}.log`);
    await runWorkers({ ...options, store, shared, seed, logOf });
    const logs = lanes.map((lane) => readLog(logOf(lane)).steps);
    const done = logs.flat().filter((step) => step.done !== null);
    console.log(
      `${done.length} steps`,
      Object.entries(Object.groupBy(done, (step) => step.tried.op))
        .map(([op, steps]) => `${op} ${steps.length}`)
        .join(", "),
    );
    expect(done.length).toBeGreaterThan(options.minSteps);
    await store.purge({ session: null, archivedBefore: 0, dryRun: false });
    const model = modelOf(logs, shared);
    await compareSessions(store, model);
    await compareNodes(store, model);
    await compareTurns(store, model);
  } finally {
    await store.close();
    rmSync(root, { recursive: true, force: true });
  }
}

/** Kills random workers, checks whether their last operation was stored, and restarts them. Ends all workers by a kill too. */
async function runWorkers({ targetOf, afterKill, outputsDir, store, shared, seed, logOf, minSteps }: Storm): Promise<void> {
  let next = seed;
  const program = join(import.meta.dir, "../../src/store/fixtures/stress-worker.ts");
  const start = (lane: number) =>
    Bun.spawn([process.execPath, program, targetOf(lane), outputsDir, logOf(lane), String(lane), String(next++), shared.join(",")], {
      stdin: "ignore",
      stdout: "inherit",
      stderr: "inherit",
    });
  const workers = lanes.map(start);
  const stop = async (lane: number) => {
    expect(workers[lane]!.exitCode).toBeNull();
    workers[lane]!.kill("SIGKILL");
    await workers[lane]!.exited;
    await afterKill?.(lane);
    await settle(store, logOf(lane));
  };
  const steps = () => lanes.reduce((sum, lane) => sum + readLog(logOf(lane)).steps.length, 0);
  try {
    for (let killed = 0; killed < kills || steps() < minSteps * 1.2; killed++) {
      await Bun.sleep(200 + ((seed + killed * 7919) % 400));
      const lane = (seed + killed) % lanes.length;
      await stop(lane);
      workers[lane] = start(lane);
    }
    await Bun.sleep(300);
    for (const lane of lanes) await stop(lane);
  } finally {
    for (const worker of workers) worker.kill("SIGKILL");
  }
}

async function compareSessions(store: Store, model: Model): Promise<void> {
  const stored = [
    ...(await store.listSessions({ project: null, subSessions: true })),
    ...(await store.listSessions({ project: null, subSessions: true, archived: true })),
  ];
  const actual = stored.map(({ id, name, tip, archivedAt }) => [id, { name, tip, isArchived: archivedAt !== null }] as const);
  const expected = [...model.sessions].map(([id, { name, tip, isArchived }]) => [id, { name, tip, isArchived }] as const);
  expect(Object.fromEntries(actual)).toEqual(Object.fromEntries(expected));
}

async function compareNodes(store: Store, model: Model): Promise<void> {
  const neededIds = neededNodes(model);
  for (const id of neededIds) {
    const node = await store.node(id);
    const part = node?.parts[0];
    const { parent, text, session } = model.nodes.get(id)!;
    expect({
      parent: node?.parent,
      text: part?.kind === "text" || part?.kind === "result" ? part.text : null,
      session: node?.session,
    }).toEqual({ parent, text, session });
  }
  const report = await store.verify({});
  expect(report.problems).toEqual([]);
  expect(report.nodes).toBe(neededIds.size);
  const texts = [...neededIds].map((id) => model.nodes.get(id)!.text).filter((text) => text !== "");
  for (const text of texts.filter((_, index) => index % Math.ceil(texts.length / 100) === 0)) {
    expect(await store.search(`"${text}"`, { project: null, limit: 2 })).toHaveLength(1);
  }
  for (const [output, { session, bytes }] of model.outputs) {
    if (!model.sessions.has(session)) continue;
    expect((await new Response(await store.readOutput(output)).arrayBuffer()).byteLength).toBe(bytes);
  }
}

async function compareTurns(store: Store, model: Model): Promise<void> {
  for (const [id, { session, parent, status }] of model.turns) {
    if (model.sessions.has(session)) expect(await store.turn(id)).toMatchObject({ session, parent, status });
  }
}
