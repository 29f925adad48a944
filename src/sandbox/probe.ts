// What this machine can really hold: each tier is tried out with walls around a small program that tries to get past
// them. Nothing is believed that was not seen; the answer is good until the machine or our rights change.
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readlinkSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import type { Machine } from "./start.ts";
import { walledCommand } from "./start.ts";
import type { Walls } from "./walls.ts";

export type ProbeOptions = {
  self: string[];
  path: string;
  /** Tests of what happens elsewhere: the best tier that may be found. */
  best?: Machine["tier"];
};

const tryMs = 10_000;

export async function probeMachine(options: ProbeOptions): Promise<Machine> {
  if (options.best === "none") return { ...bare(null), why: "switched off", hint: null };
  if (process.platform === "darwin") return { ...bare(null), tier: existsSync("/usr/bin/sandbox-exec") ? "seatbelt" : "none" };
  const tools = findTools(options.path);
  const reasons: string[] = [];
  if (tools !== null && options.best !== "landlock") {
    for (const processes of ["plain", "with-user"] as const) {
      const machine: Machine = { tier: "namespaces", processes, tools, why: null, hint: null };
      const problem = await tryOut(machine, options.self);
      if (problem === null) return machine;
      reasons.push(problem);
    }
  }
  if (tools === null) reasons.push("unshare and setpriv were not found");
  const processes = tools === null || options.best === "landlock" ? "no" : await processesAlone(tools);
  const why = reasons.at(-1) ?? "switched off";
  const hint = tools === null ? "install util-linux 2.36 or newer" : namespaceHint();
  const second: Machine = { tier: "landlock", processes: "no", tools, why, hint };
  const problem = await tryOut(second, options.self);
  return problem === null
    ? second
    : { ...bare(tools), processes, why: `${why}; ${problem}`, hint: `${hint}; or use a kernel with Landlock (5.19 or newer)` };
}

/** Changes with the boot, the namespaces and the rights we run with. */
export function machineKey(version: string): string {
  const status = readText("/proc/self/status");
  const rights = ["Uid", "CapEff", "NoNewPrivs", "Seccomp"].map((name) => new RegExp(`^${name}:\\s*(.*)$`, "m").exec(status)?.[1] ?? "");
  return [version, readText("/proc/sys/kernel/random/boot_id").trim(), linkAt("/proc/self/ns/user"), ...rights].join(" ");
}

function bare(tools: Machine["tools"]): Machine {
  return { tier: "none", processes: "no", tools, why: null, hint: null };
}

/** Null when everything that must fail failed and everything that must work worked. */
async function tryOut(machine: Machine, self: string[]): Promise<string | null> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "skein-probe-")));
  try {
    const places = ["open", "closed", "secret", "temp", "copies"].map((name) => join(folder, name));
    for (const place of places) mkdirSync(place);
    const [open, closed, secret, temp, copies] = places as [string, string, string, string, string];
    writeFileSync(join(secret, "key"), "secret");
    const walls: Walls = {
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
    const command = ["/bin/sh", "-c", attempts, "sh", open, closed, secret];
    const said = await outputOf(walledCommand({ command, cwd: open, walls, machine, self }));
    return said === "walls hold" ? null : said || "the launcher said nothing";
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** It must be able to write the first directory, and neither to write the second nor to read the third. */
const attempts = `
echo ok >"$1/file" || { echo "can't write what is allowed"; exit; }
(echo bad >"$2/file") 2>/dev/null && { echo "wrote what is not allowed"; exit; }
(cat "$3/key") 2>/dev/null && { echo "read a secret"; exit; }
echo walls hold`;

/** Containing processes may be possible where walls are not. */
async function processesAlone(tools: NonNullable<Machine["tools"]>): Promise<Machine["processes"]> {
  for (const processes of ["plain", "with-user"] as const) {
    const machine: Machine = { ...bare(tools), processes };
    const said = await outputOf(walledCommand({ command: ["/bin/sh", "-c", "echo $$"], cwd: "/", walls: null, machine, self: [] }));
    if (said === "1") return processes;
  }
  return "no";
}

async function outputOf(command: string[]): Promise<string> {
  try {
    const child = Bun.spawn(command, {
      env: { PATH: "/usr/bin:/bin" },
      stdio: ["ignore", "pipe", "pipe"],
      timeout: tryMs,
      killSignal: "SIGKILL",
    });
    const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text(), child.exited]);
    return (out.trim() || err.trim()).split("\n").at(-1) ?? "";
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function findTools(path: string): Machine["tools"] {
  const find = (name: string) =>
    [...path.split(delimiter), "/usr/bin", "/bin", "/usr/sbin"].map((folder) => join(folder, name)).find(existsSync);
  const unshare = find("unshare");
  const setpriv = find("setpriv");
  return unshare === undefined || setpriv === undefined ? null : { unshare, setpriv };
}

function namespaceHint(): string {
  if (readText("/proc/sys/kernel/apparmor_restrict_unprivileged_userns").trim() === "1")
    return "allow user namespaces: sysctl kernel.apparmor_restrict_unprivileged_userns=0";
  if (readText("/proc/sys/kernel/unprivileged_userns_clone").trim() === "0")
    return "allow user namespaces: sysctl kernel.unprivileged_userns_clone=1";
  if (readText("/proc/sys/user/max_user_namespaces").trim() === "0") return "allow user namespaces: sysctl user.max_user_namespaces=10000";
  return "allow user namespaces (in a container: its security profile forbids them)";
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
