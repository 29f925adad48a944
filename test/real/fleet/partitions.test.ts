// A worker is cut off for some seconds, in the middle of a command and in the middle of an answer. SKEIN_CUTS has other lengths.
// Needs root and Debian's Postgres.
import { afterAll, afterEach, beforeAll, expect } from "bun:test";
import { waitUntil } from "../../support/machines.ts";
import { fileOn, onMachines, shell, sizeOn, startFleetIfPossible, type FleetMachines } from "../../support/fleet-machines.ts";

const cuts = (process.env["SKEIN_CUTS"] ?? "6,20").split(",").map(Number);
/** After this many seconds without a heartbeat another worker may take a run over. */
const limitSeconds = 8;

let fleet: FleetMachines;
beforeAll(async () => {
  const started = await startFleetIfPossible();
  if (started !== null) fleet = started;
}, 120_000);
afterEach(() => fleet?.killWorkers(), 60_000);
afterAll(() => fleet?.close(), 60_000);

const command = "while [ ! -e stop ]; do date >> ticks; sleep 0.05; done";
const answer = Array.from({ length: 300 }, (_, n) => `word${n}`).join(" ");

for (const seconds of cuts)
  for (const moment of ["a command", "an answer"] as const) {
    const outcome = seconds < limitSeconds ? "goes on where it was" : "sends and writes nothing more, and another worker goes on";
    onMachines(
      `a worker that is cut off for ${seconds} s in the middle of ${moment} ${outcome}`,
      async () => {
        const { first, second, model, send, startWorker, runningSession, runOf, isListed } = fleet;
        const isCommand = moment === "a command";
        await model.clear();
        const middle = isCommand ? shell(command) : { text: answer, calls: [{ input: { command: "echo 2 > two.txt" } }] };
        await model.setScript({ steps: [shell("echo 1 > one.txt"), middle], final: "the end" });
        await model.setFault(isCommand ? null : { type: "slow", delayMs: 150 }, 2);
        const cut = await startWorker(first, "--slots", "1");
        const result = send(`cut for ${seconds} s`);
        const session = await runningSession();
        const isInTheMiddle = async () => (isCommand ? sizeOn(first, session, "ticks") > 0 : (await model.requests()).length === 2);
        await waitUntil("the worker is in the middle", isInTheMiddle);
        await startWorker(second, "--slots", "1");
        await first.cutOff();
        const cutAt = performance.now();
        const isTakenOver = seconds > limitSeconds;
        if (isTakenOver) await waitUntil("the run is taken over", async () => (await runOf(session)).machine === "m3");
        const tookMs = performance.now() - cutAt;
        const ticks = sizeOn(first, session, "ticks");
        if (isTakenOver) expect((await result).out).toEndWith("the end\n");
        const requests = (await model.requests()).length;
        await Bun.sleep(Math.max(0, seconds * 1000 - (performance.now() - cutAt)));
        if (isTakenOver) expect(sizeOn(first, session, "ticks")).toBe(ticks);
        await first.reconnect();
        if (isTakenOver) {
          await waitUntil("the worker is there again", () => isListed(cut));
          await waitUntil("the old turn's processes are gone", () => !first.processes().some((line) => line.includes("sleep 0.05")));
          expect(sizeOn(first, session, "ticks")).toBe(ticks);
          expect(sizeOn(first, session, "two.txt")).toBe(0);
          expect((await model.requests()).length).toBe(requests);
          console.log(`taken over after ${Math.round(tookMs)} ms`);
        } else {
          if (isCommand) await waitUntil("the command writes again", () => sizeOn(first, session, "ticks") > ticks);
          await Bun.write(fileOn(first, session, "stop"), "");
          expect((await result).out).toEndWith("the end\n");
        }
        expect(await runOf(session)).toMatchObject({ state: "done", attempts: isTakenOver ? 2 : 1, why: null });
      },
      240_000,
    );
  }
