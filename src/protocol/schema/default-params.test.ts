import { expect, test } from "bun:test";
import type { Settings } from "../api/api.ts";
import type { MethodName } from "../api/api.ts";
import { headlessLimits } from "../api/turn-options.ts";
import { defaultSettings as defaults } from "../fixtures/default-settings.ts";
import { snakeCase } from "../json/field-names.ts";
import { checkParams } from "./check-params.ts";
import { configuredFields, fillDefaults } from "./default-params.ts";

/** Every value differs from the default. */
const configured: Settings = {
  ...defaults,
  agent: "claude",
  toolLevel: "minimal",
  policy: "full",
  sandbox: "required",
  net: "on",
  netHosts: ["x.org"],
  allowWrite: ["/a"],
  maxSteps: 7,
  maxTokens: 700,
  maxBudgetUsd: 0.7,
  maxChildren: 0,
  timeoutMs: 70_000,
  idleMs: 7_000,
  atLimit: "codex",
  waitAtMostMs: 700,
  autoResume: false,
  contextFiles: false,
  check: "npm test",
  checkTimeoutMs: 7_000,
};

function filled(method: MethodName, sent: unknown, settings: Settings): Record<string, unknown> {
  const checked = checkParams(method, sent);
  if (!checked.ok) throw new Error(checked.message);
  return fillDefaults(method, checked.params, sent, settings);
}

test("without configuration, missing fields get the defaults of the schema", () => {
  const sent = { session: "s", prompt: "hi" };
  const checked = checkParams("turn.start", sent);
  expect(checked).toEqual({ ok: true, params: filled("turn.start", sent, defaults) as never });
  expect(filled("turn.start", sent, defaults)).toMatchObject({
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
  expect(filled("turn.start", { session: "s", prompt: "hi" }, configured)).toMatchObject({
    session: "s",
    prompt: "hi",
    agent: null,
    ...turn,
  });
  expect(filled("turn.start", ["s", "hi"], configured)).toMatchObject({ session: "s", prompt: "hi", ...turn });
  expect(filled("turn.check", { directory: "/d" }, configured)).toMatchObject({ agent: "claude", isNew: true, ...turn });
  expect(filled("session.open", { directory: "/d" }, configured)).toMatchObject({ agent: "claude", toolLevel: "minimal" });
  expect(filled("bash.execute", { session: "s", command: "ls" }, configured)).toMatchObject({ policy: turn.policy, timeoutMs: null });
});

test("a sent field overrides the configuration, also with null", () => {
  const sent = { session: "s", prompt: "hi", timeout_ms: null, policy: { net: "off" }, limits: { max_steps: 3, max_tokens: null } };
  expect(filled("turn.start", sent, configured)).toMatchObject({
    timeoutMs: null,
    idleMs: 7_000,
    policy: { name: "full", sandbox: "required", net: "off" },
    limits: { maxSteps: 3, maxTokens: null, maxChildren: 0 },
  });
  expect(filled("turn.start", { session: "s", prompt: "hi", context_files: true, tool_level: "none" }, configured)).toMatchObject({
    contextFiles: true,
    toolLevel: "none",
  });
});

test("a sent choice at a limit gets no agents of the configured one", () => {
  const sent = { session: "s", prompt: "hi", at_limit: { how: "wait" } };
  expect(filled("turn.start", sent, configured)["atLimit"]).toEqual({ how: "wait" });
  expect(filled("turn.start", { session: "s", prompt: "hi" }, configured)["atLimit"]).toEqual({
    how: "agents",
    agents: [{ agent: "codex", model: null }],
  });
});

test("a policy with only a name is completed as on the command line", () => {
  const policyOf = (more: object, settings: Partial<Settings>) =>
    filled("turn.start", { session: "s", prompt: "hi", ...more }, { ...defaults, allowWrite: ["/a"], ...settings })["policy"];
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
    Object.entries(value as object).flatMap(([name, field]) =>
      ["policy", "limits"].includes(name) ? leaves(field, `${name}.`) : [[prefix + snakeCase(name), field] as [string, unknown]],
    );
  for (const [method, sent] of [
    ["session.open", { directory: "/d" }],
    ["turn.start", { session: "s", prompt: "hi" }],
  ] as const) {
    const plain = new Map(leaves(filled(method, sent, defaults)));
    const changed = leaves(filled(method, sent, configured)).filter(([name, value]) => !Bun.deepEquals(plain.get(name), value));
    expect(changed.map(([name]) => name).toSorted()).toEqual(Object.keys(configuredFields[method]!).toSorted());
  }
});
