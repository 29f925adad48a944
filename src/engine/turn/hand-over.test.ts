// A turn that ends at a limit is handed to the next agent that is ready, in the same session.
import { expect, test } from "bun:test";
import { Fault, type TurnError } from "../../protocol/api/error.ts";
import type { Agent, TurnInput } from "../../protocol/api/ports.ts";
import { textOf } from "../../protocol/tree/node.ts";
import { createTestEngine, endOf, node, ok, testAgent, text, turn } from "../fixtures/engine-with.ts";

const soon = Date.now() + 3_600_000;
const limited = (resetAt = soon): TurnError => ({ kind: "rate-limited", message: "usage limit reached", resetAt });

type Behaviour = "answers" | TurnError;

/** An engine with the agents native, second and third. `inputs` has the input of each turn, by agent. */
async function createEngineWith(behaviours: Record<string, Behaviour>, refused: Record<string, string> = {}) {
  const inputs: [agent: string, input: TurnInput][] = [];
  const agentOf = (name: string): Agent => ({
    ...testAgent(async function* (input) {
      inputs.push([name, input]);
      const behaviour = behaviours[name] ?? "answers";
      yield node(text(`${name} worked`));
      yield behaviour === "answers" ? ok : { type: "end", end: { status: behaviour.kind, error: behaviour } };
    }),
    name,
    check: async () => {
      if (refused[name] !== undefined) throw new Fault("auth", refused[name]);
    },
  });
  const engine = await createTestEngine(async function* () {}, { agents: ["native", "second", "third"].map(agentOf) });
  return { ...engine, inputs };
}

const handTo = (...agents: string[]) => ({ how: "agents" as const, agents: agents.map((agent) => ({ agent, model: null })) });

test("the next agent continues with everything that was said, and the tree has the prompt once and the reason", async () => {
  const { run, inputs, store, session } = await createEngineWith({ native: limited() });
  const events = await run({ atLimit: handTo("second", "third") });
  expect(endOf(events)).toMatchObject({ agent: "second", status: "ok" });
  expect(inputs.map(([agent]) => agent)).toEqual(["native", "second"]);
  const path = await store.sessionPath(session.id);
  expect(path.map(({ author, note }) => note?.about ?? author)).toEqual(["user", "agent", "hand-over", "agent"]);
  expect(textOf(path[2]!)).toContain("second takes over from native, which reached a limit: usage limit reached");
  expect(inputs[1]![1].path.map(({ id }) => id)).toEqual(path.slice(0, 3).map(({ id }) => id));
  const turns = await store.turnsOf(session.id);
  expect(turns.map(({ agent, status }) => [agent, status])).toEqual([
    ["native", "rate-limited"],
    ["second", "ok"],
  ]);
});

test("without a list the turn ends, and its hint has the end of the limit and the other choices", async () => {
  const { run, inputs } = await createEngineWith({ native: limited() });
  const { error } = endOf(await run())!;
  expect(inputs).toHaveLength(1);
  expect(error).toMatchObject({ resetAt: soon, hint: expect.stringMatching(/the limit ends at .*--at-limit wait.*--at-limit <agent>/) });
});

test("agents that are not ready are skipped with a reason", async () => {
  const { run, store, session } = await createEngineWith({ native: { kind: "overloaded", message: "busy" } }, { second: "no key for it" });
  expect(endOf(await run({ atLimit: handTo("second", "third") }))).toMatchObject({ agent: "third", status: "ok" });
  const note = (await store.sessionPath(session.id)).find((each) => each.note?.about === "hand-over");
  expect(textOf(note!)).toContain("Not ready: second: no key for it.");
});

test("if all agents are at their limits, the turn ends with the earliest end", async () => {
  const { run, inputs } = await createEngineWith({ native: limited(soon), second: limited(soon - 60_000), third: limited(soon + 60_000) });
  const ended = endOf(await run({ atLimit: handTo("second", "third") }));
  expect(inputs.map(([agent]) => agent)).toEqual(["native", "second", "third"]);
  expect(ended).toMatchObject({ agent: "third", status: "rate-limited", error: { resetAt: soon - 60_000 } });
  expect(ended?.error?.hint).toContain("no other agent of --at-limit is left");
});

test("if no agent is ready, the first turn's end is the result", async () => {
  const { run } = await createEngineWith({ native: limited() }, { second: "no key", third: "not installed" });
  expect(endOf(await run({ atLimit: handTo("second", "third", "native") }))).toMatchObject({ agent: "native", status: "rate-limited" });
});

test("budgets and steps go on counting", async () => {
  const { run, inputs } = await createEngineWith({ native: limited(), second: limited() });
  const limits = { ...turn.limits, maxSteps: 10, maxTokens: 1000, maxBudgetUsd: 1, maxChildren: 3 };
  await run({ atLimit: handTo("second", "third"), limits, timeoutMs: 60_000 });
  const given = inputs.map(([, input]) => input.limits);
  expect(given.map(({ maxSteps }) => maxSteps)).toEqual([10, 9, 8]);
  expect(given.map(({ maxChildren }) => maxChildren)).toEqual([3, 3, 3]);
});

test("other errors are not handed over", async () => {
  const { run, inputs } = await createEngineWith({ native: { kind: "refused", message: "no" } });
  expect(endOf(await run({ atLimit: handTo("second") }))).toMatchObject({ status: "refused" });
  expect(inputs).toHaveLength(1);
});

test("an unknown agent of the list is refused before the turn", async () => {
  const { api, root } = await createEngineWith({});
  const check = api.turn.check({ ...turn, agent: "native", isNew: true, directory: root, atLimit: handTo("nobody") });
  expect(
    await check.then(
      () => null,
      (error: unknown) => error,
    ),
  ).toBeInstanceOf(Fault);
});
