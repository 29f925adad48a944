// Creates the files, keys, sockets, process and terminal outside of the sandbox that attempts try to reach. They are
// created anew for each run, because a run without a sandbox destroys them.
import {
  chmodSync,
  chownSync,
  closeSync,
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { launcherEnv } from "../../support/temporary-home.ts";
import { attempts } from "./inside/attempts.ts";
import { call } from "./inside/calls.ts";
import { shareMemory } from "./inside/memory.ts";
import { secretFiles } from "./inside/secrets.ts";
import type { World } from "./inside/world.ts";
import { startListeners, type Listeners } from "./listeners.ts";
import { type Person, readableProgram, readableSkein } from "./person.ts";

export type Outside = {
  world: World;
  person: Person;
  env: Record<string, string>;
  /** skein, as this person starts it. */
  skein: string[];
  /** The program that runs inside, with its arguments. */
  inside: string[];
  /** The program that stands in for an agent's command line. */
  foreign: string[];
  received: Listeners["received"];
  /** Reads messages that still wait in sockets, in the terminal and at the victim. */
  listen: () => Promise<void>;
  end: () => Promise<void>;
};

const repository = join(import.meta.dir, "..", "..", "..");
/** Not below /tmp: there, writes go to a private copy. */
const rootsParent = "/var/lib";

export async function buildOutside(person: Person, isSandboxed: boolean): Promise<Outside> {
  const parent = process.getuid?.() === 0 ? rootsParent : join(repository, "node_modules", ".cache");
  mkdirSync(parent, { recursive: true });
  const base = mkdtempSync(join(parent, "skein-escape-"));
  const token = base.slice(-6) + crypto.randomUUID().slice(0, 8);
  const publicTemp = `/tmp/skein-escape-${token}`;
  const folder = (name: string) => makeDirectory(join(base, name));
  const [home, project, outside] = [folder("home"), folder("project"), folder("outside")];
  const own = { config: folder("skein/config"), data: folder("skein/data"), state: folder("skein/state") };
  const { bun, main, escape } = readableProgram(person, base);
  fillOutside(outside, makeDirectory(publicTemp));
  fillHome(home, token, own);
  fillProject(project, { home, outside });
  const setuid = person.isRoot || process.getuid?.() !== 0 ? null : setuidProgram(base);
  chmodSync(base, 0o755);
  changeOwner(person.uid, [home, outside, join(base, "skein"), publicTemp]);
  changeOwner(person.projectOwner, [project]);
  if (setuid !== null) makeSetuid(setuid);
  const terminal = openTerminal(person);
  const listeners = await startListeners({ token, run: join(outside, "run"), temp: publicTemp, home });
  const env = {
    PATH: process.env["PATH"] ?? "",
    HOME: home,
    SKEIN_HOME: join(base, "skein"),
    LANG: "C.UTF-8",
    BUN_RUNTIME_TRANSPILER_CACHE_PATH: "0",
    ...launcherEnv(),
  };
  const victim = startVictim(person, { env, home, outside, token, received: listeners.received });
  const { ports, sockets } = listeners;
  const memory = shareMemory(token);
  const world: World = {
    token,
    isSandboxed,
    project,
    home,
    own,
    outside,
    victim: { pid: victim.pid },
    ports,
    sockets,
    terminal: terminal?.path ?? null,
    memory: memory.key,
    setuid,
    bun,
  };
  const file = join(outside, "world.json");
  writeFileSync(file, JSON.stringify(world));
  await victim.ready;
  return {
    world,
    person,
    env,
    inside: [bun, join(escape, "inside/main.ts"), file],
    foreign: [...person.prefix, bun, join(escape, "foreign.ts")],
    skein: [...person.prefix, ...readableSkein({ bun, main })],
    received: listeners.received,
    listen: async () => {
      await victim.reportSignals();
      // Data of a new connection arrives one turn of the event loop after the connection itself.
      for (let turn = 0; turn < 5; turn += 1) await Bun.sleep(10);
      listeners.drain();
      terminal?.listen(listeners.received);
    },
    end: async () => {
      await victim.end();
      listeners.stop();
      terminal?.close();
      memory.remove();
      // The kernel leaves directories in the copies that their owner can't open.
      runCommand(["chmod", "-R", "u+rwX", join(base, "skein")], "/");
      for (const path of [base, publicTemp]) rmSync(path, { recursive: true, force: true });
    },
  };
}

function makeDirectory(path: string): string {
  mkdirSync(path, { recursive: true });
  return path;
}

function writeText(path: string, text: string, mode = 0o644): void {
  makeDirectory(dirname(path));
  writeFileSync(path, text, { mode });
}

function fillOutside(outside: string, publicTemp: string): void {
  for (const { name } of attempts) {
    writeText(join(outside, name, "victim"), "untouched");
    makeDirectory(join(outside, name, "dir"));
  }
  makeDirectory(join(outside, "run"));
  writeText(join(publicTemp, "readable"), "anybody may read this");
  writeText(join(publicTemp, "write-in-real-tmp"), "untouched");
}

function fillHome(home: string, token: string, own: World["own"]): void {
  for (const name of secretFiles) writeText(join(home, name), `secret ${token}\n`, 0o600);
  writeText(join(home, ".ssh", `name-${token}`), "");
  writeText(join(home, ".profile"), "untouched");
  writeText(join(home, ".gitconfig"), "[safe]\n\tdirectory = *\n");
  writeText(join(home, ".cache/tool/there-before"), "from the cache");
  writeText(join(own.config, "config.jsonc"), `{} // ${token}`, 0o600);
  writeText(join(own.config, "skills/one/SKILL.md"), "---\nname: one\ndescription: a skill\n---\n");
  writeText(join(own.config, "AGENTS.md"), "be brief");
  writeText(join(own.data, "kept"), token);
  writeText(join(own.state, "kept"), token);
}

/** Creates a submodule, a second worktree, a hook, links that lead out, and a config of skein. */
function fillProject(project: string, { home, outside }: { home: string; outside: string }): void {
  const git = (...args: string[]) => runCommand(["git", "-c", "user.name=a", "-c", "user.email=a@b", ...args], project);
  git("init", "-q");
  git("commit", "-q", "--allow-empty", "-m", "start");
  git("init", "-q", "--bare", ".git/modules/sub");
  git("worktree", "add", "-q", join(outside, "side"));
  writeText(join(project, ".git/hooks/pre-commit"), "#!/bin/sh\nexit 0\n", 0o755);
  writeText(join(project, ".skein/config.jsonc"), "{}");
  writeText(join(project, ".skein/plan.md"), "");
  makeDirectory(join(project, ".skein/sessions"));
  makeDirectory(join(project, "links"));
  for (const name of ["write-link-before", "create-in-link-before"]) symlinkSync(join(outside, name), join(project, "links", name));
  symlinkSync(join(home, ".ssh/id_ed25519"), join(project, "links/key"));
  linkSync(join(home, ".ssh/id_ed25519"), join(project, "links/hard-key"));
  linkSync(join(outside, "write-hard-link-before/victim"), join(project, "links/hard"));
}

function setuidProgram(base: string): string {
  const path = join(base, "setuid-id");
  const idProgram = ["/usr/bin/id", "/bin/id"].find((candidate) => existsSync(candidate));
  copyFileSync(idProgram!, path);
  return path;
}

function makeSetuid(path: string): void {
  chownSync(path, 0, 0);
  chmodSync(path, 0o4755);
}

function changeOwner(uid: number, paths: string[]): void {
  if (uid !== process.getuid?.()) runCommand(["chown", "-R", `${uid}:${uid}`, ...paths], "/");
}

function runCommand(command: string[], cwd: string): void {
  const { exitCode, stderr } = Bun.spawnSync(command, { cwd, stdin: "ignore", stdout: "ignore", stderr: "pipe" });
  if (exitCode !== 0) throw new Error(`${command.join(" ")}: ${stderr.toString()}`);
}

type Terminal = { path: string; listen: (received: Set<string>) => void; close: () => void };

/** Another terminal. Text written to it can be read at its other end. */
function openTerminal(person: Person): Terminal | null {
  const noTerminal = 0o400;
  const nonBlocking = 0o4000;
  try {
    const master = openSync("/dev/ptmx", 2 | noTerminal | nonBlocking);
    call("ioctl", master, 0x4004_5431, new Int32Array([0]));
    const number = new Int32Array(1);
    call("ioctl", master, 0x8004_5430, number);
    const path = `/dev/pts/${number[0]}`;
    if (person.prefix.length > 0) chownSync(path, person.uid, person.uid);
    let output = "";
    // Reads every 10 ms: waiting text is lost when the last process that has the terminal open ends.
    const clock = setInterval(() => (output += readWaiting(master)), 10);
    return {
      path,
      listen: (received) => {
        output += readWaiting(master);
        for (const line of output.split(/\r?\n/)) received.add(line);
      },
      close: () => {
        clearInterval(clock);
        closeSync(master);
      },
    };
  } catch {
    return null;
  }
}

function readWaiting(file: number): string {
  const buffer = Buffer.alloc(4096);
  try {
    return buffer.toString("utf8", 0, readSync(file, buffer, 0, buffer.length, null));
  } catch {
    return "";
  }
}

const victimScript = `
exec 6<>"$2/write-found-fd/victim" 7<"$1/.ssh/id_ed25519" 8<>"$2/write-proc-pid-fd/victim"
cd "$1/.ssh"
trap 'echo signal' URG
trap 'echo signal-all' WINCH
trap 'echo signal-by-pidfd' CONT
trap 'echo all reported' SYS
echo ready
while read -r -t 60 || [ $? -gt 128 ]; do :; done`;

type VictimOptions = { env: Record<string, string>; home: string; outside: string; token: string; received: Set<string> };

/** The victim ends with this process, because its stdin then ends. */
function startVictim(person: Person, { env, home, outside, token, received }: VictimOptions) {
  const child = Bun.spawn([...person.prefix, "bash", "-c", victimScript, "bash", home, outside, token], {
    env: { ...env, SECRET: token },
    stdio: ["pipe", "pipe", "ignore"],
  });
  const ready = Promise.withResolvers<void>();
  const allReported = Promise.withResolvers<void>();
  void (async () => {
    for await (const chunk of child.stdout) {
      for (const word of Buffer.from(chunk).toString().trim().split("\n")) received.add(word);
      ready.resolve();
      if (received.has("all reported")) allReported.resolve();
    }
    for (const signal of [ready, allReported]) signal.resolve();
  })();
  return {
    pid: child.pid,
    ready: ready.promise,
    /** The shell handles SIGSYS after all other waiting signals. */
    reportSignals: () => {
      child.kill("SIGSYS");
      return allReported.promise;
    },
    end: async () => {
      child.kill("SIGKILL");
      await child.exited;
    },
  };
}
