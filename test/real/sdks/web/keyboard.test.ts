// Every action of a session with keys only: no click, no focus set by the test. Teams, races and loops are in groups-view.
import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Script } from "../../../../src/scripted-model/script.ts";
import { keyboardOf } from "./keyboard.ts";
import { model, openPage, waitForEnd } from "./open-page.ts";

const waits = { name: "bash", input: { command: "echo begun; sleep 86395" } };

function scriptFor({ position: { prompt } }: { position: { prompt: string } }): Script {
  if (prompt.includes("Write a file"))
    return { steps: [{ thinking: "hm", calls: [{ name: "write", input: { path: "a.txt", content: "one\ntwo\n" } }] }], final: "Written." };
  if (prompt.includes("Ask me"))
    return { steps: [{ calls: [{ name: "ask_user", input: { question: "Which?", options: ["SQLite", "Postgres"] } }] }], final: "Thanks." };
  if (prompt.includes("wait for me")) return { steps: [{ text: "First.", calls: [waits] }], final: "ok" };
  return { steps: [], final: `Answer to ${prompt.slice(0, 20)}` };
}

test("a turn is started, answered, steered, queued, paused and stopped with keys only", { timeout: 120_000 }, async () => {
  await using opened = await openPage(scriptFor);
  const { page, problems } = opened;
  const keys = keyboardOf(page);
  const button = (name: string) => page.getByRole("button", { name, exact: true });
  await keys.press("c");
  await keys.type("Write a file");
  await keys.reach(page.getByLabel("model", { exact: true }));
  await keys.type(model);
  await keys.activate(button("Start"));
  await waitForEnd(page);
  await keys.activate(page.locator(".block.tool summary").first());
  await page.locator(".block.tool .output").first().waitFor();

  await keys.press("c");
  await keys.type("Ask me");
  await keys.press("Enter");
  await keys.activate(button("Postgres"));
  await waitForEnd(page, 2);

  await keys.press("c");
  await keys.type("wait for me");
  await keys.press("Enter");
  await page.locator(".output.tail", { hasText: "begun" }).waitFor();
  await keys.type("be careful");
  await keys.press("Enter");
  await page.locator(".waiting", { hasText: "be careful" }).waitFor();
  await keys.activate(button("take the message back"));
  await page.locator(".waiting").waitFor({ state: "detached" });
  await keys.press("c");
  await keys.type("and then this");
  await keys.activate(button("Queue"));
  await keys.activate(button("withdraw the turn"));
  await page.locator(".waiting").waitFor({ state: "detached" });
  await keys.activate(button("Pause"));
  await keys.activate(button("Resume"));
  await keys.press("Escape", "g", "i");
  await keys.activate(page.getByRole("button", { name: /^pause / }));
  await keys.activate(page.getByRole("button", { name: /^resume / }));
  await keys.press("j", "Enter");
  await keys.activate(button("Stop"));
  await page.locator(".turn-end", { hasText: "cancelled" }).waitFor();

  await keys.press("Escape", "/");
  await page.locator("input.search:focus").waitFor();
  await keys.type("Written");
  await page.locator(".hit").first().waitFor();
  await keys.activate(page.locator(".hit a").first());
  await waitForEnd(page);
  await keys.press("Escape", "?");
  await keys.activate(button("Log out"));
  await page.locator(".login").waitFor();
  expect(problems.filter((text) => !text.includes("401"))).toEqual([]);
});

test(
  "a tree is walked, forked, compared, grafted and moved, and files reviewed and restored with keys only",
  { timeout: 120_000 },
  async () => {
    await using opened = await openPage(scriptFor);
    const { page, skein, models, problems } = opened;
    const keys = keyboardOf(page);
    const button = (name: string) => page.getByRole("button", { name, exact: true });
    for (const [task, session] of [
      ["Second", "trunk"],
      ["Write a file", "trunk"],
    ] as const)
      expect((await skein.run(["run", task, "--session", session, "-m", model])).code).toBe(0);
    await page.locator(".session-row").first().waitFor();
    await keys.press("j", "Enter");
    await waitForEnd(page, 2);
    const trunk = page.url();
    await keys.press("g", "t");
    const rows = page.locator(".tree-row");
    await rows.nth(3).waitFor();
    await keys.press("j", "j", "Enter");
    await page.locator(".tree-card", { hasText: "Answer to Second" }).waitFor();
    await keys.press("f");
    await page.waitForURL((url) => url.href !== `${trunk}/tree` && !url.hash.includes("tree"));
    await waitForEnd(page);
    await keys.press("c");
    await keys.type("Another way");
    await keys.press("Enter");
    await waitForEnd(page, 2);
    await keys.press("Escape", "g", "i");
    await page.locator(".session-row a", { hasText: "trunk" }).first().waitFor();
    await keys.activate(page.locator(".session-row a", { hasText: "trunk" }).last());
    await waitForEnd(page, 2);
    await keys.press("g", "t");
    await rows.nth(5).waitFor();
    await keys.activate(rows.filter({ hasText: "Answer to Another way" }));
    await keys.press("o");
    await page.getByRole("region", { name: "comparison" }).waitFor();
    await keys.press("e");
    await rows.nth(6).waitFor();
    await keys.activate(rows.filter({ hasText: "Written." }));
    await keys.press("v");
    await page.locator(".tree-row[aria-pressed=true] .tip", { hasText: "trunk" }).waitFor();

    await keys.press("g", "d");
    await page.locator(".changed-file").first().waitFor();
    await keys.press("j");
    for (const line of [1, 2]) {
      await keys.activate(button(`comment on line ${line} of the new version`));
      await keys.type(`about line ${line}`);
      await keys.press("Control+Enter");
      await page.getByText(line === 1 ? "1 comment" : "2 comments").waitFor();
    }
    await keys.press("Escape");
    await keys.activate(button("Send as one message"));
    await waitForEnd(page, 3);
    expect(models.main().at(-1)?.text).toContain("about line 2");

    await keys.press("g", "d");
    await page.locator(".changed-file").first().waitFor();
    await keys.reach(page.getByLabel("Changes of"));
    for (const option of [1, 2]) {
      await keys.press("ArrowDown");
      await page.waitForFunction((index) => (document.activeElement as HTMLSelectElement).selectedIndex === index, option);
    }
    // The latest turn changed no file. The one before it wrote a.txt.
    await page.locator(".changed-file", { hasText: "a.txt" }).waitFor();
    await keys.activate(button("Restore these files…"));
    await keys.activate(button("Restore"));
    await page.getByText("The files are restored.").waitFor();
    expect(existsSync(join(skein.project, "a.txt"))).toBe(false);
    await keys.activate(button("Undo"));
    await page.getByText("The restore was undone.").waitFor();
    expect(existsSync(join(skein.project, "a.txt"))).toBe(true);
    expect(problems).toEqual([]);
  },
);
