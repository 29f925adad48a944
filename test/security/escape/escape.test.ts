// Attempts to break out, made by real processes in real sandboxes: as root and as an ordinary user, through the executor
// and as a foreign program, under every policy and tier. The same attempts run without a sandbox, to show that they work.
import { afterAll, describe, expect, test } from "bun:test";
import { excuseWithoutSandbox, expectationOf, namesOf, notCovered, notWorking } from "./expected.ts";
import { attempts } from "./inside/attempts.ts";
import { persons } from "./person.ts";
import { type SandboxCase, type AttemptResult, runAttempts } from "./runs.ts";

const succeeded = new Set<string>();
const routes = ["executor", "foreign"] as const;
const launchers = ["native", "javascript"] as const;
const policies = [
  ["workspace", "off"],
  ["workspace", "on"],
  ["readonly", "off"],
  ["plan", "off"],
] as const;
const sandboxCases = persons().flatMap((person) =>
  (["namespaces", "landlock"] as const).flatMap((tier) =>
    (person.uid === person.projectOwner ? policies : policies.slice(0, 1)).flatMap(([policy, net], index) =>
      // The launcher applies the same rules under each policy, so one policy is enough for the second one.
      launchers.slice(0, index === 0 ? 2 : 1).map((launcher) => ({ person, who: person.name, tier, policy, net, launcher })),
    ),
  ),
);

describe.each(persons())("without a sandbox, as $name,", (person) => {
  test.each([...routes])("every attempt of the %s succeeds, which shows that the attempts work", async (route) => {
    const results = await runAttempts({ person, route, tier: "none", policy: "full", net: "on" });
    expect(listed(results.filter((result) => !result.isThrough && excuseWithoutSandbox(result.name, { person, route }) === null))).toEqual(
      [],
    );
  });
});

describe.each(sandboxCases)("as $who, $tier, $policy, network $net, $launcher launcher:", ({ who: _, ...sandboxCase }) => {
  test("forbidden attempts are stopped, ordinary work succeeds, and every exception is listed", async () => {
    // Both must end before one may fail the test, because each has files to clean up.
    const wrong = await Promise.allSettled(routes.map((route) => findSurprises({ ...sandboxCase, route })));
    expect(wrong).toEqual(routes.map(() => ({ status: "fulfilled", value: [] })));
  });
});

async function findSurprises(sandboxCase: SandboxCase): Promise<string[]> {
  const results = await runAttempts(sandboxCase);
  for (const result of results) if (result.isThrough) succeeded.add(`${sandboxCase.tier} ${result.name}`);
  const wrong = results.filter((result) => {
    const expected = expectationOf(result, sandboxCase);
    return expected !== "either" && result.isThrough !== (expected === "through");
  });
  return listed(wrong).map((line) => `${sandboxCase.route}: ${line}`);
}

test("the tables of expectations name only existing attempts", () => {
  const names = new Set(attempts.map((attempt) => attempt.name));
  expect(names.size).toBe(attempts.length);
  expect([...notCovered, ...notWorking].flatMap((row) => namesOf(row.names)).filter((name) => !names.has(name))).toEqual([]);
});

test("every attempt that is not covered is in docs/SANDBOX.md", async () => {
  const text = await Bun.file(`${import.meta.dir}/../../../docs/SANDBOX.md`).text();
  expect(notCovered.flatMap((row) => namesOf(row.names)).filter((name) => !text.includes(`\`${name}\``))).toEqual([]);
});

afterAll(() => {
  if (process.getuid?.() !== 0) process.stderr.write("escape: not started by root, so nothing was tried as root\n");
  const tried = notCovered.filter((row) => row.who === undefined || persons().some((person) => person.name === row.who));
  const stale = tried.flatMap((row) => row.tiers.flatMap((tier) => namesOf(row.names).filter((name) => !succeeded.has(`${tier} ${name}`))));
  if (stale.length > 0) process.stderr.write(`escape: listed as not covered, and yet stopped on this kernel: ${stale.join(" ")}\n`);
});

function listed(results: AttemptResult[]): string[] {
  return results.map(({ name, isThrough, text }) => `${name} ${isThrough ? "got through" : "was stopped"}: ${text}`);
}
