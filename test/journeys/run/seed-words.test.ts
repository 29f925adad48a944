// Words and names that the source documents promise: flags, log filters, role files, and names in JSON.
import { expect, test } from "bun:test";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startModelServer } from "../../../src/scripted-model/model-server.ts";
import { shellScript } from "../../../src/scripted-model/script.ts";
import { homeWithFakeClis } from "../../support/fake-clis.ts";
import { connectToHub, startHub } from "../../support/hub-client.ts";
import { temporaryHome, vendorEnv, wireModels } from "../../support/temporary-home.ts";

const model = ["-m", wireModels.anthropic];

test("logs needs no session and filters by event, and the synonyms of tool levels, --stream and .txt roles work", async () => {
  const server = startModelServer({ steps: [], final: "done" });
  using skein = temporaryHome(vendorEnv(server.url));
  mkdirSync(join(skein.project, ".skein", "roles"), { recursive: true });
  writeFileSync(join(skein.project, ".skein", "roles", "poet.txt"), "Write in verse.\n");
  const ran = await skein.run(["spawn", "--task", "x", "--tool-level", "full", "--stream", "--role", "poet", ...model]);
  expect([ran.code, ran.err.includes("skein:")]).toEqual([0, false]);
  expect(JSON.stringify(server.main()[0]?.body)).toContain("Write in verse.");
  const lines = (await skein.run(["logs", "--event-type", "turn.started,turn.ended", "--json"])).lines() as { type: string }[];
  expect(lines.map(({ type }) => type)).toEqual(["turn.started", "turn.ended"]);
  expect((await skein.run(["logs", "--event-type", "nope"])).err).toContain("the types are turn.started");
  expect((await skein.run(["run", "x", "--tool-level", "planner", ...model])).err).toContain("--policy plan");
  expect((await skein.run(["spawn", "--task", "x", "-p", "anthropic"])).err).toContain("--provider anthropic");
  await server.stop();
}, 120_000);

test("resume of a turn that is not paused says so", async () => {
  const server = startModelServer(shellScript(["touch begun; while [ ! -e go ]; do sleep 0.05; done"]));
  using skein = temporaryHome(vendorEnv(server.url));
  const child = skein.start(["run", "x", "--session", "a", ...model]);
  while (!existsSync(join(skein.project, "begun"))) await Bun.sleep(20);
  expect((await skein.run(["resume", "a"])).out).toBe("a was not paused; its turn is running\n");
  writeFileSync(join(skein.project, "go"), "");
  expect(await child.exited).toBe(0);
  await server.stop();
}, 120_000);

test("the hub sends the metadata of a handle in snake_case", async () => {
  using skein = temporaryHome(vendorEnv("http://127.0.0.1:9"));
  expect((await skein.run(["new", "a", ...model])).code).toBe(0);
  expect((await skein.run(["exec", "a", "echo hi"])).code).toBe(0);
  await using hub = await startHub(skein);
  const client = await connectToHub("unix", hub);
  const answer = JSON.stringify(await client.ask("session.show", { session: "a" }));
  client.close();
  expect(answer).toContain('"exit_code":0');
  expect(answer).not.toMatch(/exitCode|durationMs|keptBytes/);
}, 120_000);

test("stream-json of another agent lists none of the native agent's tools", async () => {
  using skein = homeWithFakeClis(["claude"]);
  const [init] = (await skein.run(["run", "x", "-a", "claude", "--output-format", "stream-json"])).lines() as { tools: string[] }[];
  expect(init).toMatchObject({ type: "system", subtype: "init", tools: [] });
}, 120_000);
