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
  mcpServers: {},
  policy: defaultPolicy,
  timeoutMs: null,
  idleMs: null,
};

describe("the policy", () => {
  const full: Policy = { name: "full", sandbox: "off", net: "on", allowWrite: ["/w"], addDirs: ["/d"] };
  const narrowed = (policy: Policy, role: Partial<Role>, explicitFields: RoleField[] = []) =>
    narrowTurn({ ...turn, policy }, { ...plain, ...role }, explicitFields).policy;

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

  test("a role can turn the network off, but not on", () => {
    expect(narrowed({ ...defaultPolicy, net: "on" }, { net: "off" }).net).toBe("off");
    expect(narrowed(defaultPolicy, { net: "on" }).net).toBe("off");
    const named: Policy = { ...defaultPolicy, netHosts: ["x.org"] };
    expect([narrowed(named, { net: "off" }), narrowed(named, { net: "on" })]).toEqual([defaultPolicy, named]);
  });

  test("a role can't turn the network off under policy full", () => {
    expect(narrowed(full, { net: "off" })).toEqual(full);
  });

  test("an explicit policy, network or sandbox of the turn overrides the role", () => {
    expect(narrowed(full, { policy: "readonly", net: "off" }, ["policy"])).toEqual(full);
    expect(narrowed({ ...defaultPolicy, net: "on" }, { net: "off" }, ["net"]).net).toBe("on");
    expect(narrowed(defaultPolicy, { policy: "readonly" }, ["sandbox"]).sandbox).toBe("auto");
  });

  test("an explicit sandbox off does not override a role that requires a sandbox", () => {
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
    "a turn of level %s with tools %j, under a role with tools %j, has level %s and tools %j",
    (level, turnTools, roleTools, narrowedLevel, narrowedTools) => {
      expect(narrowTurn({ ...turn, toolLevel: level, tools: turnTools }, { ...plain, tools: roleTools }, [])).toMatchObject({
        toolLevel: narrowedLevel,
        tools: narrowedTools,
      });
    },
  );

  test("a readonly role with read and bash narrows a turn to level readonly, unless its tools are explicit", () => {
    const role = { ...plain, tools: ["read", "bash"], policy: "readonly" as const };
    expect(narrowTurn(turn, role, [])).toMatchObject({ toolLevel: "readonly", tools: null });
    expect(narrowTurn(turn, role, ["tools"])).toMatchObject({ toolLevel: "orchestrator", tools: null });
  });
});

test("the shorter time limit of turn and role applies, unless the turn sets its limits explicitly", () => {
  const timesOf = (timeoutMs: number | null, idleMs: number | null, explicitFields: RoleField[] = []) => {
    const narrowed = narrowTurn({ ...turn, timeoutMs, idleMs }, { ...plain, idleMs: 500 }, explicitFields);
    return [narrowed.timeoutMs, narrowed.idleMs];
  };
  expect([timesOf(null, null), timesOf(90_000, 100), timesOf(30_000, 900), timesOf(90_000, 900, ["time"])]).toEqual([
    [60_000, 500],
    [60_000, 100],
    [30_000, 500],
    [90_000, 900],
  ]);
});

test("a role that names its tools has MCP servers only if it names mcp", () => {
  const narrowed = (tools: string[] | null, turnTools: string[] | null = null) => {
    const { tools: remaining, mcpServers } = narrowTurn({ ...turn, tools: turnTools }, { ...plain, tools }, []);
    return [remaining, mcpServers];
  };
  expect(narrowed(null)).toEqual([null, {}]);
  expect(narrowed(["read", "write", "edit", "bash"])).toEqual([null, null]);
  expect(narrowed(["read", "write", "edit", "bash", "mcp"])).toEqual([null, {}]);
  expect(narrowed(["read", "mcp"])).toEqual([["read", "mcp", "ask_user"], {}]);
  expect(narrowed(["read", "mcp"], ["mcp", "bash"])).toEqual([["mcp"], {}]);
});
