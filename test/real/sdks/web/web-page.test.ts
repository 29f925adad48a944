// The page of `skein web` in a real Chromium: whole turns, questions, steering, stopping, lost connections, hostile texts.
import { axeSource } from "./axe.ts";
import { expect, test } from "bun:test";
import type { Page } from "playwright-core";
import { openPage, startSession, waitForEnd } from "./open-page.ts";

const evil = `<img src=x onerror="document.title=7"><script>document.title=7</script>`;

/** Serious problems of a view for people who use a screen reader or the keyboard. */
async function seriousProblems(page: Page): Promise<string[]> {
  await page.evaluate(axeSource);
  const violations = (await page.evaluate("axe.run().then(({violations}) => violations)")) as {
    id: string;
    impact: string;
    nodes: { html: string }[];
  }[];
  return violations
    .filter(({ impact }) => ["serious", "critical"].includes(impact))
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`);
}

test("a whole turn with tools, a question and hostile texts is shown as text, with the keyboard alone", async () => {
  await using opened = await openPage({
    steps: [
      {
        text: `# Plan ${evil}\n\n[click](javascript:document.title=7) [data](data:text/html,x)`,
        calls: [{ input: { command: `echo '${evil}'` } }],
      },
      {
        text: "A question.",
        calls: [{ name: "ask_user", input: { question: `Which one? ${evil}`, options: ["SQLite", `Postgres ${evil}`] } }],
      },
      { text: "```ts\nconst a: number = 1;\n```" },
    ],
    final: "All done.",
  });
  const { page, context, problems, foreign } = opened;
  await page.keyboard.press("g");
  await page.keyboard.press("i");
  await page.keyboard.press("c");
  expect(await seriousProblems(page)).toEqual([]);
  await startSession(page, `Build it ${evil}`);
  await page.getByRole("button", { name: "SQLite" }).waitFor();
  expect(await seriousProblems(page)).toEqual([]);

  const inbox = await context.newPage();
  await inbox.goto(page.url().split("#")[0]!);
  await inbox.getByRole("article", { name: "question of an agent" }).waitFor();
  expect(await inbox.locator(".card.running").count()).toBe(1);
  expect(await seriousProblems(inbox)).toEqual([]);
  await inbox.getByLabel("your answer").focus();
  await inbox.keyboard.type("MySQL, please");
  await inbox.keyboard.press("Enter");

  await waitForEnd(page);
  expect(await page.locator(".block.tool").count()).toBe(2);
  await page.locator(".block.tool summary").first().focus();
  await page.keyboard.press("Enter");
  expect(await page.locator(".block.tool .output").first().textContent()).toContain(evil);
  expect(await page.locator(".block.tool summary").nth(1).textContent()).toContain("ask_user");
  expect(await page.locator(".code .c5").count()).toBeGreaterThan(0);
  expect(await page.locator("a[href^='javascript'], a[href^='data']").count()).toBe(0);
  expect(await page.locator("main img").count()).toBe(0);
  expect(await seriousProblems(page)).toEqual([]);
  for (const each of [page, inbox]) expect(await each.title()).not.toBe("7");

  await page.keyboard.press("?");
  await page.getByRole("dialog", { name: "Keys" }).waitFor();
  expect(await seriousProblems(page)).toEqual([]);
  await page.keyboard.press("Escape");
  await page.keyboard.press("/");
  await page.locator("input.search:focus").waitFor();
  await page.keyboard.type("Plan");
  await page.locator(".hit").first().waitFor();
  expect(await seriousProblems(page)).toEqual([]);
  expect({ problems, foreign }).toEqual({ problems: [], foreign: [] });
});

test("a running turn is steered, paused, resumed and stopped; a queued turn follows", async () => {
  await using opened = await openPage({
    steps: [{ text: "First.", calls: [{ input: { command: "echo begun; sleep 86395" } }] }],
    final: "All done.",
  });
  const { page, models } = opened;
  await startSession(page, "wait for me");
  await page.locator(".output.tail", { hasText: "begun" }).waitFor();
  const field = page.getByRole("textbox", { name: "message" });
  await field.fill("look at the tests first");
  await page.getByRole("button", { name: "Steer" }).click();
  await page.locator(".waiting", { hasText: "look at the tests first" }).waitFor();
  await page.getByRole("button", { name: "Pause" }).click();
  await page.locator(".working", { hasText: "paused" }).waitFor();
  await page.getByRole("button", { name: "Resume" }).click();
  await page.getByRole("button", { name: "Pause" }).waitFor();
  models.setScript({ steps: [], final: "The second turn." });
  await field.fill("and then this");
  await page.getByRole("button", { name: "Queue" }).click();
  await page.locator(".waiting", { hasText: "and then this" }).waitFor();
  await page.getByRole("button", { name: "Stop" }).click();
  await page.locator(".turn-end", { hasText: "cancelled" }).waitFor();
  await page.getByText("The second turn.").waitFor({ timeout: 60_000 });
  expect(await page.locator(".block.user", { hasText: "and then this" }).count()).toBe(1);
});

test("after the hub was killed in mid-answer, and after the line was cut, the page shows what an uncut reader shows", async () => {
  const words = Array.from({ length: 400 }, (_, index) => `word${index}`).join(" ");
  await using opened = await openPage({ steps: [], final: words }, { chunkDelayMs: 10 });
  const { page, context, openWeb, models } = opened;
  await startSession(page, "count");
  await page.locator(".block.answer.live", { hasText: "word3" }).waitFor();
  // The line is cut while the answer streams, and comes back while it still streams.
  await context.setOffline(true);
  await page.evaluate("window.dispatchEvent(new Event('online'))");
  await page.locator(".banner").waitFor({ timeout: 30_000 });
  await context.setOffline(false);
  await page.evaluate("window.dispatchEvent(new Event('online'))");
  await page.locator(".line.online").waitFor({ timeout: 30_000 });
  await waitForEnd(page);

  const uncut = await context.newPage();
  await uncut.goto(page.url());
  await waitForEnd(uncut);
  const blocks = (each: Page) => each.locator(".row-box").allTextContents();
  expect(await blocks(page)).toEqual(await blocks(uncut));

  await page.getByRole("textbox", { name: "message" }).fill("again");
  await page.keyboard.press("Enter");
  await page.locator(".block.answer.live", { hasText: "word3" }).waitFor();
  const { pid } = await openWeb();
  process.kill(pid, "SIGKILL");
  await page.locator(".line.offline").waitFor();
  await page.getByRole("textbox", { name: "message" }).fill("an unsent text");
  models.setScript({ steps: [], final: "Continued." });
  await openWeb();
  await page.locator(".line.online").waitFor({ timeout: 30_000 });
  await page.getByText("Continued.").first().waitFor({ timeout: 60_000 });
  await waitForEnd(page, 2);
  expect(await page.getByRole("textbox", { name: "message" }).inputValue()).toBe("an unsent text");
  await uncut.reload();
  await uncut.getByText("Continued.").first().waitFor();
  expect(await blocks(page)).toEqual(await blocks(uncut));
});
