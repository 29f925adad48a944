// Teams, races, loops, numbers and the writers of lines in a real Chromium, most of it with the keyboard alone.
import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { JsonValue } from "../../../../src/scripted-model/json.ts";
import type { Script } from "../../../../src/scripted-model/script.ts";
import { both, raceRepository, scriptOf } from "../../../support/race-journey.ts";
import { model, openPage } from "./open-page.ts";
import { seriousProblems } from "./serious-problems.ts";

const evil = "<img src=x onerror=document.title=7>";
const shell = (command: string, final: string): Script => ({ steps: [{ calls: [{ input: { command } }] }], final });
const addOne = "echo $(( $(cat count.txt 2>/dev/null || echo 0) + 1 )) > count.txt";

function scriptFor({ position: { prompt }, body }: { position: { prompt: string }; body: JsonValue }): Script {
  if (prompt.includes("You are the architect")) return shell(`skein report status "draws ${evil}" --progress 0.5`, "designed");
  if (prompt.includes("You are the engineer")) {
    const wait = 'while [ ! -e "$SKEIN_SHARED_CONTEXT/go" ]; do sleep 0.1; done; echo built > built.txt';
    return shell(`skein report status "waits for the sign"; ${wait}`, "built");
  }
  if (prompt.includes("count to two")) return shell(addOne, "added one");
  const race = {
    claude: { run: "printf '1\\n2\\n' > result.txt", say: "claude is done" },
    gpt: { run: "echo 1 > result.txt", say: "gpt is done" },
  };
  return scriptOf(race)({ body });
}

test("a team is watched and messaged, a race adopted, a loop and the numbers are shown", { timeout: 300_000 }, async () => {
  await using opened = await openPage(scriptFor, {});
  const { page, skein, problems, foreign } = opened;
  raceRepository(skein.project);
  const keys = async (...names: string[]) => {
    for (const name of names) await page.keyboard.press(name);
  };
  const team = skein.start(["team", "run", `build ${evil}`, "--name", "builders", "--agents", "architect,engineer", "-m", model]);
  await keys("g", "w");
  await page.locator(".member a", { hasText: "build" }).waitFor({ timeout: 60_000 });
  await keys("j", "Enter");
  await page.getByText("waits for the sign").waitFor({ timeout: 60_000 });
  expect(await page.locator(".member", { hasText: "architect" }).first().textContent()).toContain("completed");
  await page.getByRole("textbox", { name: "message to the team" }).fill(`now ${evil}`);
  await keys("Enter");
  await page.getByText("They get it at their next step.").waitFor();
  await page.locator(".message", { hasText: "now <img" }).waitFor();
  expect(await seriousProblems(page)).toEqual([]);
  await page.getByRole("button", { name: "stop the team" }).focus();
  await keys("Enter");
  await page.getByText("cancelled").first().waitFor({ timeout: 60_000 });
  expect(await team.exited).toBe(130);

  expect(await skein.run(["race", "write result.txt", ...both, "--name", "duel", "--check", "test -s result.txt"])).toMatchObject({
    code: 0,
  });
  expect(
    await skein.run([
      "loop",
      "count to two",
      "-m",
      model,
      "--session",
      "counting",
      "--until",
      `cat count.txt; test "$(cat count.txt)" = 2`,
    ]),
  ).toMatchObject({ code: 0 });
  await keys("g", "w");
  await page.locator(".member a", { hasText: "write result.txt" }).waitFor();
  expect(await seriousProblems(page)).toEqual([]);
  await keys("j", "j", "Enter");
  const table = page.getByRole("region", { name: "agents of the race" });
  await table.getByText("proposed").waitFor();
  expect(await table.locator("tbody tr").count()).toBe(2);
  await page.getByRole("button", { name: "adopt the work of native-2" }).focus();
  await keys("Enter");
  await page.getByRole("region", { name: "what the adoption would change" }).getByText("result.txt").waitFor();
  expect(existsSync(join(skein.project, "result.txt"))).toBe(false);
  expect(await seriousProblems(page)).toEqual([]);
  await page.getByRole("button", { name: "Adopt", exact: true }).focus();
  await keys("Enter");
  await page.getByText("1 files changed in the project").waitFor();
  expect(existsSync(join(skein.project, "result.txt"))).toBe(true);
  await page.getByRole("link", { name: "Continue there" }).click();
  await page.waitForURL((url) => !url.hash.includes("race"));
  await page.locator(".turn-end").first().waitFor();
  await keys("g", "d");
  await page.locator(".changed-file", { hasText: "result.txt" }).waitFor();
  await page.getByLabel("The whole file, with the writer of each line").check();
  const blame = page.getByRole("region", { name: "writers of result.txt" });
  await blame.locator(".writer .agent").waitFor();
  expect(await blame.locator("tbody tr").first().textContent()).toContain("native");
  expect(await seriousProblems(page)).toEqual([]);

  await keys("g", "i");
  await page.locator(".session-row a", { hasText: "counting" }).click();
  await page.locator(".turn-end").first().waitFor();
  await keys("g", "l");
  const passes = page.getByRole("region", { name: "passes of the loop" });
  await passes.getByText("passed").waitFor();
  expect(await passes.locator("tbody tr").count()).toBe(3);
  await page.getByRole("button", { name: "show the output of the check after pass 1" }).focus();
  await keys("Enter");
  await page.getByRole("heading", { name: "Output of the check after pass 1" }).waitFor();
  expect(await seriousProblems(page)).toEqual([]);

  await keys("g", "n");
  await page.locator(".chart canvas").waitFor();
  const sums = page.getByRole("region", { name: "sums by agent" });
  expect(await sums.locator("tbody tr", { hasText: "native" }).textContent()).toContain("$");
  for (const by of ["model", "project"]) {
    await page.getByLabel("by", { exact: true }).selectOption(by);
    await page.getByRole("region", { name: `sums by ${by}` }).waitFor();
  }
  await page.getByLabel("measure").selectOption("tokens");
  await page.getByText("Each day as a table").click();
  expect(await page.getByRole("region", { name: "each day" }).locator("tbody tr").count()).toBe(30);
  await page.getByText("Each day as a table").click();
  expect(await seriousProblems(page)).toEqual([]);
  await page.getByLabel("by", { exact: true }).selectOption("agent");
  await page.locator(".chart canvas").waitFor();
  expect(await page.title()).not.toBe("7");
  expect({ problems, foreign }).toEqual({ problems: [], foreign: [] });
});
