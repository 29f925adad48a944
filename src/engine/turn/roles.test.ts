// Roles of turns and sub-sessions: system text, tools, policy, agent and model.
import { expect, test } from "bun:test";
import type { TurnStartParams } from "../../protocol/api/api.ts";
import { messageOf } from "../../protocol/api/error.ts";
import { defaultPolicy } from "../../protocol/api/policy.ts";
import type { DelegateRequest, TurnInput } from "../../protocol/api/ports.ts";
import type { Role } from "../../protocol/api/role.ts";
import { builtInRoles } from "../../roles/built-in.ts";
import { endOf, createTestEngine, node, ok, type TakeTurn, testAgent, text, turn } from "../fixtures/engine-with.ts";

const builtIn = (name: string) => builtInRoles.find((role) => role.name === name) as Role;
const poet: Role = {
  ...builtIn("engineer"),
  name: "poet",
  prompt: "Rhyme.",
  tools: ["read"],
  agent: "other",
  model: "test/poet",
  net: "off",
};
const allRoles = [...builtInRoles, { ...poet, ignored: ["net: on"] }];
const roles = async () => ({ roles: allRoles, problems: [{ path: "/p/.skein/roles/torn.md", message: "has no description" }] });

type RunOptions = { start?: Partial<TurnStartParams>; child?: Partial<DelegateRequest> };

/** Runs a turn, which delegates once if `child` is set. `inputs` has the input of each agent. */
async function runWithRole({ start = {}, child }: RunOptions) {
  const inputs: TurnInput[] = [];
  const engine = await createTestEngine(
    async function* (input, context) {
      inputs.push(input);
      if (child !== undefined && inputs.length === 1) {
        const plain = { task: "part", call: "c", role: null, attachable: false, agent: null, model: null, sandbox: {} };
        await context.delegate({ ...plain, signal: context.signal, onEvent: () => {}, ...child });
      }
      yield node(text("done"));
      yield ok;
    },
    { roles },
  );
  const events = await engine.run({ toolLevel: "orchestrator", ...start });
  return { ...engine, events, inputs };
}

test("a role's prompt is the last system text, its limits apply, and it is stored on the turn", async () => {
  const { inputs, events, store, session } = await runWithRole({
    start: { role: { name: "codereviewer" }, appendSystem: "Be kind.", timeoutMs: 7_200_000 },
  });
  expect(inputs[0]).toMatchObject({
    appendSystem: `Be kind.\n\n${builtIn("codereviewer").prompt}`,
    toolLevel: "readonly",
    tools: null,
    policy: { ...defaultPolicy, name: "readonly", sandbox: "required" },
    model: "test/one",
  });
  expect(endOf(events)).toMatchObject({ role: "codereviewer", policy: { name: "readonly" } });
  expect((await store.turnsOf(session.id)).map(({ role }) => role)).toEqual(["codereviewer"]);
});

test("explicit options of a turn override its role", async () => {
  const { inputs } = await runWithRole({ start: { role: { name: "codereviewer", keep: ["tools", "policy"] }, tools: ["edit"] } });
  expect(inputs[0]).toMatchObject({ tools: ["edit"], policy: defaultPolicy });
});

test("the default role changes nothing", async () => {
  const [plain, inRole] = [await runWithRole({}), await runWithRole({ start: { role: { name: "default" } } })];
  const roleFields = ({ inputs: [input] }: typeof plain) => [input?.appendSystem, input?.toolLevel, input?.tools, input?.policy];
  expect(roleFields(inRole)).toEqual(roleFields(plain));
});

test("an unknown role is a fault with the nearest name before a turn is stored; with orText it is used as text", async () => {
  const { run, api, root, store, session } = await runWithRole({});
  const before = (await store.turnsOf(session.id)).length;
  for (const [name, message] of [
    ["enginer", 'no role "enginer"'],
    ["torn", 'no role "torn": /p/.skein/roles/torn.md has no description'],
  ] as const) {
    expect(await run({ role: { name } }).then(() => "ran", messageOf)).toBe(message);
    expect(
      await api.turn.check({ ...turn, agent: "native", isNew: true, directory: root, role: { name } }).then(() => "accepted", messageOf),
    ).toBe(message);
  }
  expect(await store.turnsOf(session.id)).toHaveLength(before);
  expect(await api.roles.find({ name: "enginer", directory: root }).catch((error: { hint?: string }) => error.hint)).toBe(
    "did you mean engineer? `skein roles` lists them",
  );
  const { inputs, events } = await runWithRole({ start: { role: { name: "a kind reviewer", orText: true } } });
  expect(inputs[0]).toMatchObject({ appendSystem: "Your role: a kind reviewer", toolLevel: "orchestrator" });
  expect(endOf(events)?.role).toBeUndefined();
});

test("a sub-session has its own role instead of its parent's, and no more rights than its parent", async () => {
  const { inputs, events } = await runWithRole({ start: { role: { name: "pm" } }, child: { role: "planner" } });
  expect(inputs[0]).toMatchObject({ appendSystem: builtIn("pm").prompt, toolLevel: "orchestrator", tools: null });
  expect(inputs[1]).toMatchObject({
    appendSystem: builtIn("planner").prompt,
    toolLevel: "minimal",
    tools: null,
    policy: { name: "readonly", sandbox: "required" },
  });
  expect(endOf(events)?.role).toBe("pm");
  const [, subSession] = (await runWithRole({ start: { policy: { ...defaultPolicy, name: "readonly" } }, child: { role: "engineer" } }))
    .inputs;
  expect(subSession).toMatchObject({ policy: { name: "readonly" }, toolLevel: "readonly" });
  const [, withText] = (await runWithRole({ start: { role: { name: "pm" } }, child: { role: "someone kind" } })).inputs;
  expect(withText).toMatchObject({ appendSystem: "Your role: someone kind", toolLevel: "minimal" });
});

test("a role's agent and model are used if the turn names none, and an agent with its own tools keeps them", async () => {
  const inputs: TurnInput[] = [];
  const take: TakeTurn = async function* (input) {
    inputs.push(input);
    yield ok;
  };
  const { takesTools: _tools, ...plain } = testAgent(take);
  const { run, api, root } = await createTestEngine(take, { roles, agents: [testAgent(take), { ...plain, name: "other" }] });
  const events = await run({ role: { name: "poet" }, toolLevel: "orchestrator", policy: { ...defaultPolicy, net: "on" } });
  expect(endOf(events)).toMatchObject({ agent: "other", model: "test/poet", policy: { net: "off" } });
  expect(inputs[0]).toMatchObject({ tools: null, toolLevel: "orchestrator", appendSystem: "Rhyme." });
  expect(events.flatMap((event) => (event.type === "warning.raised" ? [event.message] : []))).toEqual([
    "role poet: net: on is ignored, because the project is not trusted (`skein trust`)",
  ]);
  expect(endOf(await run({ role: { name: "poet" }, agent: "native", model: null }))).toMatchObject({ agent: "native", model: "test/one" });
  expect(inputs[1]).toMatchObject({ tools: ["read", "ask_user"] });
  await api.turn.check({ ...turn, agent: "other", isNew: true, directory: root, role: { name: "poet" } });
});
