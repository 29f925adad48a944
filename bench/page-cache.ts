// Puts the programs of all contenders into the same state in the page cache. The kernel maps more around each fault of a file that
// was just written than of one that was read from the disk, and such a process shows up to 9 MB more.
import { existsSync } from "node:fs";
import { isAbsolute } from "node:path";
import type { Contender } from "./contenders.ts";

/** Pages that a running process has mapped stay. */
export async function dropFromPageCache(contenders: readonly Contender[]): Promise<void> {
  const words = contenders.flatMap((contender) => contender.command("task"));
  for (const file of new Set(words.filter((word) => isAbsolute(word) && existsSync(word)))) {
    await run(["sync", file]);
    await run(["dd", `if=${file}`, "iflag=nocache", "count=0", "status=none"]);
  }
}

async function run(command: string[]): Promise<void> {
  if ((await Bun.spawn(command, { stdin: "ignore", stdout: "ignore", stderr: "inherit" }).exited) !== 0)
    throw new Error(`failed: ${command.join(" ")}`);
}
