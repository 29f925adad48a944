// The tree of a session in a real Chromium: fork at a row, compare, graft, all with labels of sessions.
import { expect, test } from "bun:test";
import { openPage, startSession, waitForEnd } from "./open-page.ts";
import { seriousProblems } from "./serious-problems.ts";

test("a session is forked at a row, the branches are compared, and one is grafted into the other", async () => {
  await using opened = await openPage({ steps: [{ calls: [{ input: { command: "echo trunk > a.txt" } }] }], final: "The trunk is done." });
  const { page, models, problems, foreign } = opened;
  await startSession(page, "Begin");
  await waitForEnd(page);
  const trunk = page.url();
  await page.getByRole("link", { name: "Tree" }).click();
  await page.locator(".tree-row").nth(1).waitFor();
  expect(await page.locator(".tree-row").count()).toBe(2);
  await page.locator(".tree-row", { hasText: "The trunk is done." }).click();
  expect(await seriousProblems(page)).toEqual([]);
  await page.getByRole("button", { name: "Fork here" }).click();
  await page.waitForURL((url) => url.href !== trunk && !url.hash.includes("tree"));
  models.setScript({ steps: [{ calls: [{ input: { command: "echo side > b.txt" } }] }], final: "The side has an idea." });
  await page.getByRole("textbox", { name: "message" }).fill("Try another way");
  await page.keyboard.press("Enter");
  await page.locator(".block.answer", { hasText: "The side has an idea." }).waitFor();
  await waitForEnd(page, 2);

  await page.goto(`${trunk}/tree`);
  const side = page.locator(".tree-row", { hasText: "The side has an idea." });
  await side.click();
  await page.getByRole("button", { name: "Compare" }).click();
  const table = page.getByRole("region", { name: "comparison" });
  await table.waitFor();
  expect(await table.textContent()).toContain("tool calls");
  expect(await seriousProblems(page)).toEqual([]);
  await page.getByRole("button", { name: "Graft its conclusion" }).click();
  await page.locator(".tree-row").nth(4).waitFor();
  await page.getByRole("link", { name: "Conversation" }).click();
  await page.locator(".block", { hasText: "The side has an idea." }).first().waitFor();
  expect({ problems, foreign }).toEqual({ problems: [], foreign: [] });
});
