// Starts a sandboxed program directly, without the executor, like the CLI of an agent. Run it as the user of the sandbox.
// Its argument is the request, its output is the output of the program.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Policy } from "../../../src/protocol/api/policy.ts";
import { createGitPlaceholders } from "../../../src/sandbox/git-paths.ts";
import { probeSandbox } from "../../../src/sandbox/probe.ts";
import { type Tier, sandboxCommand } from "../../../src/sandbox/sandbox-command.ts";
import { createSandboxRules } from "../../../src/sandbox/rules.ts";

export type ForeignRequest = {
  policy: Policy;
  best: Tier;
  project: string;
  home: string;
  own: { config: string; data: string; state: string };
  command: string[];
  /** A file that is open as 9 when the sandbox starts. Bun itself would have closed it. */
  held: string;
  maxProcesses?: number;
  unixSockets?: boolean;
};

async function main(): Promise<void> {
  const order = JSON.parse(process.argv[2]!) as ForeignRequest;
  const { policy, project, home, own } = order;
  const self = [process.execPath, "--config=/dev/null", "--no-env-file", join(import.meta.dir, "../../../src/main.ts")];
  const machine = await probeSandbox({ selfCommand: self, path: process.env["PATH"] ?? "", best: order.best });
  if (machine.tier !== order.best) throw new Error(`asked for ${order.best}, found ${machine.tier}: ${machine.why}`);
  const [temp, copies] = ["files", "copies"].map((name) => join(own.data, "tmp/foreign", name)) as [string, string];
  for (const path of [temp, copies]) mkdirSync(path, { recursive: true, mode: 0o700 });
  createGitPlaceholders(project);
  const isRoot = process.getuid?.() === 0;
  const places = {
    project,
    directory: project,
    home,
    own: { ...own, cache: join(home, ".cache/skein") },
    temp,
    copies,
    isRoot,
    unixSockets: order.unixSockets ?? false,
  };
  const found = createSandboxRules(policy, places);
  const walls = { ...found, maxProcesses: order.maxProcesses ?? found.maxProcesses };
  const words = sandboxCommand({ command: order.command, cwd: project, rules: walls, support: machine, selfCommand: self });
  const child = Bun.spawn(["/bin/bash", "-c", 'exec 9<>"$0"; exec "$@"', order.held, ...words], {
    cwd: project,
    env: { ...process.env, TMPDIR: temp },
    stdio: ["ignore", "inherit", "inherit"],
    // As run-cli does: what has a session of its own has no terminal.
    detached: true,
  });
  process.exitCode = await child.exited;
}

void main();
