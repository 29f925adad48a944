// Finds the sandbox tier that works on this machine: a small program runs in each sandbox and tries to break out.
// Only observed results count. They are valid until the machine or the rights of this process change.
import { existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findSystemProgram, type ProgramSearch } from "../kit/process/trusted-programs.ts";
import { lastLine } from "../kit/text/cut-text.ts";
import { messageOf } from "../protocol/api/error.ts";
import type { RawCalls } from "./launch/raw-call.ts";
import { kernelSettings, linkAt, readText } from "./machine-key.ts";
import { type SandboxCommand, sandboxCommand, type SandboxCommandOptions, type SandboxSupport } from "./sandbox-command.ts";
import type { SandboxRules } from "./rules.ts";

export type ProbeOptions = {
  selfCommand: string[];
  /** unshare and setpriv are searched here after the directories of the system. */
  programs: ProgramSearch;
  /** The path of the native launcher. It is used if it works. */
  nativeLauncher?: string | null;
  /** Creates a private directory for an attempt. It is removed afterwards. */
  createDirectory?: () => string;
  /** The best tier to try, for tests of machines without the better ones. */
  best?: SandboxSupport["tier"];
  /** Time limit for each attempt. */
  tryMs?: number;
};

const graceMs = 200;
const limitedByUser = { why: "SKEIN_SANDBOX_BEST excludes better tiers", hint: "unset SKEIN_SANDBOX_BEST" };

const withoutLandlock = {
  lacksLandlock: true,
  why: "the kernel has no Landlock",
  hint: "use a kernel with Landlock (5.19 or newer), and name it in its lsm= option; see docs/SANDBOX.md",
};

export async function probeSandbox(options: ProbeOptions): Promise<SandboxSupport> {
  if (options.best === "none") return { ...noSandbox(null), ...limitedByUser };
  if (process.platform === "darwin") return probeSeatbelt(options);
  const tools = findTools(options.programs);
  const { landlockVersion, makePipe } = await openKernel();
  const { nativeLauncher = null } = options;
  // The launcher in JavaScript is tried if the native one does not work.
  const launchers = nativeLauncher === null ? [null] : [nativeLauncher, null];
  const isLimited = options.best === "landlock";
  const reasons: string[] = tools === null ? ["unshare and setpriv were not found"] : [];
  for (const launcher of isLimited ? [] : launchers) {
    if (launcher === null && tools === null) continue;
    for (const processes of ["plain", "with-user"] as const) {
      const support: SandboxSupport = {
        tier: "namespaces",
        processes,
        tools,
        nativeLauncher: launcher,
        landlockVersion,
        why: null,
        hint: null,
      };
      const result = await trySandbox(support, { ...options, makePipe });
      if (result.problem === null) return result.canWritePipes ? { ...support, ...withoutLandlock } : support;
      reasons.push(result.problem);
    }
  }
  const hint = tools === null ? "install util-linux 2.36 or newer" : namespaceHint();
  const reason = isLimited ? limitedByUser : { why: reasons.at(-1)!, hint };
  let problem: string | null = null;
  for (const launcher of launchers) {
    const support: SandboxSupport = { tier: "landlock", processes: "no", tools, nativeLauncher: launcher, landlockVersion, ...reason };
    ({ problem } = await trySandbox(support, { ...options, makePipe }));
    if (problem === null) return support;
  }
  const processes = tools === null || isLimited ? "no" : await probeProcesses(tools, options);
  return {
    ...noSandbox(tools),
    processes,
    why: `${reason.why}; ${problem}`,
    hint: `${reason.hint}; or use a kernel with Landlock (6.2 or newer)`,
  };
}

type MakePipe = RawCalls["makeNamedPipe"];

async function openKernel(): Promise<{ landlockVersion: number; makePipe: MakePipe }> {
  const [{ openRawCalls }, { landlockVersion }] = await Promise.all([import("./launch/raw-call.ts"), import("./launch/landlock.ts")]);
  const calls = openRawCalls();
  return { landlockVersion: landlockVersion(calls), makePipe: calls.makeNamedPipe };
}

async function probeSeatbelt(options: ProbeOptions): Promise<SandboxSupport> {
  const support: SandboxSupport = { ...noSandbox(null), tier: "seatbelt" };
  const { problem } = await trySandbox(support, options);
  const hint = "see that /usr/bin/sandbox-exec works, and that skein itself is not started in a sandbox";
  return problem === null ? support : { ...noSandbox(null), why: problem, hint };
}

function noSandbox(tools: SandboxSupport["tools"]): SandboxSupport {
  return { tier: "none", processes: "no", tools, nativeLauncher: null, landlockVersion: 0, why: null, hint: null };
}

/**
 * `problem` is null if every forbidden action failed and every allowed one worked. `canWritePipes`: a named pipe outside
 * could be opened for writing, which only Landlock prevents.
 */
type TrialResult = { problem: string | null; canWritePipes: boolean };

async function trySandbox(support: SandboxSupport, options: ProbeOptions & { makePipe?: MakePipe }): Promise<TrialResult> {
  const directory = (options.createDirectory ?? temporaryDirectory)();
  try {
    const paths = ["open", "closed", "secret", "temp", "copies"].map((name) => join(directory, name));
    for (const path of paths) mkdirSync(path);
    const [open, closed, secret, temp, copies] = paths as [string, string, string, string, string];
    writeFileSync(join(secret, "key"), "secret\n");
    options.makePipe?.(join(closed, "pipe"));
    const rules: SandboxRules = {
      rules: [
        { path: "/", access: "read" },
        { path: open, access: "write" },
        { path: secret, access: "none" },
        { path: temp, access: "write" },
      ],
      net: "off",
      unixSockets: false,
      temp,
      copies,
      maxProcesses: 256,
      keepsOwnerRights: false,
    };
    const network = support.tier === "namespaces" ? linkAt("/proc/self/ns/net") : "";
    const command = ["/bin/sh", "-c", attempts, "sh", open, closed, secret, network];
    const output = await outputOf({ command, cwd: open, rules, support, selfCommand: options.selfCommand }, options.tryMs);
    const canWritePipes = existsSync(join(open, "pipe"));
    if (output !== success) return { problem: output || "the launcher printed nothing", canWritePipes };
    // The output alone could be forged.
    if (readText(join(open, "file")) !== "ok\n") return { problem: "the launcher did not start the program", canWritePipes };
    return { problem: existsSync(join(closed, "file")) ? "wrote what is not allowed" : null, canWritePipes };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** The last line of output, or the reason why the sandbox can't be described. */
async function outputOf(options: SandboxCommandOptions, tryMs: number | undefined): Promise<string> {
  try {
    return await lastLineOf(sandboxCommand(options), tryMs);
  } catch (error) {
    return messageOf(error);
  }
}

function temporaryDirectory(): string {
  return realpathSync(mkdtempSync(join(tmpdir(), "skein-probe-")));
}

const success = "sandbox works";

/**
 * The program must succeed in writing $1. It must fail to write $2, to read $3 and to use the network namespace $4. It
 * creates a file in $1 if it could open a named pipe in $2. It opens the pipe for reading too, so that it waits for no reader.
 */
const attempts = `
echo ok >"$1/file" || { echo "can't write what is allowed"; exit; }
(echo bad >"$2/file") 2>/dev/null && { echo "wrote what is not allowed"; exit; }
(read -r line <"$3/key") 2>/dev/null && { echo "read a secret"; exit; }
[ -p "$2/pipe" ] && (: <>"$2/pipe") 2>/dev/null && : >"$1/pipe"
[ -n "$4" ] && [ "$4" = "$(readlink /proc/self/ns/net)" ] && { echo "in the network of the machine"; exit; }
[ -n "$4" ] && [ $$ != 1 ] && { echo "among the processes of the machine"; exit; }
echo ${success}`;

/** A pid namespace may be possible on a machine without a sandbox. */
async function probeProcesses(tools: NonNullable<SandboxSupport["tools"]>, { tryMs }: ProbeOptions): Promise<SandboxSupport["processes"]> {
  for (const processes of ["plain", "with-user"] as const) {
    const support: SandboxSupport = { ...noSandbox(tools), processes };
    const output = await lastLineOf(
      sandboxCommand({ command: ["/bin/sh", "-c", "echo $$"], cwd: "/", rules: null, support, selfCommand: [] }),
      tryMs,
    );
    if (output === "1") return processes;
  }
  return "no";
}

/** The last line of output. The program is killed after the time limit, and its descendants are not awaited. */
async function lastLineOf({ command, env }: SandboxCommand, tryMs = 10_000): Promise<string> {
  try {
    const child = Bun.spawn(command, {
      env: { PATH: "/usr/bin:/bin", ...env },
      stdio: ["ignore", "pipe", "pipe"],
      timeout: tryMs,
      killSignal: "SIGKILL",
    });
    const texts = Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
    const late = child.exited.then(() => Bun.sleep(graceMs)).then(() => null);
    const outputs = await Promise.race([texts, late]);
    if (outputs === null || child.signalCode === "SIGKILL") return "the launcher did not end in time";
    const [out, err] = outputs;
    return lastLine(out) || lastLine(err);
  } catch (error) {
    return messageOf(error);
  }
}

function findTools(programs: ProgramSearch): SandboxSupport["tools"] {
  const unshare = findSystemProgram("unshare", programs).path;
  const setpriv = findSystemProgram("setpriv", programs).path;
  return unshare === null || setpriv === null ? null : { unshare, setpriv };
}

function namespaceHint(): string {
  if (readText(kernelSettings.apparmor).trim() === "1")
    return "allow user namespaces: sysctl kernel.apparmor_restrict_unprivileged_userns=0";
  if (readText(kernelSettings.clone).trim() === "0") return "allow user namespaces: sysctl kernel.unprivileged_userns_clone=1";
  if (readText(kernelSettings.maxUser).trim() === "0") return "allow user namespaces: sysctl user.max_user_namespaces=10000";
  return "allow user namespaces (in a container: its security profile forbids them; see docs/SANDBOX.md)";
}
