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
  const after = (policy: Policy, role: Partial<Role>, keep: RoleField[] = []) =>
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
    expect(after({ ...full, name }, { policy })).toEqual(expected);
  });

  test("a role can turn the network off and never on", () => {
    expect(after({ ...defaultPolicy, net: "on" }, { net: "off" }).net).toBe("off");
    expect(after(defaultPolicy, { net: "on" }).net).toBe("off");
    expect(after(full, { net: "off" })).toEqual(full);
  });

  test("an explicit choice for the turn overrides the role", () => {
    expect(after(full, { policy: "readonly", net: "off" }, ["policy"])).toEqual(full);
    expect(after({ ...defaultPolicy, net: "on" }, { net: "off" }, ["net"]).net).toBe("on");
    expect(after(defaultPolicy, { policy: "readonly" }, ["sandbox"]).sandbox).toBe("auto");
    expect(after(full, { policy: "readonly" }, ["sandbox"]).sandbox).toBe("required");
  });
});

describe("the tools", () => {
  const four = ["read", "write", "edit", "bash"];
  test.each([
    ["orchestrator", null, four, "minimal", null],
    ["orchestrator", null, [...four, "spawn_session"], "orchestrator", null],
    ["minimal", null, [...four, "spawn_session"], "minimal", null],
    ["readonly", null, four, "readonly", null],
    ["none", null, four, "none", null],
    ["orchestrator", null, [], "none", null],
    ["orchestrator", null, ["read", "bash"], "orchestrator", ["read", "bash", "ask_user"]],
    ["orchestrator", null, ["edit", "read"], "orchestrator", ["read", "edit", "ask_user"]],
    ["orchestrator", ["read", "bash", "ask_user"], ["bash", "edit"], "orchestrator", ["bash", "ask_user"]],
    ["orchestrator", ["read"], null, "orchestrator", ["read"]],
  ] as [ToolLevel, string[] | null, string[] | null, ToolLevel, string[] | null][])(
    "%s %j in a role for %j",
    (level, named, tools, toolLevel, left) => {
      expect(narrowTurn({ ...turn, toolLevel: level, tools: named }, { ...plain, tools }, [])).toMatchObject({ toolLevel, tools: left });
    },
  );

  test("bash in a role that can't write is the bash of level readonly", () => {
    const role = { ...plain, tools: ["read", "bash"], policy: "readonly" as const };
    expect(narrowTurn(turn, role, [])).toMatchObject({ toolLevel: "readonly", tools: null });
    expect(narrowTurn(turn, role, ["tools"])).toMatchObject({ toolLevel: "orchestrator", tools: null });
  });
});

test("the shorter time applies unless the turn sets it explicitly", () => {
  const time = (timeoutMs: number | null, idleMs: number | null, keep: RoleField[] = []) => {
    const left = narrowTurn({ ...turn, timeoutMs, idleMs }, { ...plain, idleMs: 500 }, keep);
    return [left.timeoutMs, left.idleMs];
  };
  expect([time(null, null), time(90_000, 100), time(30_000, 900), time(90_000, 900, ["time"])]).toEqual([
    [60_000, 500],
    [60_000, 100],
    [30_000, 500],
    [90_000, 900],
  ]);
});
