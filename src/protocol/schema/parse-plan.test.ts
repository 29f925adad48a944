import { expect, test } from "bun:test";
import { defaultMember } from "../team/plan.ts";
import { parseMember, parsePhases, parsePlannedPhases } from "./parse-plan.ts";

const jsonMember = { key: "a", role: "engineer", task: "t", must_read: ["x.md"], validation: [{ kind: "file", path: "y" }] };
const phase = { name: "n", members: [jsonMember] };
const member = { ...defaultMember, key: "a", role: "engineer", task: "t", mustRead: ["x.md"], validation: [{ kind: "file", path: "y" }] };

test("missing fields of a planner's answer get their defaults", () => {
  expect(parsePlannedPhases({ done: false, phases: [phase] })).toEqual({
    phases: [{ name: "n", goal: "", members: [member] }],
    isDone: false,
    reason: "",
  } as never);
  expect(parsePlannedPhases({ done: true, reason: "all there", phases: [] })).toEqual({ phases: [], isDone: true, reason: "all there" });
});

test("unknown fields are ignored and null counts as missing", () => {
  const check = { kind: "file", path: "y", why: "x" };
  const answer = {
    phases: [{ ...phase, mood: 1, members: [{ ...jsonMember, validation: [check], depends_on: null, timeout_ms: null, x: {} }] }],
  };
  expect(parsePhases(answer)).toEqual([{ name: "n", goal: "", members: [member] }] as never);
  expect(parsePlannedPhases({ ...answer, done: "no", reason: 7 })).toMatchObject({ isDone: false, reason: "" });
});

test.each<[unknown, string[]]>([
  ["text", ["must be an object, not a text"]],
  [{ done: false }, ["it has no phases and is not done"]],
  [{ phases: "x" }, ["phases: must be an array, not a text"]],
  [{ phases: [phase, phase, phase] }, ["phases: must have at most 2 items"]],
  [{ phases: [{ name: "n", members: [] }] }, ["phases[0].members: must have at least 1 item"]],
  [{ phases: [7] }, ["phases[0]: must be an object, not 7"]],
  [{ phases: [{ ...phase, goal: "x".repeat(20_001) }] }, ["phases[0].goal: must have at most 20000 characters"]],
  [
    { phases: [{ name: "n", members: [{ role: 1, task: " ", depends_on: [2], workspace: "moon", validation: [{ kind: "hope" }] }] }] },
    [
      "phases[0].members[0].key: is missing",
      "phases[0].members[0].role: must be a text, not 1",
      "phases[0].members[0].task: must not be blank",
      "phases[0].members[0].validation[0].kind: must be one of file, command",
      "phases[0].members[0].depends_on[0]: must be a text, not 2",
      "phases[0].members[0].workspace: must be one of worktree, project, plain",
    ],
  ],
])("the problems of a planner's answer name their path: %j", (value, problems) => {
  expect(parsePlannedPhases(value)).toEqual({ problems });
});

test("a plan file has at least one phase and may have many", () => {
  expect(parsePhases({ phases: [phase, phase, phase] })).toHaveLength(3);
  expect(parsePhases({})).toEqual({ problems: ["phases: is missing"] });
  expect(parsePhases([])).toEqual({ problems: ["must be an object, not an array"] });
});

test("the problems of a single member name its fields", () => {
  expect(parseMember({ ...jsonMember, timeout_ms: 0 })).toEqual({ problems: ["timeout_ms: must be at least 1"] });
});
