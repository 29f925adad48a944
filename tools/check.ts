// Everything `npm test` runs, in order, each step named; `check.ts real` is the tier with real agents, a real terminal, a
// real Postgres and real installations, which needs the registry. Stops after the first step that fails.
import { Glob } from "bun";
import { cpus } from "node:os";

const root = `${import.meta.dir}/..`;
const bin = (name: string) => `${root}/node_modules/.bin/${name}`;
const bun = process.execPath;

/** Each lane takes the next command when it has ended one. */
type Step = { name: string; commands: string[][]; lanes?: number };

const plain: Step[] = [
  { name: "format", commands: [[bin("oxfmt"), "--check", "src", "test", "tools", "bench", "examples"]] },
  { name: "types", commands: [[bin("tsc"), "--noEmit", "-p", root]] },
  { name: "lint", commands: [[bin("oxlint"), "--type-aware", "--deny-warnings", "src", "test", "tools", "bench", "examples"]] },
  { name: "dead code", commands: [[bin("knip"), "--no-progress"]] },
  { name: "unit tests", commands: [[bun, "test", "src", "test/house.test.ts", "test/support", "bench"]] },
  // Most of what a walk does is wait: one more than there are processors keeps these busy.
  { name: "walks", commands: filesIn("test/walks", 120), lanes: cpus().length + 1 },
  { name: "escape", commands: [[bun, "test", "--timeout", "120000", "test/escape"]] },
  { name: "containment", commands: [[bun, "test", "--timeout", "300000", "test/containment"]] },
];

const real: Step[] = [
  { name: "machine", commands: [[bun, "test", "--timeout", "120000", "test/machine"]] },
  { name: "agents", commands: filesIn("test/clis", 300), lanes: cpus().length },
  { name: "installation", commands: [[bun, "test", "--timeout", "120000", "test/install"]] },
];

for (const { name, commands, lanes = 1 } of process.argv[2] === "real" ? real : plain) {
  process.stdout.write(`\n── ${name}\n`);
  const waiting = [...commands];
  const failed: string[] = [];
  const lane = async (): Promise<void> => {
    for (let command = waiting.shift(); command !== undefined; command = waiting.shift())
      if (!(await succeeds(command, lanes > 1))) failed.push(command.at(-1)!);
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  if (failed.length === 0) continue;
  process.stderr.write(`\n${name} failed: ${failed.join(", ")}\n`);
  process.exit(1);
}

/** One of several at once says what it has to say in one piece, at its end. */
async function succeeds(command: string[], isOneOfMany: boolean): Promise<boolean> {
  const where = isOneOfMany ? "pipe" : "inherit";
  const child = Bun.spawn(command, { cwd: root, stdin: "ignore", stdout: where, stderr: where });
  const said = isOneOfMany ? await Promise.all([child.stdout, child.stderr].map((stream) => new Response(stream ?? null).text())) : [];
  const code = await child.exited;
  process.stdout.write(said.join(""));
  return code === 0;
}

function filesIn(folder: string, seconds: number): string[][] {
  const files = [...new Glob(`${folder}/*.test.ts`).scanSync({ cwd: root })].sort();
  return files.map((file) => [bun, "test", "--timeout", `${seconds * 1000}`, file]);
}
