import { describe, expect, test } from "bun:test";
import { defaultPolicy, type Policy, type ToolLevel } from "./policy.ts";
import { narrowTurn, type Role, type RoleField } from "./role.ts";

const plain: Role = {
  name: "r",
  description: "d",
  prompt: "p",
  capabilities: [],
  reads: [],
  writes: [],
  agent: null,
  model: null,
  tools: null,
  policy: null,
  net: null,
  timeoutMs: 60_000,
  idleMs: null,
  maxMemoryMb: 1,
  origin: "built-in",
  path: null,
  specialises: null,
  notes: [],
  ignored: [],
};
const turn = {
  toolLevel: "orchestrator" as ToolLevel,
  tools: null as string[] | null,
  policy: defaultPolicy,
  timeoutMs: null,
  idleMs: null,
};

describe("the policy", () => {
  const full: Policy = { name: "full", sandbox: "off", net: "on", allowWrite: ["/w"], addDirs: ["/d"] };
  const narrowed = (policy: Policy, role: Partial<Role>, keep: RoleField[] = []) =>
    narrowTurn({ ...turn, policy }, { ...plain, ...role }, keep).policy;

  test.each([
    ["full", "workspace", { ...full, name: "workspace", sandbox: "auto" }],
    ["full", "readonly", { ...full, name: "readonly", sandbox: "required", allowWrite: [] }],
    ["full", "full", full],
    ["full", null, full],
    ["workspace", "full", { ...full, name: "workspace" }],
    ["workspace", "plan", { ...full, name: "plan", sandbox: "required", allowWrite: [] }],
    ["readonly", "workspace", { ...full, name: "readonly" }],
    ["readonly", "plan", { ...full, name: "readonly" }],
    ["plan", "readonly", { ...full, name: "readonly", sandbox: "required", allowWrite: [] }],
  ] as [Policy["name"], Role["policy"], Policy][])("policy %s is narrowed by a role with policy %s", (name, policy, expected) => {
    expect(narrowed({ ...full, name }, { policy })).toEqual(expected);
  });

  test("a role can turn the network off and never on", () => {
    expect(narrowed({ ...defaultPolicy, net: "on" }, { net: "off" }).net).toBe("off");
    expect(narrowed(defaultPolicy, { net: "on" }).net).toBe("off");
    expect(narrowed(full, { net: "off" })).toEqual(full);
  });

  test("an explicit choice for the turn overrides the role", () => {
    expect(narrowed(full, { policy: "readonly", net: "off" }, ["policy"])).toEqual(full);
    expect(narrowed({ ...defaultPolicy, net: "on" }, { net: "off" }, ["net"]).net).toBe("on");
    expect(narrowed(defaultPolicy, { policy: "readonly" }, ["sandbox"]).sandbox).toBe("auto");
    expect(narrowed(full, { policy: "readonly" }, ["sandbox"]).sandbox).toBe("required");
  });
});

describe("the tools", () => {
  const executorTools = ["read", "write", "edit", "bash"];
  test.each([
    ["orchestrator", null, executorTools, "minimal", null],
    ["orchestrator", null, [...executorTools, "spawn_session"], "orchestrator", null],
    ["minimal", null, [...executorTools, "spawn_session"], "minimal", null],
    ["readonly", null, executorTools, "readonly", null],
    ["none", null, executorTools, "none", null],
    ["orchestrator", null, [], "none", null],
    ["orchestrator", null, ["read", "bash"], "orchestrator", ["read", "bash", "ask_user"]],
    ["orchestrator", null, ["edit", "read"], "orchestrator", ["read", "edit", "ask_user"]],
    ["orchestrator", ["read", "bash", "ask_user"], ["bash", "edit"], "orchestrator", ["bash", "ask_user"]],
    ["orchestrator", ["read"], null, "orchestrator", ["read"]],
  ] as [ToolLevel, string[] | null, string[] | null, ToolLevel, string[] | null][])(
    "level %s with tools %j is narrowed by a role with tools %j",
    (level, named, tools, toolLevel, expected) => {
      expect(narrowTurn({ ...turn, toolLevel: level, tools: named }, { ...plain, tools }, [])).toMatchObject({
        toolLevel,
        tools: expected,
      });
    },
  );

  test("a role that can't write has bash at level readonly", () => {
    const role = { ...plain, tools: ["read", "bash"], policy: "readonly" as const };
    expect(narrowTurn(turn, role, [])).toMatchObject({ toolLevel: "readonly", tools: null });
    expect(narrowTurn(turn, role, ["tools"])).toMatchObject({ toolLevel: "orchestrator", tools: null });
  });
});

test("the shorter time applies unless the turn sets it explicitly", () => {
  const timesOf = (timeoutMs: number | null, idleMs: number | null, keep: RoleField[] = []) => {
    const narrowed = narrowTurn({ ...turn, timeoutMs, idleMs }, { ...plain, idleMs: 500 }, keep);
    return [narrowed.timeoutMs, narrowed.idleMs];
  };
  expect([timesOf(null, null), timesOf(90_000, 100), timesOf(30_000, 900), timesOf(90_000, 900, ["time"])]).toEqual([
    [60_000, 500],
    [60_000, 100],
    [30_000, 500],
    [90_000, 900],
  ]);
});
