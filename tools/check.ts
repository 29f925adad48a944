// Everything `npm test` runs, in order, each step named. Stops at the first that fails.
const root = `${import.meta.dir}/..`;
const bin = (name: string) => `${root}/node_modules/.bin/${name}`;
const bun = process.execPath;

const steps: [string, string[]][] = [
  ["format", [bin("oxfmt"), "--check", "src", "test", "tools", "bench"]],
  ["types", [bin("tsc"), "--noEmit", "-p", root]],
  ["lint", [bin("oxlint"), "--type-aware", "--deny-warnings", "src", "test", "tools", "bench"]],
  ["dead code", [bin("knip"), "--no-progress"]],
  ["unit tests", [bun, "test", "src", "test/house.test.ts", "test/support", "bench"]],
  ["walks", [bun, "test", "--timeout", "120000", "test/walks"]],
  ["escape", [bun, "test", "--timeout", "120000", "test/escape"]],
  ["containment", [bun, "test", "--timeout", "300000", "test/containment"]],
];

for (const [name, command] of steps) {
  process.stdout.write(`\n── ${name}\n`);
  const child = Bun.spawn(command, { cwd: root, stdin: "ignore", stdout: "inherit", stderr: "inherit" });
  const code = await child.exited;
  if (code !== 0) {
    process.stderr.write(`\n${name} failed (exit ${code})\n`);
    process.exit(1);
  }
}
