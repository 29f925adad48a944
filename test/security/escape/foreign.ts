// Starts a sandboxed program directly, without the executor, like the CLI of an agent. Run it as the user of the sandbox.
// Its argument is the request, its output is the output of the program.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Policy } from "../../../src/protocol/api/policy.ts";
import { installNativeLauncher } from "../../../src/sandbox/launch/native/native-launcher.ts";
import { createGitPlaceholders, writableRepositories } from "../../../src/sandbox/git-paths.ts";
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
  const request = JSON.parse(process.argv[2]!) as ForeignRequest;
  const { policy, project, home, own } = request;
  const self = [process.execPath, "--config=/dev/null", "--no-env-file", join(import.meta.dir, "../../../src/main.ts")];
  const nativeLauncher = process.env["SKEIN_SANDBOX_LAUNCHER"] === "javascript" ? null : installNativeLauncher(own.state);
  const support = await probeSandbox({
    selfCommand: self,
    programs: { path: process.env["PATH"] ?? "", untrusted: [] },
    nativeLauncher,
    best: request.best,
  });
  if (support.tier !== request.best) throw new Error(`expected ${request.best}, found ${support.tier}: ${support.why}`);
  if (support.nativeLauncher !== nativeLauncher) throw new Error("the native launcher was installed, but it does not work");
  const [temp, copies] = ["files", "copies"].map((name) => join(own.data, "tmp/foreign", name)) as [string, string];
  for (const path of [temp, copies]) mkdirSync(path, { recursive: true, mode: 0o700 });
  writableRepositories(project).forEach((repository) => createGitPlaceholders(repository));
  const isRoot = process.getuid?.() === 0;
  const paths = {
    project,
    directory: project,
    home,
    own: { ...own, cache: join(home, ".cache/skein") },
    temp,
    copies,
    isRoot,
    unixSockets: request.unixSockets ?? false,
  };
  const defaults = createSandboxRules(policy, paths);
  const rules = { ...defaults, maxProcesses: request.maxProcesses ?? defaults.maxProcesses };
  const { command, env } = sandboxCommand({ command: request.command, cwd: project, rules, support, selfCommand: self });
  const child = Bun.spawn(["/bin/bash", "-c", 'exec 9<>"$0"; exec "$@"', request.held, ...command], {
    cwd: project,
    env: { ...process.env, TMPDIR: temp, ...env },
    stdio: ["ignore", "inherit", "inherit"],
    // run-cli does the same: a process in its own session has no terminal.
    detached: true,
  });
  process.exitCode = await child.exited;
}

void main();
