// Starts processes until the kernel refuses, which may also end this one, or until the given number is reached. It
// prints the count after each.
import { writeSync } from "node:fs";

const count = Number(process.argv[2]);
const children: Bun.Subprocess[] = [];
try {
  while (children.length < count) {
    children.push(Bun.spawn(["sleep", "60"], { stdio: ["ignore", "ignore", "ignore"] }));
    writeSync(1, `STARTED ${children.length}\n`);
  }
} finally {
  for (const child of children) child.kill("SIGKILL");
  process.exit(0);
}
