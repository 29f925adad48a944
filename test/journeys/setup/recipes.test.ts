// Follows the first recipes of CONTRIBUTING.md in a copy of the checkout. Each is applied to exactly the files that the
// table names; then the program of the copy is checked by its types and by its behaviour.
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ModelServer, startModelServer } from "../../../src/scripted-model/model-server.ts";
import { type Recipe, recipes } from "../../fixtures/recipes/recipes.ts";
import { connectToHub, startHub } from "../../support/hub-client.ts";
import { temporaryHome, type TemporaryHome } from "../../support/temporary-home.ts";

setDefaultTimeout(120_000);

const root = join(import.meta.dir, "..", "..", "..");
const fixtures = join(root, "test", "fixtures", "recipes");

let copy: string;
let server: ModelServer;
let skein: TemporaryHome;

beforeAll(() => {
  copy = copyCheckout();
  for (const recipe of recipes) applyRecipe(recipe);
  server = startModelServer({ steps: [{ calls: [{ name: "count_lines", input: { path: "poem.txt" } }] }], final: "it has three" });
  skein = homeOfCopy();
});

afterAll(async () => {
  await server.stop();
  skein[Symbol.dispose]();
  rmSync(copy, { recursive: true, force: true });
});

function copyCheckout(): string {
  const directory = mkdtempSync(join(tmpdir(), "skein-recipes-"));
  for (const name of ["src", "tools", "bench", "bin", "test/support", "test/fixtures/requests", "package.json"]) {
    cpSync(join(root, name), join(directory, name), { recursive: true, filter: (path) => !path.includes("/bench/peers/") });
  }
  symlinkSync(realpathSync(join(root, "node_modules")), join(directory, "node_modules"));
  const { compilerOptions } = JSON.parse(readFileSync(join(root, "tsconfig.json"), "utf8")) as { compilerOptions: unknown };
  // Tests are no part of a recipe.
  const production = {
    include: ["src", "tools", "bench"],
    exclude: ["src/web/page", "**/*.test.ts", "**/fixtures", "**/conformance", "node_modules"],
  };
  writeFileSync(join(directory, "tsconfig.json"), JSON.stringify({ compilerOptions, ...production }));
  return directory;
}

function applyRecipe({ toAdd, changes }: Recipe): void {
  for (const change of changes) {
    const path = join(copy, change.file);
    if ("contentOf" in change) {
      writeFileSync(path, readFileSync(join(fixtures, change.contentOf)), { flag: "wx" });
      continue;
    }
    const [before, after, ...more] = readFileSync(path, "utf8").split(change.anchor);
    if (before === undefined || after === undefined || more.length > 0) {
      throw new Error(`${toAdd}: ${JSON.stringify(change.anchor)} must occur exactly once in ${change.file}`);
    }
    writeFileSync(path, before + change.anchor + change.insert + after);
  }
}

/** A temporary home that runs the program of the copy, with a key for the new vendor and the new agent's CLI in PATH. */
function homeOfCopy(): TemporaryHome {
  const programs = join(copy, "programs");
  mkdirSync(programs);
  writeFileSync(join(programs, "ada"), '#!/bin/sh\n[ "$1" = --version ] && echo 1.2.3 || echo "heard $(cat)"\n', { mode: 0o755 });
  const env = {
    PATH: `${programs}:${process.env["PATH"]}`,
    ACME_BASE_URL: `${server.url}/v1`,
    ACME_API_KEY: "key-acme",
    ANTHROPIC_API_KEY: "key-anthropic",
    SKEIN_MAX_WORDS: "7",
  };
  const home = temporaryHome(env, [], () => [join(copy, "bin", "skein")]);
  writeFileSync(join(home.project, "poem.txt"), "one\ntwo\nthree\n");
  mkdirSync(join(home.home, ".ada"));
  writeFileSync(join(home.home, ".ada", "key"), "the-key-of-ada");
  return home;
}

/** The production files of every recipe in the table; `<name>` stands for any name. */
function recipeTable(): Map<string, string[]> {
  const text = readFileSync(join(root, "CONTRIBUTING.md"), "utf8");
  const section = /^## Recipes$(.*?)^## /ms.exec(text)?.[1] ?? "";
  const rows = section.split("\n").map((line) => line.split("|").map((cell) => cell.trim()));
  return new Map(
    rows.flatMap(([, toAdd, touch]) => {
      const files = (touch ?? "").matchAll(/`((?:src|bench|tools|bin)\/[^`]+\.ts)`/g);
      return toAdd === undefined ? [] : [[toAdd, [...files].map(([, file]) => file as string)] as const];
    }),
  );
}

/** The name under which the table has this file. */
function tableNameOf(file: string, names: readonly string[]): string | undefined {
  return names.find((name) => name === file) ?? names.find((name) => new Bun.Glob(name.replace(/<[^>]+>/, "*")).match(file));
}

describe("the table of recipes", () => {
  const table = recipeTable();

  test.each([...recipes])("names exactly the files to touch for $toAdd", ({ toAdd, changes }) => {
    const named = table.get(toAdd) ?? [];
    const edited = [...new Set(changes.map(({ file }) => file))];
    expect(edited.map((file) => tableNameOf(file, named) ?? file).toSorted()).toEqual(named.toSorted());
  });

  test.each([...recipes])("names at most $maxFiles production files for $toAdd", ({ toAdd, maxFiles }) => {
    expect(table.get(toAdd)?.length).toBeLessThanOrEqual(maxFiles);
  });
});

describe("a checkout with all recipes applied", () => {
  test("its production files have no type errors", async () => {
    const child = Bun.spawn([join(root, "node_modules", ".bin", "tsc"), "--noEmit", "-p", copy], { stdout: "pipe", stderr: "inherit" });
    expect(await new Response(child.stdout).text()).toBe("");
    expect(await child.exited).toBe(0);
  });

  test("the new vendor is listed, and its model is offered the new tool and calls it", async () => {
    const auth = (await skein.run(["auth", "status"])).out;
    expect(auth).toMatch(/acme +ACME_API_KEY/);
    const result = (await skein.run(["run", "count", "-m", "acme-large", "--session", "counted", "--json"])).json();
    expect(result).toMatchObject({ status: "ok", model: "acme/acme-large", result: "it has three" });
    const [first, second] = server.main().map(({ body }) => JSON.stringify(body));
    expect(first).toContain('"name":"count_lines"');
    expect(second).toContain("3 lines");
  });

  test("the new agent's CLI is listed, takes a turn, and its credentials are hidden from tools", async () => {
    const agents = (await skein.run(["agents", "--json"])).json() as unknown as { name: string }[];
    expect(agents.find(({ name }) => name === "ada")).toMatchObject({ kind: "cli", version: "1.2.3", missing: null });
    const result = (await skein.run(["run", "good morning", "-a", "ada", "--session", "greeted", "--json"])).json();
    expect(result).toMatchObject({ status: "ok", agent: "ada", result: "heard good morning" });
    const read = await skein.run(["exec", "greeted", "cat poem.txt ~/.ada/key", "--sandbox", "required"]);
    expect(`${read.out}${read.err}`).toMatch(/three|sandbox/);
    expect(read.out).not.toContain("the-key-of-ada");
  });

  test("the new flag is in the help and checked, and the new config key is in the schema", async () => {
    expect((await skein.run(["run", "--help"])).out).toMatch(/--max-words <n> +longest answer/);
    expect((await skein.run(["run", "hi", "--max-words", "many"])).err).toContain("--max-words");
    expect((await skein.run(["config", "schema"])).out).toContain('"max_words"');
  });

  test("the new field is part of a turn, and the new text of the cost is printed", async () => {
    const script = join(skein.root, "replay.json");
    writeFileSync(script, JSON.stringify({ steps: [{ text: "hello" }] }));
    expect((await skein.run(["run", "hi", "-m", `replay/${script}`, "--session", "replayed"])).err).toContain("$0.0000 USD");
    const { turns } = (await skein.run(["show", "replayed", "--json"])).json() as { turns: unknown[] };
    expect(turns).toMatchObject([{ host: "this-machine" }]);
    expect((await skein.run(["usage"])).out).toContain("$0.00 USD");
  });

  test("the hub answers the new methods, and knows the new turn option and its config key", async () => {
    await using hub = await startHub(skein);
    const client = await connectToHub("unix", hub);
    expect(await client.ask("machine.describe", {})).toEqual({ result: { platform: process.platform } });
    expect(await client.ask("session.count", {})).toEqual({ result: { count: expect.any(Number) } });
    expect(await client.ask("config.values", {})).toMatchObject({ result: { max_words: 7 } });
    const { error } = await client.ask("turn.start", { session: "replayed", prompt: "hi", max_words: "many" });
    expect(error?.message).toContain("max_words");
    client.close();
  });
});
