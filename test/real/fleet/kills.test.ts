// Kills workers at random moments while they work on several runs each. Nothing that was stored or shown is lost, one worker owns a
// session at a time, and every run ends. SKEIN_KILLS is the number of interrupted turns, SKEIN_SEED repeats the moments.
// Needs root and Debian's Postgres.
import { afterAll, beforeAll, expect } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { waitUntil, type RunningWorker } from "../../support/machines.ts";
import { fileOn, onMachines, shell, startFleetIfPossible, type FleetMachines } from "../../support/fleet-machines.ts";

const wanted = Number(process.env["SKEIN_KILLS"] ?? 4);
const seed = Number(process.env["SKEIN_SEED"] ?? Math.floor(Math.random() * 2 ** 31));
const stepCount = 20;
const openRuns = 8;

let fleet: FleetMachines;
beforeAll(async () => {
  const started = await startFleetIfPossible();
  if (started !== null) fleet = started;
}, 120_000);
afterAll(() => fleet?.close(), 60_000);

type Part = { kind: string; id?: string; call?: string; text?: string; isError?: boolean; input?: { command?: string } };

onMachines(
  "runs whose workers are killed at random moments end with everything that was stored, shown and written",
  async () => {
    console.log(`seed ${seed}`);
    const random = seeded(seed);
    const { person, first, second, model, status, startWorker } = fleet;
    await using sql = fleet.server.connect("d1");
    const steps = Array.from({ length: stepCount }, (_, n) => shell(`sleep 0.2; echo line-${n} >> counted.txt`));
    await model.setScript({ steps, final: "counted to the end" });
    const machines = [first, second];
    const workers: RunningWorker[] = [await startWorker(first, "--slots", "4"), await startWorker(second, "--slots", "4")];
    const sessions: string[] = [];
    const watching = new Map<string, Promise<string>>();
    let [interrupted, kills] = [0, 0];
    while (interrupted < wanted) {
      const missing = Math.max(0, openRuns - (await openNow()).length);
      await Promise.all(Array.from({ length: missing }, send));
      await Bun.sleep(random() * 3_000);
      const victim = kills % 2;
      const worker = workers[victim]!;
      const own = (await status()).runs.filter(({ state, machine }) => state === "running" && machine === machines[victim]!.name);
      // A run that ends three workers is dead, by design.
      if (own.length === 0 || own.some(({ attempts }) => attempts > 2)) continue;
      await worker.kill();
      const [row] = await sql.unsafe("select count(*)::int as n from skein.runs where state = 'running' and worker = $1", [worker.id]);
      await waitUntil("no process of the killed worker is left", () => machines[victim]!.processes().length === 0);
      interrupted += Number(row.n);
      kills += 1;
      console.log(`kill ${kills}: ${interrupted} interrupted turns`);
      workers[victim] = await startWorker(machines[victim]!, "--slots", "4");
    }
    await waitUntil("every run ends", async () => (await openNow()).length === 0);
    const runs = (await status()).runs.filter(({ session }) => sessions.includes(session));
    const attempts = runs.reduce((sum, run) => sum + run.attempts, 0);
    console.log(`${runs.length} runs, ${kills} kills of a worker, ${interrupted} interrupted turns, ${attempts} attempts`);
    expect(runs.filter(({ state, why }) => state !== "done" || why !== null)).toEqual([]);
    expect(attempts).toBeLessThanOrEqual(runs.length + interrupted);
    let leftOpen = 0;
    for (const session of sessions) leftOpen += await checkSession(session);
    console.log(`${leftOpen} calls were answered with what is known of them`);
    for (const [session, shown] of watching) {
      const stored = storedOnly((await person.run(["logs", session, "--json"])).out);
      expect(stored).toEqual(expect.arrayContaining(storedOnly(await shown)));
    }
    const problems = await person.run(["verify", "--json"]);
    expect(problems.code).toBe(0);

    async function send(): Promise<void> {
      const sent = await person.run([
        "run",
        "--fleet",
        "--detach",
        "--json",
        `count ${sessions.length}`,
        "-m",
        "anthropic/claude-sonnet-4-5",
      ]);
      expect([sent.code, sent.err]).toEqual([0, ""]);
      const session = String(sent.json()["session_id"]);
      sessions.push(session);
      if (sessions.length % 4 === 1)
        watching.set(
          session,
          person.run(["logs", "-f", "--json", session]).then(({ out }) => out),
        );
    }

    async function openNow() {
      return (await status()).runs.filter(({ state }) => state === "waiting" || state === "running");
    }

    /** Returns the number of calls that a killed worker left open. */
    async function checkSession(id: string): Promise<number> {
      const nodes: { body: string }[] = await sql.unsafe(
        `select c.body from skein.nodes c join skein.sessions s on s.n = c.session where s.id = $1 order by c.n`,
        [id],
      );
      const parts = nodes.flatMap(({ body }) => (JSON.parse(body) as { parts: Part[] }).parts);
      const calls = parts.filter(({ kind }) => kind === "call");
      const results = new Map(parts.filter(({ kind }) => kind === "result").map((part) => [part.call, part]));
      expect([id, calls.map((call) => call.id).filter((call) => !results.has(call))]).toEqual([id, []]);
      expect(parts.at(-1)?.text).toBe("counted to the end");
      const [events] = await sql.unsafe(
        `select count(*)::int as n, max(e.seq)::int as last from skein.events e join skein.sessions s on s.n = e.session where s.id = $1`,
        [id],
      );
      expect([id, events.n]).toEqual([id, events.last]);
      const packs: { epoch: string }[] = await sql.unsafe("select epoch from skein.packs where session = $1 order by n", [id]);
      const epochs = packs.map(({ epoch }) => Number(epoch));
      expect(epochs).toEqual(epochs.toSorted((a, b) => a - b));
      const left = calls.filter((call) => results.get(call.id)?.isError === true);
      const isWarned = parts.some(({ text }) => text?.includes("Changes of your latest calls are missing") === true);
      const ends = machines.map((machine) => fileOn(machine, id, "counted.txt")).filter((path) => existsSync(path));
      const files = ends.map((path) => readFileSync(path, "utf8").split("\n"));
      const done = calls
        .filter((call) => results.get(call.id)?.isError === false)
        .map(({ input }) => /line-\d+/.exec(input?.command ?? "")![0]);
      // Known: the changes of the very last call can be missing without a warning. docs/FLEET.md says so.
      const missing = files.map((lines) => done.filter((line) => !lines.includes(line)));
      if (!isWarned && missing.every((lines) => lines.length > 0)) console.log(`session ${id}: changes are missing without a warning`);
      if (!isWarned) expect([id, missing.some((lines) => lines.length <= 1)]).toEqual([id, true]);
      return left.length;
    }
  },
  900_000,
);

/** Lines of events that are stored; the others are only shown while they happen. */
function storedOnly(text: string): string[] {
  return text.split("\n").filter((line) => line.includes('"seq"') && !line.includes('"n":'));
}

function seeded(start: number): () => number {
  let state = start;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32;
    return state / 2 ** 32;
  };
}
