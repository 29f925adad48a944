// The tab with a session's changes in a real Chromium: a review of lines as one message, a restore with a preview, its undo.
import { expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { openPage, startSession, waitForEnd } from "./open-page.ts";
import { seriousProblems } from "./serious-problems.ts";

const write = (path: string, content: string) => ({ name: "write", input: { path, content } });
const evilName = "<img src=x onerror=document.title=7>.txt";

test("comments on three lines arrive as one message, and the files of a turn are restored and put back", async () => {
  await using opened = await openPage({
    steps: [{ calls: [write("a.txt", "one\ntwo\nthree\n"), write(evilName, "<script>document.title=7</script>\n")] }],
    final: "Both are written.",
  });
  const { page, skein, models, problems, foreign } = opened;
  await startSession(page, "Write two files");
  await waitForEnd(page);
  await page.getByRole("textbox", { name: "message" }).fill("And one more");
  models.setScript({ steps: [{ calls: [{ input: { command: "echo late > b.txt; echo zwei >> a.txt" } }] }], final: "Done." });
  await page.keyboard.press("Enter");
  await waitForEnd(page, 2);

  await page.getByRole("link", { name: "Changes" }).click();
  await page.locator(".changed-file").nth(2).waitFor();
  expect(await page.locator("summary", { hasText: evilName }).count()).toBe(1);
  expect(await page.title()).not.toBe("7");
  const comment = async (file: string, line: number, text: string) => {
    const box = page.getByRole("region", { name: `diff of ${file}` });
    await box.getByRole("button", { name: `comment on line ${line} of the new version` }).click();
    await box.getByRole("textbox").last().fill(text);
    await page.keyboard.press("Control+Enter");
  };
  await comment("a.txt", 1, "Spell it out.");
  await comment("a.txt", 4, "In English.");
  await comment("b.txt", 1, "Why late?");
  await page.getByText("3 comments").waitFor();
  expect(await seriousProblems(page)).toEqual([]);

  models.setScript({ steps: [], final: "I will." });
  await page.getByRole("button", { name: "Send as one message" }).click();
  await waitForEnd(page, 3);
  const review = await page.locator(".block.user").last().textContent();
  for (const text of ["a.txt, line 1 of the new version", "Spell it out.", "zwei", "In English.", "b.txt, line 1", "Why late?"])
    expect(review).toContain(text);
  expect(models.main().at(-1)?.text).toContain("line 4 of the new version");

  await page.getByRole("link", { name: "Changes" }).click();
  // The latest turn is the review. The one before it wrote b.txt.
  await page.getByLabel("Changes of").selectOption({ index: 2 });
  await page.getByRole("button", { name: "Restore these files…" }).click();
  expect(await page.getByRole("region", { name: "what the restore would change" }).textContent()).toContain("D b.txt");
  await page.getByRole("button", { name: "Restore", exact: true }).click();
  await page.getByText("The files are restored.").waitFor();
  expect(existsSync(join(skein.project, "b.txt"))).toBe(false);
  await page.getByRole("button", { name: "Undo" }).click();
  await page.getByText("The restore was undone.").waitFor();
  expect(existsSync(join(skein.project, "b.txt"))).toBe(true);
  expect({ problems, foreign }).toEqual({ problems: [], foreign: [] });
});
