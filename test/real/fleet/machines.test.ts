// A run on one machine is seen, answered, paused and ended from another one that has no worker and no key. No secret of any machine
// is in the database, the files or the logs. Machines have networks and processes of their own. Needs root and Debian's Postgres.
import { afterAll, beforeAll, expect } from "bun:test";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { waitUntil, type RunningWorker } from "../../support/machines.ts";
import { canaries, fileOn, onMachines, shell, sizeOn, startFleetIfPossible, type FleetMachines } from "../../support/fleet-machines.ts";

let fleet: FleetMachines;
let worker: RunningWorker;

beforeAll(async () => {
  const started = await startFleetIfPossible();
  if (started === null) return;
  fleet = started;
  worker = await fleet.startWorker(fleet.first);
}, 120_000);
afterAll(() => fleet?.close(), 60_000);

onMachines(
  "every verb works from a machine that neither sent the run nor works on it",
  async () => {
    const { person, first, second, model, runOf } = fleet;
    const asking = { calls: [{ name: "ask_user", input: { question: "Which colour?", options: ["red", "blue"] } }] };
    const loop = "echo painted blue; while :; do date >> ticks; sleep 0.05; done";
    await model.setScript({ steps: [asking, shell(loop)], final: "painted" });
    const sent = await person.run(["run", "--fleet", "--detach", "paint the kingfisher", "-m", "anthropic/claude-sonnet-4-5", "--json"]);
    expect([sent.code, sent.err]).toEqual([0, ""]);
    const session = String(sent.json()["session_id"]);
    const elsewhere = async (...args: string[]): Promise<string> => {
      const { code, out, err } = await second.run(args);
      expect([args.join(" "), code, err]).toEqual([args.join(" "), 0, err]);
      return out;
    };
    const watching = second.run(["logs", "-f", "--json", session]);
    const attached = second.run(["attach", "--json", session]);
    let ask: { id: string; session_id: string; question: string } | undefined;
    await waitUntil("the question is listed", async () => {
      const asks = JSON.parse(await elsewhere("asks", "--json")) as (typeof ask)[];
      return (ask = asks.find((entry) => entry?.session_id === session)) !== undefined;
    });
    expect(ask!.question).toBe("Which colour?");
    await elsewhere("answer", ask!.id, "2");
    await waitUntil("the command writes", () => sizeOn(first, session, "ticks") > 0);
    const running = await elsewhere("ps");
    expect(running).toContain("paint the kingfisher");
    expect(running).toContain("m2");
    expect(await elsewhere("list", "--all")).toContain("paint the kingfisher");
    expect(await elsewhere("search", "kingfisher", "--all-projects")).toContain("paint the");
    expect(await elsewhere("show", session)).toContain("blue");
    await elsewhere("pause", session);
    const size = sizeOn(first, session, "ticks");
    expect(await elsewhere("ps")).toContain("paused");
    expect(sizeOn(first, session, "ticks")).toBe(size);
    await elsewhere("resume", session);
    await waitUntil("the command writes again", () => sizeOn(first, session, "ticks") > size);
    await elsewhere("kill", session);
    await waitUntil("the run ends", async () => (await runOf(session)).state === "done");
    await waitUntil("its processes are gone", () => !first.processes().some((line) => line.includes("sleep 0.05")));
    expect(await elsewhere("usage", "--by", "model", "--all-projects")).toContain("anthropic");
    const stored = (text: string) => text.split("\n").filter((line) => line.includes('"seq"') && !line.includes('"n":'));
    const [seen, joined] = [await watching, await attached];
    expect(stored(seen.out)).toEqual(stored(await elsewhere("logs", session, "--json")));
    expect(stored(joined.out)).toEqual(stored(seen.out));
  },
  180_000,
);

onMachines(
  "no secret is in the database, its files and log, the arguments and logs of processes, or the files of any machine",
  async () => {
    const { person, first, second, model, server } = fleet;
    writeFileSync(join(person.project, ".gitignore"), ".env\n");
    writeFileSync(join(person.project, ".env"), "KEY=canary-of-the-project\n");
    const { send, runningSession } = fleet;
    await model.setScript({ steps: [shell("env; echo > started; while [ ! -e stop ]; do sleep 0.05; done")], final: "done" });
    const result = send("look around");
    const session = await runningSession();
    await waitUntil("the command runs", () => sizeOn(first, session, "started") > 0);
    const commands = [person, first, second].flatMap((machine) => machine.processes());
    expect(commands.length).toBeGreaterThan(2);
    await Bun.write(fileOn(first, session, "stop"), "");
    expect((await result).code).toBe(0);
    const dump = Bun.spawnSync(["pg_dump", "-h", server.directory, "-p", String(server.port), "-U", "tester", "d1"]).stdout.toString();
    expect(dump).toContain("look around");
    const secrets = [...Object.values(canaries), "canary-of-the-project", "key-openai", "key-gemini"];
    for (const secret of secrets) {
      expect([secret, commands.filter((line) => line.includes(secret))]).toEqual([secret, []]);
      expect([secret, worker.log().includes(secret)]).toEqual([secret, false]);
      expect([secret, dump.includes(secret)]).toEqual([secret, false]);
      const directories = [server.directory, ...[person, first, second].map(({ root }) => root)];
      const files = directories
        .flatMap((directory) => filesWith(directory, secret))
        .filter((path) => path !== join(person.project, ".env"));
      expect([secret, files]).toEqual([secret, []]);
    }
    expect((await model.requests()).filter(({ text }) => text.includes("canary"))).toEqual([]);
  },
  180_000,
);

/** The files below a directory that contain a text, also binary ones. */
function filesWith(directory: string, text: string): string[] {
  const found: string[] = [];
  for (const entry of readdirSync(directory, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isFile() && readFileSync(path).includes(text)) found.push(path);
  }
  return found;
}
