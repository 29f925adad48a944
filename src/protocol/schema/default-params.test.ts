import { expect, test } from "bun:test";
import type { Settings } from "../api/api.ts";
import type { MethodName } from "../api/api.ts";
import { headlessLimits } from "../api/turn-options.ts";
import { defaultSettings as usual } from "../fixtures/default-settings.ts";
import { snakeCase } from "../json/field-names.ts";
import { checkParams } from "./check-params.ts";
import { configuredFields, fillDefaults } from "./default-params.ts";

/** Nothing in it is what it is without a configuration. */
const configured: Settings = {
  ...usual,
  agent: "claude",
  toolLevel: "minimal",
  policy: "full",
  sandbox: "required",
  net: "on",
  allowWrite: ["/a"],
  maxSteps: 7,
  maxTokens: 700,
  maxBudgetUsd: 0.7,
  maxChildren: 0,
  timeoutMs: 70_000,
  idleMs: 7_000,
  contextFiles: false,
};

function settled(row: MethodName, given: unknown, settings: Settings): Record<string, unknown> {
  const checked = checkParams(row, given);
  if (!checked.ok) throw new Error(checked.message);
  return fillDefaults(row, checked.params, given, settings);
}

test("without configuration, missing fields get the defaults of the schema", () => {
  const given = { session: "s", prompt: "hi" };
  const checked = checkParams("turn.start", given);
  expect(checked).toEqual({ ok: true, params: settled("turn.start", given, usual) as never });
  expect(settled("turn.start", given, usual)).toMatchObject({
    timeoutMs: headlessLimits.timeoutMs,
    limits: { maxSteps: headlessLimits.maxSteps },
  });
});

test("missing fields get configured values, by name and by position", () => {
  const turn = {
    toolLevel: "minimal",
    contextFiles: false,
    policy: { name: "full", sandbox: "required", net: "on", allowWrite: ["/a"], addDirs: [] },
    limits: { maxSteps: 7, maxTokens: 700, maxBudgetUsd: 0.7, maxChildren: 0, treeSteps: null },
    timeoutMs: 70_000,
    idleMs: 7_000,
  };
  expect(settled("turn.start", { session: "s", prompt: "hi" }, configured)).toMatchObject({
    session: "s",
    prompt: "hi",
    agent: null,
    ...turn,
  });
  expect(settled("turn.start", ["s", "hi"], configured)).toMatchObject({ session: "s", prompt: "hi", ...turn });
  expect(settled("turn.check", { directory: "/d" }, configured)).toMatchObject({ agent: "claude", isNew: true, ...turn });
  expect(settled("session.open", { directory: "/d" }, configured)).toMatchObject({ agent: "claude", toolLevel: "minimal" });
  expect(settled("bash.execute", { session: "s", command: "ls" }, configured)).toMatchObject({ policy: turn.policy, timeoutMs: null });
});

test("a sent field overrides the configuration, also with null", () => {
  const given = { session: "s", prompt: "hi", timeout_ms: null, policy: { net: "off" }, limits: { max_steps: 3, max_tokens: null } };
  expect(settled("turn.start", given, configured)).toMatchObject({
    timeoutMs: null,
    idleMs: 7_000,
    policy: { name: "full", sandbox: "required", net: "off" },
    limits: { maxSteps: 3, maxTokens: null, maxChildren: 0 },
  });
  expect(settled("turn.start", { session: "s", prompt: "hi", context_files: true, tool_level: "none" }, configured)).toMatchObject({
    contextFiles: true,
    toolLevel: "none",
  });
});

test("a policy with only a name is completed as on the command line", () => {
  const policyOf = (more: object, settings: Partial<Settings>) =>
    settled("turn.start", { session: "s", prompt: "hi", ...more }, { ...usual, allowWrite: ["/a"], ...settings })["policy"];
  const readonly = { name: "readonly", sandbox: "required", net: "off", allowWrite: [], addDirs: [] };
  expect(policyOf({}, { policy: "readonly" })).toEqual(readonly);
  expect(policyOf({}, { toolLevel: "readonly" })).toEqual(readonly);
  expect(policyOf({ tool_level: "readonly" }, {})).toEqual(readonly);
  expect(policyOf({ policy: { name: "readonly" } }, {})).toEqual(readonly);
  expect(policyOf({ policy: { name: "full" } }, { policy: "readonly" })).toEqual({
    ...readonly,
    name: "full",
    sandbox: "auto",
    net: "on",
    allowWrite: ["/a"],
  });
});

test("docs/HUB.md names exactly the fields with configured defaults", () => {
  const leaves = (value: unknown, prefix = ""): [string, unknown][] =>
    Object.entries(value as object).flatMap(([name, each]) =>
      ["policy", "limits"].includes(name) ? leaves(each, `${name}.`) : [[prefix + snakeCase(name), each] as [string, unknown]],
    );
  for (const [row, given] of [
    ["session.open", { directory: "/d" }],
    ["turn.start", { session: "s", prompt: "hi" }],
  ] as const) {
    const plain = new Map(leaves(settled(row, given, usual)));
    const changed = leaves(settled(row, given, configured)).filter(([name, value]) => !Bun.deepEquals(plain.get(name), value));
    expect(changed.map(([name]) => name).toSorted()).toEqual(Object.keys(configuredFields[row]!).toSorted());
  }
});
