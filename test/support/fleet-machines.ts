// A fleet of three machines with networks of their own: m1 of a person, m2 and m3 with keys, which can run workers.
import { expect, test } from "bun:test";
import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { canMakeNetworks, startNetwork, serverAddress, waitUntil, type Machine, type RunningWorker } from "./machines.ts";
import { startRemoteModelServer, type RemoteModelServer } from "./model-server-control.ts";
import { vendorEnv, type RunResult } from "./temporary-home.ts";
import { startPostgres, type TemporaryPostgres } from "./temporary-postgres.ts";

/** Secrets of the fleet. Only the memory and the environment of its processes may contain them. */
export const canaries = { database: "canary-of-the-database", model: "canary-of-the-model" };

type Run = { session: string; state: string; machine: string | null; attempts: number; why: string | null };
type Status = { workers: { id: string; machine: string }[]; runs: Run[] };

export type FleetMachines = {
  server: TemporaryPostgres;
  model: RemoteModelServer;
  person: Machine;
  first: Machine;
  second: Machine;
  status: () => Promise<Status>;
  runOf: (session: string) => Promise<Run>;
  /** Sends a task and follows it to its end. */
  send: (task: string, ...flags: string[]) => Promise<RunResult>;
  /** The session of the run that runs now. */
  runningSession: () => Promise<string>;
  isListed: (worker: RunningWorker) => Promise<boolean>;
  startWorker: (machine: Machine, ...flags: string[]) => Promise<RunningWorker>;
  /** Kills every worker that `startWorker` started. */
  killWorkers: () => Promise<void>;
  close: () => Promise<void>;
};

/**
 * A test on these machines. Where namespaces are forbidden it is replaced by one that expects the refusal, so that a run says
 * what it did not test.
 */
export function onMachines(title: string, run: () => Promise<void>, limitMs: number): void {
  if (canMakeNetworks) test(title, run, limitMs);
  else test(`not possible here, because namespaces are forbidden: ${title}`, () => expect(startNetwork()).rejects.toThrow("need root"));
}

/** Null where namespaces are forbidden. */
export async function startFleetIfPossible(): Promise<FleetMachines | null> {
  return canMakeNetworks ? startFleetMachines() : null;
}

async function startFleetMachines(): Promise<FleetMachines> {
  const network = await startNetwork();
  const server = await startPostgres({ fsync: "off" }, { enter: network.enter, address: serverAddress, password: canaries.database });
  const model = await startRemoteModelServer({ steps: [], final: "all done" });
  const fleetUrl = await server.createDatabase();
  const modelUrl = await network.expose(Number(new URL(model.url).port));
  const add = async (name: string, env: Record<string, string> = {}): Promise<Machine> => {
    const machine = await network.addMachine(name, { FLEET_URL: fleetUrl, ...env });
    await succeed(machine.run(["config", "set", "fleet.url", "$FLEET_URL"]));
    return machine;
  };
  const keys = { ...vendorEnv(modelUrl), ANTHROPIC_API_KEY: canaries.model };
  const [person, first, second] = [await add("m1"), await add("m2", keys), await add("m3", keys)];
  await succeed(person.run(["fleet", "setup"]));
  const status = async (): Promise<Status> =>
    (await succeed(person.run(["fleet", "status", "--all", "--json"]))).json() as unknown as Status;
  const kills: (() => Promise<void>)[] = [];
  return {
    server,
    model,
    person,
    first,
    second,
    status,
    runOf: async (wanted) => (await status()).runs.find(({ session }) => session === wanted)!,
    send: (task, ...flags) => person.run(["run", "--fleet", task, "-m", "anthropic/claude-sonnet-4-5", ...flags]),
    async runningSession() {
      let session: string | undefined;
      const isRunning = async () => (session = (await status()).runs.find(({ state }) => state === "running")?.session) !== undefined;
      await waitUntil("a run starts", isRunning);
      return session!;
    },
    isListed: async ({ id }) => (await status()).workers.some((worker) => worker.id === id),
    async startWorker(machine, ...flags) {
      const worker = await machine.startWorker(...flags);
      kills.push(() => worker.kill());
      return worker;
    },
    killWorkers: async () => void (await Promise.all(kills.splice(0).map((kill) => kill()))),
    async close() {
      await network.close();
      await model.stop();
      await server.remove();
    },
  };
}

async function succeed(running: Promise<RunResult>): Promise<RunResult> {
  const result = await running;
  if (result.code !== 0) throw new Error(`exit code ${result.code}: ${result.err}`);
  return result;
}

/** A file of a session on a machine that works on it. */
export function fileOn(machine: Machine, session: string, name: string): string {
  return join(machine.env["SKEIN_HOME"]!, "data-workspaces", session, name);
}

export function sizeOn(machine: Machine, session: string, name: string): number {
  const path = fileOn(machine, session, name);
  return existsSync(path) ? statSync(path).size : 0;
}

/** A step of the model that runs a command. */
export const shell = (command: string) => ({ calls: [{ input: { command } }] });
