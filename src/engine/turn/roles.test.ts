// A role on a turn: what its agent is told and may use, what stays the turn's, and what a sub-session has of it.
import { expect, test } from "bun:test";
import type { TurnStartParams } from "../../protocol/api/api.ts";
import { messageOf } from "../../protocol/api/error.ts";
import { defaultPolicy } from "../../protocol/api/policy.ts";
import type { DelegateRequest, TurnInput } from "../../protocol/api/ports.ts";
import type { Role } from "../../protocol/api/role.ts";
import { builtInRoles } from "../../roles/built-in.ts";
import { endOf, createTestEngine, node, ok, type TakeTurn, testAgent, text, turn } from "../fixtures/engine-with.ts";

const named = (name: string) => builtInRoles.find((role) => role.name === name) as Role;
const poet: Role = {
  ...named("engineer"),
  name: "poet",
  prompt: "Rhyme.",
  tools: ["read"],
  agent: "other",
  model: "test/poet",
  net: "off",
};
const listed = [...builtInRoles, { ...poet, ignored: ["net: on"] }];
const roles = async () => ({ roles: listed, problems: [{ path: "/p/.skein/roles/torn.md", message: "has no description" }] });

type Asked = { start?: Partial<TurnStartParams>; child?: Partial<DelegateRequest> };

/** A turn, which delegates where a child is asked for: what each agent was given. */
async function played({ start = {}, child }: Asked) {
  const inputs: TurnInput[] = [];
  const made = await createTestEngine(
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
  const events = await made.run({ toolLevel: "orchestrator", ...start });
  return { ...made, events, inputs };
}

test("a turn in a role is told it last, has no more than it allows, and is recorded as such", async () => {
  const { inputs, events, store, session } = await played({
    start: { role: { name: "codereviewer" }, appendSystem: "Be kind.", timeoutMs: 7_200_000 },
  });
  expect(inputs[0]).toMatchObject({
    appendSystem: `Be kind.\n\n${named("codereviewer").prompt}`,
    toolLevel: "readonly",
    tools: null,
    policy: { ...defaultPolicy, name: "readonly", sandbox: "required" },
    model: "test/one",
  });
  expect(endOf(events)).toMatchObject({ role: "codereviewer", policy: { name: "readonly" } });
  expect((await store.turnsOf(session.id)).map((each) => each.role)).toEqual(["codereviewer"]);
});

test("what was chosen for the turn counts more than its role", async () => {
  const { inputs } = await played({ start: { role: { name: "codereviewer", keep: ["tools", "policy"] }, tools: ["edit"] } });
  expect(inputs[0]).toMatchObject({ tools: ["edit"], policy: defaultPolicy });
});

test("the default role adds nothing", async () => {
  const [plain, inRole] = [await played({}), await played({ start: { role: { name: "default" } } })];
  const given = ({ inputs: [input] }: typeof plain) => [input?.appendSystem, input?.toolLevel, input?.tools, input?.policy];
  expect(given(inRole)).toEqual(given(plain));
});

test("a role that nobody knows is a fault with the nearest name, and nothing is written; as words it is told as it is", async () => {
  const { run, api, root, store, session } = await played({});
  const before = (await store.turnsOf(session.id)).length;
  for (const [name, says] of [
    ["enginer", 'no role "enginer"'],
    ["torn", 'no role "torn": /p/.skein/roles/torn.md has no description'],
  ] as const) {
    expect(await run({ role: { name } }).then(() => "ran", messageOf)).toBe(says);
    expect(
      await api.turn.check({ ...turn, agent: "native", isNew: true, directory: root, role: { name } }).then(() => "fine", messageOf),
    ).toBe(says);
  }
  expect(await store.turnsOf(session.id)).toHaveLength(before);
  expect(await api.roles.find({ name: "enginer", directory: root }).catch((error: { hint?: string }) => error.hint)).toBe(
    "did you mean engineer? `skein roles` lists them",
  );
  const { inputs, events } = await played({ start: { role: { name: "a kind reviewer", orText: true } } });
  expect(inputs[0]).toMatchObject({ appendSystem: "Your role: a kind reviewer", toolLevel: "orchestrator" });
  expect(endOf(events)?.role).toBeUndefined();
});

test("a sub-session has its own role, not its parent's, and no more than its parent", async () => {
  const { inputs, events } = await played({ start: { role: { name: "pm" } }, child: { role: "planner" } });
  expect(inputs[0]).toMatchObject({ appendSystem: named("pm").prompt, toolLevel: "orchestrator", tools: null });
  expect(inputs[1]).toMatchObject({
    appendSystem: named("planner").prompt,
    toolLevel: "minimal",
    tools: null,
    policy: { name: "readonly", sandbox: "required" },
  });
  expect(endOf(events)?.role).toBe("pm");
  const [, below] = (await played({ start: { policy: { ...defaultPolicy, name: "readonly" } }, child: { role: "engineer" } })).inputs;
  expect(below).toMatchObject({ policy: { name: "readonly" }, toolLevel: "readonly" });
  const [, free] = (await played({ start: { role: { name: "pm" } }, child: { role: "someone kind" } })).inputs;
  expect(free).toMatchObject({ appendSystem: "Your role: someone kind", toolLevel: "minimal" });
});

test("a role's agent and model are used where nobody named one, and an agent with tools of its own keeps them", async () => {
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
