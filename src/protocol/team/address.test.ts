import { expect, test } from "bun:test";
import { resolveAddress, routeMessage, type AddressableMember } from "./address.ts";

const member = (id: string, key: string, role: string, instance: number, suffix: string | null = null): AddressableMember => ({
  id,
  key,
  role,
  instance,
  suffix,
});
const members = [
  member("agent_architect_1_00000001", "design", "architect", 1),
  member("agent_engineer_api_1_00000002", "api", "engineer", 1, "api"),
  member("agent_engineer_2_00000003", "ui", "engineer", 2),
  member("agent_engineer_lead_1_00000004", "lead", "engineer_lead", 1),
  member("agent_data_scientist_eu_1_00000005", "numbers", "data_scientist", 1, "eu"),
  member("agent_security_1_00000006", "qa", "security", 1),
  member("agent_qa_1_00000007", "tests", "qa", 1),
];

test.each<[string, string[]]>([
  ["agent_engineer_2_00000003", ["ui"]],
  ["ui", ["ui"]],
  [" UI ", ["ui"]],
  ["engineer", ["api", "ui"]],
  ["engineers", ["api", "ui"]],
  ["all_engineers", ["api", "ui"]],
  ["all_engineer", ["api", "ui"]],
  ["engineer_*", ["api", "ui"]],
  ["engineer_lead_*", ["lead"]],
  ["engineer_l*", ["lead"]],
  ["architect_1", ["design"]],
  ["engineer_api", ["api"]],
  ["engineer_api_1", ["api"]],
  ["data_scientist", ["numbers"]],
  ["all_data_scientists", ["numbers"]],
  ["data_scientist_eu_1", ["numbers"]],
  ["data_*", ["numbers"]],
  ["all_securities", ["qa"]],
  // A key takes precedence over a role.
  ["qa", ["qa"]],
  ["all_qa", ["tests"]],
  ["all", ["design", "api", "ui", "lead", "numbers", "qa", "tests"]],
  ["*", ["design", "api", "ui", "lead", "numbers", "qa", "tests"]],
  ["all_pms", []],
  ["engineer_3", []],
  ["[a-z]*", []],
  ["../*", []],
])("address %s resolves to the members %j", (to, keys) => {
  const ids = keys.map((key) => members.find((candidate) => candidate.key === key)!.id);
  expect(resolveAddress(to, members)).toEqual(ids);
});

test("a member gets a message once, the sender never, and a failed delivery has a reason", () => {
  const [design, api, ui, lead] = members.map(({ id }) => id) as [string, string, string, string];
  const team = { members: members.slice(0, 4), hasEnded: (id: string) => id === ui || id === lead };
  expect(routeMessage({ to: ["engineer", "all", "person"] }, design, team)).toEqual({
    delivered: [api, "person"],
    undelivered: [
      { to: ui, reason: "it has ended" },
      { to: lead, reason: "it has ended" },
    ],
  });
  expect(routeMessage({ to: ["lead", "nobody", "design"] }, design, team)).toEqual({
    delivered: [],
    undelivered: [
      { to: "lead", reason: "it has ended" },
      { to: "nobody", reason: "no member has this address" },
      { to: "design", reason: "only the sender has this address" },
    ],
  });
  expect(routeMessage({ to: ["engineer"] }, api, team).undelivered).toEqual([{ to: "engineer", reason: "it has ended" }]);
});
