// Views at three widths, light and dark: each must fit, and have no serious problem for a screen reader. With
// SKEIN_WEB_PICTURES=<directory> set, each is also written as a picture for a person to look at.
import { expect } from "bun:test";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { seriousProblems } from "./serious-problems.ts";

const sizes = [
  { width: 390, height: 844 },
  { width: 768, height: 1024 },
  { width: 1440, height: 900 },
];

/** Parts that may be wider than the window, because they scroll by themselves. */
const overflowing = `[document.documentElement, ...document.querySelectorAll("main, .board, .numbers, .inbox, .changes, .conversation > .scroller, .top, .session-head")]
  .filter((element) => element.scrollWidth > element.clientWidth + 1)
  .map((element) => element.className || element.tagName)`;

export async function checkWidths(page: Page, name: string): Promise<void> {
  const directory = process.env["SKEIN_WEB_PICTURES"];
  const before = page.viewportSize()!;
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    for (const size of sizes) {
      await page.setViewportSize(size);
      await page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
      const place = `${name} at ${size.width}, ${colorScheme}`;
      expect({ place, wide: await page.evaluate<string[]>(overflowing) }).toEqual({ place, wide: [] });
      if (directory !== undefined) await page.screenshot({ path: join(directory, `${name}-${size.width}-${colorScheme}.png`) });
    }
    // Colours differ between light and dark, and the phone has parts that other widths do not have.
    expect({ name, problems: await seriousProblems(page) }).toEqual({ name, problems: [] });
  }
  await page.setViewportSize(sizes[0]!);
  expect({ name, problems: await seriousProblems(page) }).toEqual({ name, problems: [] });
  await page.emulateMedia({ colorScheme: "light" });
  await page.setViewportSize(before);
}
