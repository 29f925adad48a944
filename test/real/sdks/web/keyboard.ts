// Drives a page with keys only, as a person without a mouse.
import type { Locator, Page } from "playwright-core";

export type Keyboard = {
  /** Presses keys one after the other. */
  press: (...keys: string[]) => Promise<void>;
  /** Waits until a field has the focus, and types into it. A field that was just opened has it a moment later. */
  type: (text: string) => Promise<void>;
  /** Presses Tab until the element has the focus. Throws if no order of Tab reaches it. */
  reach: (target: Locator) => Promise<void>;
  /** Reaches a button or link and presses it. */
  activate: (target: Locator) => Promise<void>;
};

const maxTabs = 250;

export function keyboardOf(page: Page): Keyboard {
  const press = async (...keys: string[]) => {
    for (const key of keys) await page.keyboard.press(key);
  };
  const reach = async (target: Locator) => {
    await target.waitFor();
    for (let tabs = 0; tabs < maxTabs; tabs += 1) {
      if (await target.evaluate((element) => element === document.activeElement)) return;
      await page.keyboard.press("Tab");
    }
    throw new Error(`Tab does not reach ${String(target)}`);
  };
  return {
    press,
    reach,
    type: async (text) => {
      await page.locator(":is(input, textarea, select):focus").waitFor();
      await page.keyboard.type(text);
    },
    activate: async (target) => {
      await reach(target);
      await press("Enter");
    },
  };
}
