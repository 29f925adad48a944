// Pictures of a view at three widths, light and dark, for a person to look at: with SKEIN_WEB_PICTURES=<directory> set.
import { join } from "node:path";
import type { Page } from "playwright-core";

const sizes = [
  { width: 390, height: 844 },
  { width: 768, height: 1024 },
  { width: 1440, height: 900 },
];

export async function takePictures(page: Page, name: string): Promise<void> {
  const directory = process.env["SKEIN_WEB_PICTURES"];
  if (directory === undefined) return;
  const before = page.viewportSize()!;
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    for (const size of sizes) {
      await page.setViewportSize(size);
      await page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
      await page.screenshot({ path: join(directory, `${name}-${size.width}-${colorScheme}.png`) });
    }
  }
  await page.emulateMedia({ colorScheme: "light" });
  await page.setViewportSize(before);
}
