import { describe, expect, test } from "bun:test";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { rolePrompt } from "../protocol/api/role.ts";
import { builtInRoles } from "./built-in.ts";

test("there are sixteen built-in roles, which name no agent, model or network", () => {
  const names = builtInRoles.map(({ name }) => name).join(" ");
  expect(names).toBe(
    "architect engineer researcher qa pm devops security data_scientist ux_designer documenter reviewer analyst tester default planner codereviewer",
  );
  for (const role of builtInRoles) expect(role).toMatchObject({ agent: null, model: null, net: null, origin: "built-in", ignored: [] });
});

test("every built-in role that may change files has MCP servers, except the planner", () => {
  const without = builtInRoles.filter(({ tools }) => tools !== null && !tools.includes("mcp"));
  expect(without.map(({ name }) => name)).toEqual(["planner", "codereviewer"]);
});

describe("tokens of a role in every request", () => {
  test.each(builtInRoles.filter(({ name }) => name !== "default").map((role) => [role.name, role] as const))(
    "the prompt of %s has 50 to 100 tokens, and at most 160 in a team",
    (_, role) => {
      const alone = countTokens(rolePrompt(role, "alone"));
      expect(alone).toBeGreaterThanOrEqual(50);
      expect(alone).toBeLessThanOrEqual(100);
      expect(countTokens(rolePrompt(role, "in-team"))).toBeLessThanOrEqual(160);
    },
  );

  test("only the default role has an empty prompt", () => {
    expect(builtInRoles.filter((role) => rolePrompt(role, "in-team") === "").map(({ name }) => name)).toEqual(["default"]);
  });
});

test("the shared paths of a role are in its prompt only in a team, as variables", () => {
  const engineer = builtInRoles.find(({ name }) => name === "engineer");
  if (engineer === undefined) throw new Error("no engineer");
  expect(rolePrompt(engineer, "alone")).not.toContain("$SKEIN_");
  expect(rolePrompt(engineer, "in-team")).toEndWith(
    "\nRead first: $SKEIN_SHARED_CONTEXT/architecture/\nResults go to: $SKEIN_WORKSPACE/src/, $SKEIN_WORKSPACE/tests/, $SKEIN_SHARED_CONTEXT/implementation/",
  );
  for (const { reads, writes } of builtInRoles)
    for (const path of [...reads, ...writes]) expect(path).toMatch(/^\$SKEIN_(SHARED_CONTEXT|WORKSPACE)\/[a-z./-]+$/);
});
