// Runs inside the sandbox: makes every attempt in order and prints the result. Its argument is the file with the targets.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { attempts } from "./attempts.ts";
import type { AttemptReport, World } from "./world.ts";

const patienceMs = 5000;

async function main(): Promise<void> {
  const world = JSON.parse(readFileSync(process.argv[2]!, "utf8")) as World;
  process.chdir(world.project);
  const said: AttemptReport[] = [];
  for (const { name, run } of attempts) {
    try {
      const late = Promise.withResolvers<never>();
      const clock = setTimeout(() => late.reject(new Error("it did not come back")), patienceMs);
      const text = await Promise.race([(async () => run(world, join(world.outside, name)))(), late.promise]).finally(() =>
        clearTimeout(clock),
      );
      said.push({ name, isDone: true, text: typeof text === "string" ? text : "" });
    } catch (error) {
      said.push({ name, isDone: false, text: error instanceof Error ? error.message : String(error) });
    }
  }
  for (const one of said) one.text = one.text.includes(world.token) ? world.token : one.text.slice(0, 70);
  process.stdout.write(`SAID ${JSON.stringify(said)}\n`, () => process.exit(0));
}

void main();
