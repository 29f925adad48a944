// Costs as they leave the program: sums with an unknown part are marked, and money is rounded to micro-dollars.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { startModelServer, type ModelServer } from "../../../src/scripted-model/model-server.ts";
import { connectToHub, startHub } from "../../support/hub-client.ts";
import { temporaryHome, vendorEnv, wireModels } from "../../support/temporary-home.ts";

let server: ModelServer;
beforeAll(() => {
  server = startModelServer({ steps: [], final: "" });
});
afterAll(() => server.stop());

const priced = ["-m", wireModels.anthropic];

test("a total with an unpriced sub-session is the known sum with a plus, and cost_is_partial in JSON", async () => {
  const spawn = { name: "spawn_session", input: { task: "look", model: "openai/gpt-not-in-any-catalog", agent: "native" } };
  server.setScript(({ position: { prompt } }) =>
    prompt === "look" ? { steps: [], final: "seen" } : { steps: [{ calls: [spawn] }], final: "ok" },
  );
  using skein = temporaryHome(vendorEnv(server.url));
  const json = (await skein.run(["run", "delegate", ...priced, "--output-format", "json"])).json();
  expect(json["cost_is_partial"]).toBe(true);
  expect(json["cost_usd"]).toBeGreaterThan(0);
  const text = await skein.run(["run", "delegate", ...priced]);
  expect(text.err).toMatch(/ · \$0\.\d{4}\+ · /);
  const ps = await skein.run(["ps", "--all"]);
  expect(ps.out).toMatch(/\$0\.\d{4}\+/);
}, 120_000);

/** Values of fields that hold money, at any depth. */
function moneyIn(value: unknown): number[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, field]) =>
    typeof field === "number" && /(cost_usd|usd_left)$/.test(name) ? [field] : moneyIn(field),
  );
}

test("money in JSON of the command line, the exports and the hub has at most six decimal places", async () => {
  const usage = { input: 1_234, output: 777, cacheRead: 333, cacheWrite: 11 };
  const step = { calls: [{ input: { command: "true" } }], usage };
  server.setScript({ steps: [step, { ...step, usage: { ...usage, input: 1_001 } }, step, step], final: "done" });
  using skein = temporaryHome(vendorEnv(server.url));
  const run = await skein.run(["run", "count", ...priced, "--max-budget-usd", "5", "--session", "a", "--output-format", "stream-json"]);
  expect(run.code).toBe(0);
  const documents: unknown[] = run.lines();
  for (const args of [["show", "a"], ["ps", "--all"], ["usage"], ["list"]]) documents.push((await skein.run([...args, "--json"])).json());
  for (const args of [
    ["logs", "a", "--json"],
    ["export", "a", "--format", "jsonl"],
  ])
    documents.push((await skein.run(args)).lines());
  documents.push((await skein.run(["export", "a", "--format", "json"])).json());
  await using hub = await startHub(skein);
  const client = await connectToHub("unix", hub);
  documents.push(await client.ask("session.show", { session: "a" }));
  client.close();
  const amounts = moneyIn(documents);
  expect(amounts.length).toBeGreaterThan(20);
  expect(amounts.filter((amount) => amount !== Math.round(amount * 1e6) / 1e6)).toEqual([]);
}, 120_000);
