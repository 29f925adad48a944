import { expect, test } from "bun:test";
import { planPhases, findPlanProblems } from "./plan.ts";
import { defaultTeamLimits, type MemberPlan, type PhasePlan } from "./team.ts";

const cast = ["architect", "engineer", "engineer", "reviewer"].map((role) => ({ role, agent: role === "reviewer" ? "claude" : null }));
const keys = (phases: PhasePlan[]) => phases.map(({ members }) => members.map(({ key }) => key));

test.each([
  ["parallel" as const, [["architect-1", "engineer-2", "engineer-3", "reviewer-4"]]],
  ["sequential" as const, [["architect-1"], ["engineer-2"], ["engineer-3"], ["reviewer-4"]]],
  ["pipeline" as const, [["architect-1"], ["engineer-2", "engineer-3"], ["reviewer-4"]]],
])("strategy %s groups the members into phases", (strategy, expected) => {
  const phases = planPhases(strategy, cast, "build it");
  expect(keys(phases)).toEqual(expected);
  const members = phases.flatMap((phase) => phase.members);
  expect(members.map(({ agent }) => agent)).toEqual([null, null, null, "claude"]);
  expect(members.every(({ task }) => task.includes("build it"))).toBe(true);
});

const member: MemberPlan = {
  key: "a",
  role: "engineer",
  description: null,
  agent: null,
  model: null,
  suffix: null,
  task: "t",
  mustRead: [],
  validation: [],
  dependsOn: [],
  workspace: null,
};
const roles = ["engineer", "data_scientist"].map((name) => ({ name }));
const problems = (...phases: Partial<MemberPlan>[][]) =>
  findPlanProblems(
    phases.map((members, index) => ({ name: `p${index}`, goal: "", members: members.map((change) => ({ ...member, ...change })) })),
    { roles, limits: defaultTeamLimits, members: [{ key: "before", role: "engineer" }] },
  );

test("members may depend on earlier members and on members of their own phase", () => {
  expect(
    problems(
      [
        { key: "a", dependsOn: ["before"] },
        { key: "b", dependsOn: ["a"] },
      ],
      [{ key: "c", dependsOn: ["a", "b"] }],
    ),
  ).toEqual([]);
});

test("a plan may have a suffix with an underscore, and an unknown role with a description", () => {
  expect(
    problems([
      { role: "data_scientist", suffix: "sales_eu" },
      { key: "b", role: "poet", description: "writes poems" },
    ]),
  ).toEqual([]);
});

test.each<[string, string, Partial<MemberPlan>[][]]>([
  [
    "a cycle of dependencies",
    "the dependencies form a cycle: a, b",
    [
      [
        { key: "a", dependsOn: ["b"] },
        { key: "b", dependsOn: ["a"] },
      ],
    ],
  ],
  ["a dependency on an unknown member", 'a depends on "z", which is no member of this or an earlier phase', [[{ dependsOn: ["z"] }]]],
  [
    "a dependency on a later phase",
    'a depends on "b", which is no member of this or an earlier phase',
    [[{ dependsOn: ["b"] }], [{ key: "b" }]],
  ],
  ["an unknown role", 'a: role "wizard" is unknown and has no description (known roles: engineer, data_scientist)', [[{ role: "wizard" }]]],
  ["a role that is a path", 'a: "../x" is not a valid role name', [[{ role: "../x", description: "x" }]]],
  ["a suffix that is a path", 'a: "a/b" is not a valid suffix', [[{ suffix: "a/b" }]]],
  ["a reserved key", '"All" is not a valid key: use letters, digits, ".", "_" and "-", but not all, person or skein', [[{ key: "All" }]]],
  ["the same key twice", 'two members have the key "a"', [[{}], [{}]]],
  ["the key of an existing member", 'two members have the key "before"', [[{ key: "before" }]]],
  ["too many members of a role", "6 of role engineer; the limit per role is 5", [[1, 2, 3, 4, 5].map((number) => ({ key: `e${number}` }))]],
])("a plan with %s is refused with the reason", (_name, problem, phases) => {
  expect(problems(...phases)).toEqual([problem]);
});

test("a plan with 200 agents exceeds both limits", () => {
  expect(problems([...Array(200).keys()].map((number) => ({ key: `e${number}` })))).toEqual([
    "201 agents; the limit is 20",
    "201 of role engineer; the limit per role is 5",
  ]);
});
