// Runs many turns at once, each with an agent's CLI. Checks their events, kills skein in the middle, and resumes them.
import { expect } from "bun:test";
import { join } from "node:path";
import { readEvents, type PrintedEvent } from "./read-events.ts";
import { waitForNoProcesses, processesOf } from "./processes.ts";
import type { TemporaryHome } from "./temporary-home.ts";

export type Child = {
  agent: string;
  /** More arguments for `skein run`. */
  args: string[];
  env: Record<string, string>;
};

/** The result of one turn. `authors` are the authors of its nodes, in order. */
export type ChildResult = { child: Child; id: string; code: number; authors: string[]; answer: string };

/** Runs all turns to their ends. Writes a file after each result and first text, for which a fake's `stepwise` waits. */
export function runAll(skein: TemporaryHome, children: Child[], prompt: string): Promise<ChildResult[]> {
  return Promise.all(
    children.map(async (child) => {
      const id = Bun.randomUUIDv7();
      const run = start(skein, child, [prompt, "--session-id", id]);
      let steps = 0;
      for await (const _ of stepsOf(run)) {
        steps += 1;
        await Bun.write(join(skein.project, `seen-${id}-${steps}`), "");
      }
      const { code } = await run.ended;
      const authors = run.printed.flatMap(({ node }) => (node === undefined ? [] : [node.author]));
      return { child, id, code, authors, answer: textIn(run.printed.findLast(({ node }) => node !== undefined)) };
    }),
  );
}

/** Starts a second turn in every session and kills skein in the middle of all turns. No process may be left. */
export async function killAll(
  skein: TemporaryHome,
  results: ChildResult[],
  prompt: string,
  isInTheMiddle: (event: PrintedEvent) => boolean,
): Promise<void> {
  const runs = results.map(({ child, id }) => start(skein, child, [prompt, "--resume", id]));
  const events = await Promise.all(runs.map((run) => run.until(isInTheMiddle)));
  expect(events.filter((event) => event === null)).toEqual([]);
  expect(processesOf(skein.root).length).toBeGreaterThan(2 * runs.length);
  for (const { child } of runs) child.kill("SIGKILL");
  await Promise.all(runs.map(({ ended }) => ended));
  expect(await waitForNoProcesses(skein.root, 20_000)).toEqual([]);
}

/** Resumes every session, two at a time. */
export async function resumeAll(
  skein: TemporaryHome,
  results: ChildResult[],
  prompt: string,
): Promise<{ agent: string; code: number; status: unknown }[]> {
  const waiting = [...results];
  const ended: { agent: string; code: number; status: unknown }[] = [];
  const lane = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const { child, id } = next;
      const ran = await skein.run(["run", prompt, "--resume", id, ...child.args, "--output-format", "json", "--timeout", "200s"], {
        env: child.env,
      });
      ended.push({ agent: child.agent, code: ran.code, status: ran.json()["status"] });
    }
  };
  await Promise.all([lane(), lane()]);
  return ended;
}

function start(skein: TemporaryHome, { agent, args, env }: Child, promptArgs: string[]) {
  return readEvents(skein.start(["run", ...promptArgs, "-a", agent, ...args, "--output-format", "events", "--timeout", "200s"], { env }));
}

/** Yields for each printed tool result and for each printed text. */
async function* stepsOf(run: ReturnType<typeof readEvents>): AsyncGenerator<void> {
  for (let yielded = 0; ;) {
    const printed = run.printed.filter(({ type, node }) => type === "text.delta" || node?.author === "tool").length;
    if (printed > yielded) {
      yielded += 1;
      yield;
    } else if ((await Promise.race([run.ended.then(() => true), Bun.sleep(20).then(() => false)])) && printed === yielded) return;
  }
}

function textIn(event: PrintedEvent | undefined): string {
  return (event?.node?.parts ?? []).map(({ text }) => text ?? "").join("");
}
