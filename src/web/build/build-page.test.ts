// The size of the page: its first scripts are small, and large libraries are loaded only with the view that needs them.
import { expect, test } from "bun:test";
import { buildPage } from "./build-page.ts";
import { toPageFiles } from "../server/page-files.ts";

const page = toPageFiles(await buildPage());
const textOf = (name: string) => Buffer.from(Bun.gunzipSync(page.files.get(name)!.gzip)).toString();

/** The scripts that the browser loads before it shows the inbox: the main one and those that it imports at once. */
function firstScripts(name: string, found = new Set<string>()): Set<string> {
  if (found.has(name)) return found;
  found.add(name);
  for (const [, path] of textOf(name).matchAll(/(?:from|import)\s*"\.\/([\w.-]+\.js)"/g)) firstScripts(`assets/${path}`, found);
  return found;
}

test("the first page needs at most 60 KB of compressed JavaScript", () => {
  const main = /src="(assets\/main-\w+\.js)"/.exec(textOf("index.html"))![1]!;
  const bytes = [...firstScripts(main)].reduce((sum, name) => sum + page.files.get(name)!.gzip.length, 0);
  expect(bytes).toBeGreaterThan(10_000);
  expect(bytes).toBeLessThan(60 * 1024);
});

test("the page has no script, style or address of its own in the HTML, and loads nothing from another origin", () => {
  const html = textOf("index.html");
  expect(html).not.toMatch(/<style|style=|<script(?![^>]*src=)|\son\w+=/);
  expect(html).not.toMatch(/(?:src|href)="(?:https?:)?\/\//);
  expect(html).toContain(`data-build="${page.build}"`);
  for (const name of page.files.keys()) expect(textOf(name)).not.toMatch(/@import|url\((?!["']?data:)/);
});

test("no code of a runtime or of the schemas is in the page", () => {
  const scripts = [...page.files.keys()].filter((name) => name.endsWith(".js"));
  expect(scripts.filter((name) => /\bBun\.\w|"node:|ZodError/.test(textOf(name)))).toEqual([]);
});
