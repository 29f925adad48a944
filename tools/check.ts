// Everything `npm test` runs, in order, each step named; `check.ts real` is the tier with real agents, a real terminal, a
// real Postgres and real installations, which needs the registry. Stops at the first that fails.
import { Glob } from "bun";

const root = `${import.meta.dir}/..`;
const bin = (name: string) => `${root}/node_modules/.bin/${name}`;
const bun = process.execPath;

/** Commands of one step run at the same time. */
type Step = [name: string, ...commands: string[][]];

const plain: Step[] = [
  ["format", [bin("oxfmt"), "--check", "src", "test", "tools", "bench", "examples"]],
  ["types", [bin("tsc"), "--noEmit", "-p", root]],
  ["lint", [bin("oxlint"), "--type-aware", "--deny-warnings", "src", "test", "tools", "bench", "examples"]],
  ["dead code", [bin("knip"), "--no-progress"]],
  ["unit tests", [bun, "test", "src", "test/house.test.ts", "test/support", "bench"]],
  ["walks", ...halvesOf("test/walks").map((files) => [bun, "test", "--timeout", "120000", ...files])],
  ["escape", [bun, "test", "--timeout", "120000", "test/escape"]],
  ["containment", [bun, "test", "--timeout", "300000", "test/containment"]],
];

const real: Step[] = [
  ["machine", [bun, "test", "--timeout", "120000", "test/machine"]],
  ["agents", ...halvesOf("test/clis").map((files) => [bun, "test", "--timeout", "300000", ...files])],
  ["installation", [bun, "test", "--timeout", "120000", "test/install"]],
];

for (const [name, ...commands] of process.argv[2] === "real" ? real : plain) {
  process.stdout.write(`\n── ${name}\n`);
  const codes = await Promise.all(commands.map(run));
  const code = codes.find((one) => one !== 0);
  if (code === undefined) continue;
  process.stderr.write(`\n${name} failed (exit ${code})\n`);
  process.exit(1);
}

/** The first speaks as it goes; what the others have to say follows in one piece. */
async function run(command: string[], at: number): Promise<number> {
  const where = at === 0 ? "inherit" : "pipe";
  const child = Bun.spawn(command, { cwd: root, stdin: "ignore", stdout: where, stderr: where });
  const said = at === 0 ? [] : await Promise.all([child.stdout, child.stderr].map((stream) => new Response(stream ?? null).text()));
  const code = await child.exited;
  process.stdout.write(said.join(""));
  return code;
}

function halvesOf(folder: string): string[][] {
  const files = [...new Glob(`${folder}/*.test.ts`).scanSync({ cwd: root })].sort();
  return [0, 1].map((half) => files.filter((_, at) => at % 2 === half));
}
