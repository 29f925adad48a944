// Runs inside the sandbox: makes every attempt in order and prints the result. Its argument is the file with the targets.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { attempts } from "./attempts.ts";
import type { AttemptReport, World } from "./world.ts";

const timeoutMs = 5000;

async function main(): Promise<void> {
  const world = JSON.parse(readFileSync(process.argv[2]!, "utf8")) as World;
  process.chdir(world.project);
  const reports: AttemptReport[] = [];
  for (const { name, run } of attempts) {
    try {
      const late = Promise.withResolvers<never>();
      const clock = setTimeout(() => late.reject(new Error("it did not end in time")), timeoutMs);
      const text = await Promise.race([(async () => run(world, join(world.outside, name)))(), late.promise]).finally(() =>
        clearTimeout(clock),
      );
      reports.push({ name, isDone: true, text: typeof text === "string" ? text : "" });
    } catch (error) {
      reports.push({ name, isDone: false, text: error instanceof Error ? error.message : String(error) });
    }
  }
  for (const report of reports) report.text = report.text.includes(world.token) ? world.token : report.text.slice(0, 70);
  process.stdout.write(`REPORT ${JSON.stringify(reports)}\n`, () => process.exit(0));
}

void main();
