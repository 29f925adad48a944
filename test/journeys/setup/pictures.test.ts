// Draws the pictures of the documents again, from real sessions in real terminals, and compares them with the stored ones.
import { expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { drawPictures } from "../../../tools/pictures/scenes.ts";

const folder = join(import.meta.dir, "..", "..", "..", "docs", "pictures");

test("docs/pictures is current (npm run docs draws it again)", async () => {
  const drawn = await drawPictures();
  expect(readdirSync(folder).toSorted()).toEqual(Object.keys(drawn).toSorted());
  for (const [name, svg] of Object.entries(drawn)) expect(`${name}\n${await Bun.file(join(folder, name)).text()}`).toBe(`${name}\n${svg}`);
});

test("every picture has text, both colour schemes and less than 60 KB, and loads nothing", async () => {
  for (const name of readdirSync(folder)) {
    const svg = await Bun.file(join(folder, name)).text();
    expect(svg.length).toBeLessThan(60_000);
    expect(svg).toContain("<text");
    expect(svg).toContain("@media (prefers-color-scheme: dark)");
    expect(svg.replace('xmlns="http://www.w3.org/2000/svg"', "")).not.toMatch(/https?:|<script|<image|url\(/);
  }
});
