// One run of all attempts: by which user, in which sandbox and through which program, and how each attempt ended.
import { closeSync, constants, lstatSync, openSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import type { Policy, PolicyName } from "../../../src/protocol/api/policy.ts";
import type { Tier } from "../../../src/sandbox/sandbox-command.ts";
import { attempts } from "./inside/attempts.ts";
import type { Attempt, AttemptReport, World } from "./inside/world.ts";
import type { ForeignRequest } from "./foreign.ts";
import { buildOutside, type Outside } from "./outside.ts";
import type { Person } from "./person.ts";

export type SandboxCase = {
  person: Person;
  /** `executor`: bash as the agent's tool. `foreign`: a program of its own, as an agent's command line. */
  route: "executor" | "foreign";
  /** Default: `native`. */
  launcher?: "native" | "javascript";
  /** `none` shows that the attempts can succeed. */
  tier: Extract<Tier, "namespaces" | "landlock" | "none">;
  policy: PolicyName;
  net: "on" | "off";
};

export type AttemptResult = { name: string; kind: Attempt["kind"]; isThrough: boolean; text: string };

export async function runAttempts(sandboxCase: SandboxCase): Promise<AttemptResult[]> {
  const outside = await buildOutside(sandboxCase.person, sandboxCase.tier !== "none");
  try {
    const before = new Map(attempts.map(({ name }) => [name, stateOf(outside.world, name)]));
    const output = await (sandboxCase.route === "executor" ? throughExecutor(outside, sandboxCase) : asForeign(outside, sandboxCase));
    await outside.listen();
    const line = output.split("\n").find((text) => text.startsWith("REPORT "));
    if (line === undefined) throw new Error(`the program inside printed no report:\n${output}`);
    const reports = JSON.parse(line.slice("REPORT ".length)) as AttemptReport[];
    return attempts.map(({ name, kind }) => {
      const report = reports.find((candidate) => candidate.name === name)!;
      const hasChanged = stateOf(outside.world, name) !== before.get(name);
      const isThrough = {
        change: hasChanged,
        read: report.text === outside.world.token,
        reach: outside.received.has(name),
        call: report.isDone,
        work: report.isDone,
      };
      return { name, kind, isThrough: isThrough[kind], text: report.text };
    });
  } finally {
    await outside.end();
  }
}

async function throughExecutor(outside: Outside, { tier, launcher, ...rest }: SandboxCase): Promise<string> {
  const flags = policyFlags({ tier, ...rest });
  await outputOf(outside, [...outside.skein, "new", "main", "-m", "ollama/none"], tier);
  return outputOf(outside, [...outside.skein, "exec", "main", outside.inside.join(" "), ...flags], tier, environmentOf(launcher));
}

async function asForeign(outside: Outside, { tier, policy, net, launcher }: SandboxCase): Promise<string> {
  if (tier === "none") return outputOf(outside, [...outside.person.prefix, ...outside.inside], tier);
  return outputOf(outside, foreignCommand(outside, { tier, policy, net }), tier, environmentOf(launcher));
}

function environmentOf(launcher: SandboxCase["launcher"]): Record<string, string> {
  return launcher === "javascript" ? { SKEIN_SANDBOX_LAUNCHER: launcher } : {};
}

export function foreignCommand(
  outside: Outside,
  { tier, policy, net }: Omit<SandboxCase, "person" | "route">,
  more: Partial<ForeignRequest> = {},
): string[] {
  const { project, home, own } = outside.world;
  const requested: Policy = { name: policy, sandbox: "required", net, allowWrite: [], addDirs: [] };
  // The first process of a namespace gets no signals without a handler, so a shell is the first.
  const command = ["/bin/bash", "-c", '"$@"; exit $?', "bash", ...outside.inside];
  const request: ForeignRequest = { policy: requested, best: tier, project, home, own, command, held: heldFile(outside.world), ...more };
  return [...outside.foreign, JSON.stringify(request)];
}

/** Starts the command with a terminal, and with a file outside open as 9, as if the user's shell had not closed it. */
export async function outputOf(
  { world, env }: Outside,
  command: string[],
  tier: SandboxCase["tier"],
  more: Record<string, string> = {},
): Promise<string> {
  const terminal = world.terminal === null ? null : openSync(world.terminal, constants.O_RDWR | constants.O_NOCTTY);
  const withTerminal = terminal === null ? [] : ["setsid", "--ctty", "--wait"];
  const child = Bun.spawn([...withTerminal, "bash", "-c", 'exec 9<>"$0"; exec "$@"', heldFile(world), ...command], {
    cwd: world.project,
    env: { ...env, ...(tier === "landlock" ? { SKEIN_SANDBOX_BEST: tier } : {}), ...more },
    stdio: [terminal ?? "ignore", "pipe", "pipe"],
  });
  if (terminal !== null) closeSync(terminal);
  const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text(), child.exited]);
  return out + err;
}

function heldFile({ outside }: World): string {
  return join(outside, "write-inherited-fd/victim");
}

/** The flags that select the sandbox. */
export function policyFlags({ tier, policy, net }: Pick<SandboxCase, "tier" | "policy" | "net">): string[] {
  return tier === "none" ? ["--policy", "full", "--sandbox", "off"] : ["--policy", policy, "--net", net];
}

/** Paths that an attempt would change, if it is not in the attempt's own directory. */
const changedPaths: Record<string, (world: World) => string> = {
  "write-in-real-tmp": ({ token }) => `/tmp/skein-escape-${token}/write-in-real-tmp`,
  "write-in-home": ({ home }) => join(home, ".profile"),
  "write-in-cache": ({ home }) => join(home, ".cache/from-inside"),
  "setuid-in-project": ({ project }) => join(project, "made/setuid"),
};

function stateOf(world: World, name: string): string {
  return snapshotOf(changedPaths[name]?.(world) ?? join(world.outside, name));
}

/** Returns all that `ls -lR` and `cat` would show. */
export function snapshotOf(path: string): string {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (stat === undefined) return "nothing";
  const head = `${path} ${stat.mode} ${stat.uid} ${stat.gid} ${stat.size} ${stat.mtimeMs}`;
  if (stat.isDirectory())
    return [
      head,
      ...readdirSync(path)
        .toSorted()
        .map((name) => snapshotOf(join(path, name))),
    ].join("\n");
  if (stat.isSymbolicLink()) return `${head} ${readlinkSync(path)}`;
  return stat.isFile() ? `${head} ${stat.size > 4096 ? "" : readFileSync(path, "utf8")}` : head;
}
