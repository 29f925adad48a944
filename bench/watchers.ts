// Measures the cost of watchers for a run: without any, and with a hundred of which ten never read, interleaved, at the
// model's server. Writes WATCHERS.md; `-- --quick` does not.
import { readdirSync, writeFileSync } from "node:fs";
import { cpus, loadavg, release } from "node:os";
import { join } from "node:path";
import { longRunModel, startLongRun, type LongRun } from "../test/support/long-run.ts";
import { readEvents } from "../test/support/read-events.ts";
import { temporaryHome, vendorEnv, type TemporaryHome } from "../test/support/temporary-home.ts";
import { median } from "./table.ts";

const isQuick = process.argv.includes("--quick");
const rounds = isQuick ? 1 : 7;
const crowd = { readers: 90, stalled: 10 };

const paces = {
  "at a model's pace: 100 pieces of text a second, 4 calls after each 100": { steps: 4, calls: 4, words: 100, pauseMs: 9 },
  "as fast as it can: 10,000 events without a pause": { steps: 80, calls: 40, words: 10, pauseMs: 1 },
} satisfies Record<string, LongRun>;
type Pace = keyof typeof paces;

type Figures = { alone: number[]; watched: number[] };
const figures = new Map<Pace, Figures>();
for (const pace of Object.keys(paces) as Pace[]) {
  const result: Figures = { alone: [], watched: [] };
  for (let round = 0; round < rounds; round++) {
    result.alone.push(await measure(pace, "alone"));
    result.watched.push(await measure(pace, "watched"));
  }
  figures.set(pace, result);
}
const report = text();
console.log(report);
if (!isQuick) await Bun.write(join(import.meta.dir, "WATCHERS.md"), report);

/** Milliseconds from the second request to the last one. All watchers are connected by then. */
async function measure(pace: Pace, side: keyof Figures): Promise<number> {
  const ready = Promise.withResolvers<void>();
  const times: number[] = [];
  const server = startLongRun({
    ...paces[pace],
    async beforeStep(step) {
      if (step === 0) await ready.promise;
      times.push(performance.now());
    },
  });
  using temp = temporaryHome(vendorEnv(server.url));
  writeFileSync(join(temp.project, "note.txt"), "a note\n");
  try {
    const run = readEvents(temp.start(["run", "go", "--session", "run", "-m", longRunModel, "--output-format", "events"]));
    const started = await run.until((event) => event.type === "turn.started");
    const watching = side === "alone" || started === null ? null : await watch(temp, started.session_id);
    ready.resolve();
    const { code, err } = await run.ended;
    if (code !== 0) throw new Error(err);
    const durableCount = run.printed.filter((event) => !("n" in event) && event.type !== "result").length;
    const counts = (await watching?.ended) ?? [];
    if (counts.some((count) => count !== durableCount))
      throw new Error(`of ${durableCount} durable events watchers got ${counts.join(", ")}`);
    if (isQuick) console.error(pace, side, times.at(-1)! - times[1]!);
    return times.at(-1)! - times[1]!;
  } finally {
    await server.stop();
  }
}

async function watch(temp: TemporaryHome, session: string): Promise<{ ended: Promise<number[]> }> {
  const directory = join(temp.env["SKEIN_HOME"] as string, "state", "run");
  const socket = await waitForSocket(directory);
  const args = [socket, session, String(crowd.readers), String(crowd.stalled)];
  const child = Bun.spawn([process.execPath, join(import.meta.dir, "crowd.ts"), ...args], {
    cwd: temp.project,
    env: temp.env,
    stdout: "pipe",
    stderr: "inherit",
  });
  const ready = Promise.withResolvers<void>();
  const ended = (async () => {
    let printed = "";
    for await (const chunk of child.stdout) {
      printed += new TextDecoder().decode(chunk);
      if (printed.includes("ready\n")) ready.resolve();
    }
    if ((await child.exited) !== 0) throw new Error("the watchers failed");
    return JSON.parse(printed.split("\n")[1] ?? "[]") as number[];
  })();
  await Promise.race([ready.promise, ended]);
  return { ended };
}

/** The socket is created shortly after the turn has started. */
async function waitForSocket(directory: string): Promise<string> {
  for (let tries = 0; tries < 200; tries++) {
    try {
      const [name] = readdirSync(directory).filter((entry) => entry.endsWith(".sock"));
      if (name !== undefined) return join(directory, name);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    }
    await Bun.sleep(10);
  }
  throw new Error(`no socket in ${directory}`);
}

function text(): string {
  const rows = [...figures].map(([pace, { alone, watched }]) => {
    const ratio = median(watched) / median(alone);
    return `| ${pace} | ${cell(alone)} | ${cell(watched)} | ${ratio.toFixed(2)} |`;
  });
  const load = loadavg().map((value) => value.toFixed(1));
  return `# Cost of watchers for a run

${new Date().toISOString().slice(0, 10)}, \`npm run bench:watchers\`; Bun ${Bun.version}, Linux ${release().split(".", 2).join(".")}, ${cpus().length} cores, load ${load.join(" ")} at the end.

One run in its own process, without watchers and with ${crowd.readers + crowd.stalled} on its socket, of which ${crowd.stalled} subscribe to everything and never read. The watchers share one other process, so that the start of a hundred programs is not measured. Each reader must get every durable event, or the bench fails. Milliseconds from the second request to the last at the model's server; medians of ${rounds} runs, with the fastest in brackets. Both sides alternate. The watchers' own work is on the same machine: with ${cpus().length} cores, a burst that all of them read also takes CPU time from the run.

| the run | no watchers | ${crowd.readers + crowd.stalled} watchers | ratio |
|---|---:|---:|---:|
${rows.join("\n")}
`;
}

function cell(times: number[]): string {
  return `${median(times).toFixed(0)} (${Math.min(...times).toFixed(0)})`;
}
