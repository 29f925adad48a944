// Failures of machines with networks, processes and boot ids of their own: a worker is cut off, stopped or killed, and the database
// is away for longer than a worker may be silent. Needs root and Debian's Postgres.
import { afterAll, afterEach, beforeAll, expect } from "bun:test";
import { readFileSync } from "node:fs";
import { waitUntil } from "../../support/machines.ts";
import { fileOn, onMachines, shell, sizeOn, startFleetIfPossible, type FleetMachines } from "../../support/fleet-machines.ts";

let fleet: FleetMachines;

beforeAll(async () => {
  const started = await startFleetIfPossible();
  if (started !== null) fleet = started;
}, 120_000);
afterEach(() => fleet?.killWorkers(), 60_000);
afterAll(() => fleet?.close(), 60_000);

/** Sends a task whose second command writes until the file `stop` is there, and waits until the first machine works on it. */
async function sendWriter(task: string) {
  const { model, send, runningSession, first } = fleet;
  const command = "while [ ! -e stop ]; do date >> ticks; sleep 0.05; done";
  await model.clear();
  await model.setScript({ steps: [shell("echo 1 > one.txt"), shell(command)], final: `${task}: done` });
  const result = send(task);
  const session = await runningSession();
  await waitUntil("the command writes", () => sizeOn(first, session, "ticks") > 0);
  return { session, result };
}

async function expectTakenOver({ session, result }: Awaited<ReturnType<typeof sendWriter>>, task: string): Promise<void> {
  const { code, out } = await result;
  expect([code, out]).toEqual([0, `${task}: done\n`]);
  expect(await fleet.runOf(session)).toMatchObject({ state: "done", attempts: 2, why: null });
  expect(readFileSync(fileOn(fleet.second, session, "one.txt"), "utf8")).toBe("1\n");
  expect(JSON.stringify(await fleet.model.requests())).toContain("skein was killed while this call was running");
}

onMachines(
  "a worker that is cut off is paused before another one continues, and works again when it is connected",
  async () => {
    const { first, second, startWorker, runOf, isListed, send, model } = fleet;
    const cut = await startWorker(first, "--slots", "1");
    const sent = await sendWriter("cut off");
    const { session } = sent;
    const other = await startWorker(second, "--slots", "1");
    await first.cutOff();
    await waitUntil("the run is taken over", async () => (await runOf(session)).machine === "m3");
    const frozen = sizeOn(first, session, "ticks");
    await expectTakenOver(sent, "cut off");
    expect(await isListed(cut)).toBe(false);
    expect(sizeOn(first, session, "ticks")).toBe(frozen);
    expect((await model.requests()).length).toBe(3);
    await first.reconnect();
    await waitUntil("the worker is there again", () => isListed(cut));
    await waitUntil("the old turn's processes are gone", () => !first.processes().some((line) => line.includes("sleep 0.05")));
    await second.signal("TERM", other.pid);
    expect(await other.exited).toBe(0);
    await model.setScript({ steps: [], final: "by the first again" });
    expect((await send("one more")).out).toBe("by the first again\n");
  },
  180_000,
);

onMachines(
  "a worker that is stopped for longer than its time writes nothing when it continues",
  async () => {
    const { first, second, person, startWorker, runOf, isListed } = fleet;
    const stopped = await startWorker(first, "--slots", "1");
    const sent = await sendWriter("stopped");
    const { session } = sent;
    await startWorker(second, "--slots", "1");
    await stopped.stop();
    await waitUntil("the run is taken over", async () => (await runOf(session)).machine === "m3");
    await expectTakenOver(sent, "stopped");
    const before = (await person.run(["logs", session, "--json"])).out;
    await stopped.continue();
    await waitUntil("the worker is there again", () => isListed(stopped));
    await waitUntil("the old turn's processes are gone", () => !first.processes().some((line) => line.includes("sleep 0.05")));
    expect((await person.run(["logs", session, "--json"])).out).toBe(before);
  },
  180_000,
);

onMachines(
  "a worker that is killed leaves no process, and another machine continues its run",
  async () => {
    const { first, second, startWorker } = fleet;
    const killed = await startWorker(first, "--slots", "1");
    const sent = await sendWriter("killed");
    await startWorker(second, "--slots", "1");
    await killed.kill();
    await waitUntil("no process is left", () => first.processes().length === 0);
    await expectTakenOver(sent, "killed");
  },
  180_000,
);

onMachines(
  "a database that is away for three times the limit takes no run away, and every run goes on",
  async () => {
    const { first, second, server, person, startWorker, runOf } = fleet;
    await startWorker(first, "--slots", "1");
    const { session, result } = await sendWriter("outage");
    await startWorker(second, "--slots", "1");
    await server.stop("immediate");
    await Bun.sleep(12_000); // The worker freezes its processes after 7 s.
    const frozen = sizeOn(first, session, "ticks");
    await Bun.sleep(12_000); // together three times the limit of 8 s
    expect(sizeOn(first, session, "ticks")).toBe(frozen);
    await server.start();
    await waitUntil("the command writes again", () => sizeOn(first, session, "ticks") > frozen);
    await Bun.write(fileOn(first, session, "stop"), "");
    await result; // the person's command may have given up meanwhile
    await waitUntil("the run ends", async () => (await runOf(session)).state === "done");
    expect(await runOf(session)).toMatchObject({ attempts: 1, why: null });
    expect((await person.run(["show", session])).out).toContain("outage: done");
  },
  180_000,
);
