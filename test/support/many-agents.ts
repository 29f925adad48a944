// Many turns at once, each by an agent's CLI: watched while they run, killed with skein in the middle, and gone on with.
import { expect } from "bun:test";
import { join } from "node:path";
import { readEvents, type PrintedEvent } from "./read-events.ts";
import { waitForNoProcesses, processesOf } from "./processes.ts";
import type { TemporaryHome } from "./temporary-home.ts";

export type Child = {
  agent: string;
  /** More words for `skein run`. */
  args: string[];
  env: Record<string, string>;
};

/** What one of them showed, as words: who spoke, in order. */
export type ChildResult = { child: Child; id: string; code: number; authors: string[]; answer: string };

/** All at once, to their ends. Who waits until it was seen (a fake's `stepwise`) is told after each result and first word. */
export function runAll(skein: TemporaryHome, children: Child[], prompt: string): Promise<ChildResult[]> {
  return Promise.all(
    children.map(async (child) => {
      const id = Bun.randomUUIDv7();
      const run = start(skein, child, [prompt, "--session-id", id]);
      let steps = 0;
      for await (const _ of shownBy(run)) {
        steps += 1;
        await Bun.write(join(skein.project, `seen-${id}-${steps}`), "");
      }
      const { code } = await run.ended;
      const authors = run.printed.flatMap(({ node }) => (node === undefined ? [] : [node.author]));
      return { child, id, code, authors, answer: textIn(run.printed.findLast(({ node }) => node !== undefined)) };
    }),
  );
}

/** All at once in their sessions again; when each is in the middle of its turn, skein is killed, and nothing may be left. */
export async function killAll(
  skein: TemporaryHome,
  shown: ChildResult[],
  prompt: string,
  isInTheMiddle: (event: PrintedEvent) => boolean,
): Promise<void> {
  const runs = shown.map(({ child, id }) => start(skein, child, [prompt, "--resume", id]));
  const seen = await Promise.all(runs.map((run) => run.until(isInTheMiddle)));
  expect(seen.filter((event) => event === null)).toEqual([]);
  expect(processesOf(skein.root).length).toBeGreaterThan(2 * runs.length);
  for (const { child } of runs) child.kill("SIGKILL");
  await Promise.all(runs.map(({ ended }) => ended));
  expect(await waitForNoProcesses(skein.root, 20_000)).toEqual([]);
}

/** The session of each goes on. */
export async function resumeAll(
  skein: TemporaryHome,
  shown: ChildResult[],
  prompt: string,
): Promise<{ agent: string; code: number; status: unknown }[]> {
  const waiting = [...shown];
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

function start(skein: TemporaryHome, { agent, args, env }: Child, words: string[]) {
  return readEvents(skein.start(["run", ...words, "-a", agent, ...args, "--output-format", "events", "--timeout", "200s"], { env }));
}

/** Each result of a call and the first words of each answer, as they are printed. */
async function* shownBy(run: ReturnType<typeof readEvents>): AsyncGenerator<void> {
  for (let seen = 0; ;) {
    const shown = run.printed.filter(({ type, node }) => type === "text.delta" || node?.author === "tool").length;
    if (shown > seen) {
      seen += 1;
      yield;
    } else if ((await Promise.race([run.ended.then(() => true), Bun.sleep(20).then(() => false)])) && shown === seen) return;
  }
}

function textIn(event: PrintedEvent | undefined): string {
  return (event?.node?.parts ?? []).map(({ text }) => text ?? "").join("");
}
