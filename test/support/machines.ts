// Machines of a fleet on one machine: each has a network, processes, mounts, a host name and a boot id of its own. A bridge in
// another network namespace connects them; Postgres and the model server are there. Nothing is added to the network of the host.
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pollUntil } from "../../src/kit/flow/sleep.ts";
import { startRelay } from "./relay.ts";
import { temporaryHome, type TemporaryHome } from "./temporary-home.ts";

export const serverAddress = "10.77.0.1";

export type Machine = TemporaryHome & {
  name: string;
  /** Cuts the machine off: its packets are lost without an answer. */
  cutOff: () => Promise<void>;
  reconnect: () => Promise<void>;
  /** Sends a signal to a process by its pid in the machine. */
  signal: (name: string, pid: number) => Promise<void>;
  /** The command lines of the machine's processes, except its first. */
  processes: () => string[];
  startWorker: (...flags: string[]) => Promise<RunningWorker>;
};

export type RunningWorker = {
  id: string;
  pid: number;
  log: () => string;
  stop: () => Promise<void>;
  continue: () => Promise<void>;
  /** Kills it, also if it is stopped. */
  kill: () => Promise<void>;
  exited: Promise<number>;
};

export type Network = {
  /** The command that runs a program beside the servers. */
  enter: string[];
  /** The URL at which the machines reach a server of 127.0.0.1 of the host. */
  expose: (port: number) => Promise<string>;
  addMachine: (name: string, env: Record<string, string>) => Promise<Machine>;
  close: () => Promise<void>;
};

const forbidden = "machines of their own need root and the right to make namespaces: run this test outside of a container";

const machineNamespaces = ["--net", "--mount", "--uts", "--pid", "--mount-proc"];
const bootIdPath = "/proc/sys/kernel/random/boot_id";

/** Whether this machine lets the test make networks, mounts and processes of their own. */
export const canMakeNetworks: boolean = (() => {
  const cables = "ip link add bridge0 type bridge && ip link add cable0 type veth peer name cable1";
  const probe = `hostname probe && mount --bind /dev/null ${bootIdPath} && ${cables}`;
  return Bun.spawnSync(["unshare", ...machineNamespaces, "--fork", "sh", "-c", probe]).exitCode === 0;
})();

/** Throws where a container or a missing right forbids namespaces. */
export async function startNetwork(): Promise<Network> {
  if (!canMakeNetworks) throw new Error(forbidden);
  const directory = mkdtempSync(join(tmpdir(), "skein-machines-"));
  const closers: (() => void)[] = [() => rmSync(directory, { recursive: true, force: true })];
  const close = async (): Promise<void> => {
    for (const end of closers.reverse()) end();
  };
  try {
    const hub = await startNamespaces(["--net"], "ip link set lo up");
    closers.push(hub.end);
    const enter = ["nsenter", `--net=/proc/${hub.pid}/ns/net`, "--"];
    await command([...enter, "ip", "link", "add", "bridge0", "type", "bridge"]);
    await command([...enter, "ip", "addr", "add", `${serverAddress}/24`, "dev", "bridge0"]);
    await command([...enter, "ip", "link", "set", "bridge0", "up"]);
    let machines = 0;
    return {
      enter,
      close,
      async expose(port) {
        const path = join(directory, `${port}.sock`);
        closers.push((await startRelay({ path }, { host: "127.0.0.1", port })).close);
        const program = join(import.meta.dir, "relay.ts");
        const relay = Bun.spawn([...enter, process.execPath, program, serverAddress, path], { stdio: ["pipe", "pipe", "inherit"] });
        closers.push(() => relay.kill());
        return `http://${serverAddress}:${(await readUntil(relay.stdout, "\n")).text.trim()}`;
      },
      async addMachine(name, env) {
        machines += 1;
        const machine = await createMachine({ name, number: machines, env, enter, directory });
        closers.push(machine.end);
        return machine.machine;
      },
    };
  } catch (error) {
    await close();
    throw new Error(forbidden, { cause: error });
  }
}

type MachineOptions = { name: string; number: number; env: Record<string, string>; enter: string[]; directory: string };

async function createMachine({ name, number, env, enter, directory }: MachineOptions): Promise<{ machine: Machine; end: () => void }> {
  const boot = join(directory, `${name}.boot`);
  writeFileSync(boot, `${crypto.randomUUID()}\n`);
  const prepare = `hostname ${name}; ip link set lo up; mount --bind ${boot} ${bootIdPath}`;
  const space = await startNamespaces(machineNamespaces, prepare);
  const cable = `m${number}`;
  await command([...enter, "ip", "link", "add", cable, "type", "veth", "peer", "name", "eth0", "netns", String(space.pid)]);
  await command([...enter, "ip", "link", "set", cable, "master", "bridge0", "up"]);
  const inside = ["nsenter", "-t", String(space.pid), "--net", "--mount", "--uts", "--pid", "--"];
  await command([...inside, "ip", "addr", "add", `10.77.0.${10 + number}/24`, "dev", "eth0"]);
  await command([...inside, "ip", "link", "set", "eth0", "up"]);
  // The working directory is of another mount namespace, so it is entered again.
  const prefix = [...inside, "sh", "-c", 'cd "$SKEIN_TEST_CWD" && exec "$@"', "sh"];
  const home = temporaryHome({ USER: "ann", ...env }, prefix);
  const within = (options: { env?: Record<string, string>; cwd?: string; stdin?: string } = {}) => ({
    ...options,
    env: { ...options.env, SKEIN_TEST_CWD: options.cwd ?? home.project },
  });
  const machine: Machine = {
    ...home,
    name,
    run: (args, options) => home.run(args, within(options)),
    start: (args, options) => home.start(args, within(options)),
    cutOff: () => command([...enter, "ip", "link", "set", cable, "down"]),
    reconnect: () => command([...enter, "ip", "link", "set", cable, "up"]),
    signal: (signal, pid) => command([...inside, "kill", `-${signal}`, String(pid)]),
    processes: () => processesIn(space.pid),
    async startWorker(...flags) {
      const child = machine.start(["worker", "start", "--json", ...flags]);
      const { text, rest } = await readUntil(child.stdout, "\n}\n");
      let log = "";
      void rest();
      void (async () => {
        const decoder = new TextDecoder();
        for await (const bytes of child.stderr) log += decoder.decode(bytes, { stream: true });
      })();
      const { worker_id: id, pid } = JSON.parse(text) as { worker_id: string; pid: number };
      const signal = (wanted: string) => machine.signal(wanted, pid);
      return {
        id,
        pid,
        log: () => log,
        exited: child.exited,
        stop: () => signal("STOP"),
        async continue() {
          await signal("CONT");
          child.kill("SIGCONT"); // nsenter stops with its child
        },
        async kill() {
          await signal("KILL").catch(() => {}); // it may have ended
          child.kill("SIGCONT");
          await child.exited;
        },
      };
    },
    [Symbol.dispose]: () => {
      space.end();
      home[Symbol.dispose]();
    },
  };
  return { machine, end: () => machine[Symbol.dispose]() };
}

/**
 * Starts a process that keeps the namespaces. All processes of a pid namespace end with it, and it ends with the test, also if
 * that is killed. It ignores the end of children, so that the kernel keeps no zombies: hundreds of them made every reading
 * of /proc slow.
 */
async function startNamespaces(flags: string[], prepare: string): Promise<{ pid: number; end: () => void }> {
  const script = `set -e; ${prepare}; trap "" CHLD; echo ready; exec sleep infinity`;
  const child = Bun.spawn(["setpriv", "--pdeathsig", "KILL", "unshare", ...flags, "--fork", "--kill-child", "sh", "-c", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const { text } = await readUntil(child.stdout, "\n");
  if (text !== "ready\n") throw new Error("the namespaces were refused");
  const pid = Number(readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, "utf8").trim());
  return { pid, end: () => child.kill("SIGKILL") };
}

async function command(words: string[]): Promise<void> {
  const child = Bun.spawn(words, { stdio: ["ignore", "ignore", "pipe"] });
  const problem = await new Response(child.stderr).text();
  if ((await child.exited) !== 0) throw new Error(`${words.join(" ")}: ${problem}`);
}

/** The beginning of a stream. `rest` reads and drops what follows, so that the writer never waits. */
async function readUntil(stream: ReadableStream<Uint8Array>, end: string): Promise<{ text: string; rest: () => Promise<void> }> {
  const reader = stream.getReader();
  const decoder = new TextDecoder();
  let text = "";
  while (!text.endsWith(end)) {
    const { done, value } = await reader.read();
    if (done) throw new Error(`a process ended before it was ready: ${text}`);
    text += decoder.decode(value, { stream: true });
  }
  const rest = async (): Promise<void> => {
    while (!(await reader.read()).done);
  };
  return { text, rest };
}

/** The processes of the pid namespace whose first process is `init`, also those in namespaces below it. */
function processesIn(init: number): string[] {
  const proc = `/proc/${init}/root/proc`;
  const pids = readdirSync(proc).filter((name) => /^\d+$/.test(name) && name !== "1");
  return pids.map((pid) => readText(`${proc}/${pid}/cmdline`).replaceAll("\0", " ").trim()).filter((line) => line !== "");
}

function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return ""; // the process has ended
  }
}

export async function waitUntil(what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
  if (!(await pollUntil(60_000, async () => condition()))) throw new Error(`did not happen: ${what}`);
}
