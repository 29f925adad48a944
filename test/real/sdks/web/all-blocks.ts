// Reads the whole transcript that a page shows.
import type { Page } from "playwright-core";

/** All blocks, also those that are not in the document because they are far from the visible part. */
export async function allBlocks(page: Page): Promise<string[]> {
  // A page behind another one has hardly any frames.
  await page.bringToFront();
  const found = new Map<string, string>();
  const scroller = page.locator(".scroller");
  await scroller.evaluate((element) => (element.scrollTop = 0));
  for (let isAtEnd = false; !isAtEnd;) {
    await page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
    const rows = await page
      .locator(".row-box")
      .evaluateAll((elements) => elements.map((row) => ({ id: (row as HTMLElement).dataset["id"]!, text: row.textContent ?? "" })));
    for (const { id, text } of rows) found.set(id, text);
    isAtEnd = await scroller.evaluate((element) => {
      const before = element.scrollTop;
      element.scrollTop += element.clientHeight;
      return element.scrollTop === before;
    });
  }
  return [...found].map(([id, text]) => `${id}: ${text}`);
}
