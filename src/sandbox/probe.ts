// What this machine can really hold: each tier is tried out with walls around a small program that tries to get past
// them. Nothing is believed that was not seen; the answer is good until the machine or our rights change.
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readlinkSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import type { SandboxSupport } from "./sandbox-command.ts";
import { sandboxCommand } from "./sandbox-command.ts";
import type { SandboxRules } from "./rules.ts";

export type ProbeOptions = {
  selfCommand: string[];
  path: string;
  /** Tests of what happens elsewhere: the best tier that may be found. */
  best?: SandboxSupport["tier"];
  /** How long a tier may take to show that it holds. */
  tryMs?: number;
};

const graceMs = 200;
const heldBack = { why: "SKEIN_SANDBOX_BEST holds it back", hint: "unset SKEIN_SANDBOX_BEST" };

/** Our own hints name them. */
const settings = {
  apparmor: "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
  clone: "/proc/sys/kernel/unprivileged_userns_clone",
  most: "/proc/sys/user/max_user_namespaces",
};

export async function probeSandbox(options: ProbeOptions): Promise<SandboxSupport> {
  if (options.best === "none") return { ...bare(null), ...heldBack };
  if (process.platform === "darwin") return probeSeatbelt(options);
  const tools = findTools(options.path);
  const isHeldBack = options.best === "landlock";
  const reasons: string[] = tools === null ? ["unshare and setpriv were not found"] : [];
  if (tools !== null && !isHeldBack) {
    for (const processes of ["plain", "with-user"] as const) {
      const machine: SandboxSupport = { tier: "namespaces", processes, tools, why: null, hint: null };
      const problem = await tryOut(machine, options);
      if (problem === null) return machine;
      reasons.push(problem);
    }
  }
  const hint = tools === null ? "install util-linux 2.36 or newer" : namespaceHint();
  const lower = isHeldBack ? heldBack : { why: reasons.at(-1)!, hint };
  const second: SandboxSupport = { tier: "landlock", processes: "no", tools, ...lower };
  const problem = await tryOut(second, options);
  if (problem === null) return second;
  const processes = tools === null || isHeldBack ? "no" : await processesAlone(tools, options);
  return {
    ...bare(tools),
    processes,
    why: `${lower.why}; ${problem}`,
    hint: `${lower.hint}; or use a kernel with Landlock (6.2 or newer)`,
  };
}

/** Changes with the boot, the namespaces, the rights we run with and the settings. */
export function machineKey(version: string): string {
  const status = readText("/proc/self/status");
  const rights = ["Uid", "CapEff", "NoNewPrivs", "Seccomp"].map((name) => new RegExp(`^${name}:\\s*(.*)$`, "m").exec(status)?.[1] ?? "");
  const set = Object.values(settings).map((path) => readText(path).trim());
  return [version, readText("/proc/sys/kernel/random/boot_id").trim(), linkAt("/proc/self/ns/user"), ...rights, ...set].join(" ");
}

async function probeSeatbelt(options: ProbeOptions): Promise<SandboxSupport> {
  const machine: SandboxSupport = { ...bare(null), tier: "seatbelt" };
  const problem = await tryOut(machine, options);
  const hint = "see that /usr/bin/sandbox-exec works, and that skein itself is not started in a sandbox";
  return problem === null ? machine : { ...bare(null), why: problem, hint };
}

function bare(tools: SandboxSupport["tools"]): SandboxSupport {
  return { tier: "none", processes: "no", tools, why: null, hint: null };
}

/** Null when everything that must fail failed and everything that must work worked. */
async function tryOut(machine: SandboxSupport, options: ProbeOptions): Promise<string | null> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "skein-probe-")));
  try {
    const places = ["open", "closed", "secret", "temp", "copies"].map((name) => join(folder, name));
    for (const place of places) mkdirSync(place);
    const [open, closed, secret, temp, copies] = places as [string, string, string, string, string];
    writeFileSync(join(secret, "key"), "secret");
    const walls: SandboxRules = {
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
    const network = machine.tier === "namespaces" ? linkAt("/proc/self/ns/net") : "";
    const command = ["/bin/sh", "-c", attempts, "sh", open, closed, secret, network];
    const said = await outputOf(
      sandboxCommand({ command, cwd: open, rules: walls, support: machine, selfCommand: options.selfCommand }),
      options.tryMs,
    );
    if (said !== "walls hold") return said || "the launcher said nothing";
    // What it says of itself is not enough.
    if (readText(join(open, "file")) !== "ok\n") return "the launcher did not start what it was told to start";
    return existsSync(join(closed, "file")) ? "wrote what is not allowed" : null;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** It must be able to write the first directory, and neither to write the second, read the third nor be in our network. */
const attempts = `
echo ok >"$1/file" || { echo "can't write what is allowed"; exit; }
(echo bad >"$2/file") 2>/dev/null && { echo "wrote what is not allowed"; exit; }
(cat "$3/key") 2>/dev/null && { echo "read a secret"; exit; }
[ -n "$4" ] && [ "$4" = "$(readlink /proc/self/ns/net)" ] && { echo "in the network of the machine"; exit; }
[ -n "$4" ] && [ $$ != 1 ] && { echo "among the processes of the machine"; exit; }
echo walls hold`;

/** Containing processes may be possible where walls are not. */
async function processesAlone(tools: NonNullable<SandboxSupport["tools"]>, { tryMs }: ProbeOptions): Promise<SandboxSupport["processes"]> {
  for (const processes of ["plain", "with-user"] as const) {
    const machine: SandboxSupport = { ...bare(tools), processes };
    const said = await outputOf(
      sandboxCommand({ command: ["/bin/sh", "-c", "echo $$"], cwd: "/", rules: null, support: machine, selfCommand: [] }),
      tryMs,
    );
    if (said === "1") return processes;
  }
  return "no";
}

/** The last line. Who says nothing in time is ended, and what it may have started is not waited for. */
async function outputOf(command: string[], tryMs = 10_000): Promise<string> {
  try {
    const child = Bun.spawn(command, {
      env: { PATH: "/usr/bin:/bin" },
      stdio: ["ignore", "pipe", "pipe"],
      timeout: tryMs,
      killSignal: "SIGKILL",
    });
    const texts = Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
    const late = child.exited.then(() => Bun.sleep(graceMs)).then(() => null);
    const got = await Promise.race([texts, late]);
    if (got === null || child.signalCode === "SIGKILL") return "the launcher did not end in time";
    const [out, err] = got;
    return (out.trim() || err.trim()).split("\n").at(-1) ?? "";
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function findTools(path: string): SandboxSupport["tools"] {
  const find = (name: string) =>
    [...path.split(delimiter), "/usr/bin", "/bin", "/usr/sbin"].map((folder) => join(folder, name)).find(existsSync);
  const unshare = find("unshare");
  const setpriv = find("setpriv");
  return unshare === undefined || setpriv === undefined ? null : { unshare, setpriv };
}

function namespaceHint(): string {
  if (readText(settings.apparmor).trim() === "1") return "allow user namespaces: sysctl kernel.apparmor_restrict_unprivileged_userns=0";
  if (readText(settings.clone).trim() === "0") return "allow user namespaces: sysctl kernel.unprivileged_userns_clone=1";
  if (readText(settings.most).trim() === "0") return "allow user namespaces: sysctl user.max_user_namespaces=10000";
  return "allow user namespaces (in a container: its security profile forbids them; see docs/SANDBOX.md)";
}

function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

function linkAt(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return "";
  }
}
