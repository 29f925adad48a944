// Runs axe-core in a page.
import type { Page } from "playwright-core";
import { axeSource } from "./axe.ts";

/** Serious problems of a view for people who use a screen reader or the keyboard. */
export async function seriousProblems(page: Page): Promise<string[]> {
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
