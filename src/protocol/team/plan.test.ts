// Plans of a team: what a strategy makes of members, what a planner's JSON becomes, and what is refused with which words.
import { describe, expect, test } from "bun:test";
import { planPhases, findPlanProblems, parsePlannedPhases, parsePhases } from "./plan.ts";
import { defaultTeamLimits, type MemberPlan, type PhasePlan } from "./team.ts";

const cast = ["architect", "engineer", "engineer", "reviewer"].map((role) => ({ role, agent: role === "reviewer" ? "claude" : null }));
const keys = (phases: PhasePlan[]) => phases.map(({ members }) => members.map(({ key }) => key));

test.each([
  ["parallel" as const, [["architect-1", "engineer-2", "engineer-3", "reviewer-4"]]],
  ["sequential" as const, [["architect-1"], ["engineer-2"], ["engineer-3"], ["reviewer-4"]]],
  ["pipeline" as const, [["architect-1"], ["engineer-2", "engineer-3"], ["reviewer-4"]]],
])("%s makes phases of the members", (strategy, wanted) => {
  const phases = planPhases(strategy, cast, "build it");
  expect(keys(phases)).toEqual(wanted);
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
const roles = ["engineer", "data_scientist"];
const problems = (...phases: Partial<MemberPlan>[][]) =>
  findPlanProblems(
    phases.map((members, at) => ({ name: `p${at}`, goal: "", members: members.map((change) => ({ ...member, ...change })) })),
    { roles, limits: defaultTeamLimits, members: [{ key: "before", role: "engineer" }] },
  );

describe("a plan", () => {
  test("that fits has no problems: members wait for those before them and beside them", () => {
    expect(
      problems(
        [
          { key: "a", dependsOn: ["before"] },
          { key: "b", dependsOn: ["a"] },
        ],
        [{ key: "c", dependsOn: ["a", "b"] }],
      ),
    ).toEqual([]);
    expect(
      problems([
        { role: "data_scientist", suffix: "sales_eu" },
        { key: "b", role: "own", description: "does its own" },
      ]),
    ).toEqual([]);
  });

  test.each<[string, string, Partial<MemberPlan>[][]]>([
    [
      "a circle",
      "a circle of dependencies: a, b",
      [
        [
          { key: "a", dependsOn: ["b"] },
          { key: "b", dependsOn: ["a"] },
        ],
      ],
    ],
    ["nobody to wait for", 'a depends on "z", which is nobody', [[{ dependsOn: ["z"] }]]],
    ["somebody later", 'a depends on "b", which is nobody', [[{ dependsOn: ["b"] }], [{ key: "b" }]]],
    [
      "an unknown role",
      'a: no role "wizard"; one of its own needs a description (the roles are engineer, data_scientist)',
      [[{ role: "wizard" }]],
    ],
    ["a role that is a path", 'a: "../x" is no name of a role', [[{ role: "../x", description: "x" }]]],
    ["a suffix that is a path", 'a: "a/b" is no suffix', [[{ suffix: "a/b" }]]],
    [
      "a key that means everyone",
      '"All" is no key of a member: letters, digits, ".", "_" and "-", and none of all, person, skein',
      [[{ key: "All" }]],
    ],
    ["one key twice", 'two members are called "a"', [[{}], [{}]]],
    ["a key of before", 'two members are called "before"', [[{ key: "before" }]]],
    ["too many of a role", "6 of role engineer; the limit per role is 5", [[1, 2, 3, 4, 5].map((at) => ({ key: `e${at}` }))]],
  ])("with %s is refused with the reason", (_name, wanted, phases) => {
    expect(problems(...phases)).toEqual([wanted]);
  });

  test("with 200 agents is refused by both limits", () => {
    expect(problems([...Array(200).keys()].map((at) => ({ key: `e${at}` })))).toEqual([
      "201 agents; the limit is 20",
      "201 of role engineer; the limit per role is 5",
    ]);
  });
});

describe("a planner's answer", () => {
  const phase = {
    name: "n",
    members: [{ key: "a", role: "engineer", task: "t", must_read: ["x.md"], validation: [{ kind: "file", path: "y" }] }],
  };

  test("is read with what it leaves out as nothing", () => {
    expect(parsePlannedPhases({ done: false, phases: [phase] })).toEqual({
      phases: [{ name: "n", goal: "", members: [{ ...member, mustRead: ["x.md"], validation: [{ kind: "file", path: "y" }] }] }],
      isDone: false,
      reason: "",
    });
    expect(parsePlannedPhases({ done: true, reason: "all there", phases: [] })).toEqual({ phases: [], isDone: true, reason: "all there" });
  });

  test.each<[unknown, string[]]>([
    ["text", ["it is no JSON object"]],
    [{ done: false }, ["no phase, and not done"]],
    [{ phases: "x" }, ["phases: must be a list of at most 500", "no phase, and not done"]],
    [{ phases: [phase, phase, phase] }, ["3 phases; plan at most two ahead"]],
    [{ phases: [{ name: "n", members: [] }] }, ["phases[0]: no members"]],
    [{ phases: [7] }, ["phases[0]: no members", "phases[0].name: must be a text"]],
    [
      { phases: [{ name: "n", members: [{ role: 1, task: " ", depends_on: [2], workspace: "moon", validation: [{ kind: "hope" }] }] }] },
      [
        "phases[0].members[0].role: must be a text",
        "phases[0].members[0].key: must be a text",
        "phases[0].members[0].task: must be a text",
        'phases[0].members[0].validation[0].kind: must be "file" or "command"',
        "phases[0].members[0].validation[0].path: must be a text",
        "phases[0].members[0].depends_on: must be a list of texts",
        "phases[0].members[0].workspace: must be one of worktree, project, plain",
      ],
    ],
  ])("that does not fit says where: %j", (value, wanted) => {
    expect(parsePlannedPhases(value)).toEqual({ problems: wanted });
  });

  test("a file of phases may have many", () => {
    expect(parsePhases({ phases: [phase, phase, phase] })).toHaveLength(3);
    expect(parsePhases([])).toEqual({ problems: ['no "phases"'] });
  });
});
