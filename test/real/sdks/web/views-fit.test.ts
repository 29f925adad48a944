// Every view with the work of a small shop, on a phone, a tablet and a desktop, light and dark. The pictures of docs/WEB.md are
// from here: with SKEIN_WEB_PICTURES=<directory> set.
import { expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import type { JsonValue } from "../../../../src/scripted-model/json.ts";
import type { Script, ScriptStep } from "../../../../src/scripted-model/script.ts";
import { both, scriptOf } from "../../../support/race-journey.ts";
import { git } from "../../../support/team-journey.ts";
import { model, openPage, startSession, waitForEnd } from "./open-page.ts";
import { checkWidths } from "./pictures.ts";

const parser = `export function tokensOf(input: string): Token[] {
  const tokens: Token[] = [];
  let offset = 0;
  while (offset < input.length - 1) {
    const token = next(input, offset);
    if (token === null) break;
    tokens.push(token);
    offset = token.end;
  }
  return tokens;
}
`;
const fixed = parser.replace("offset < input.length - 1", "offset < input.length");
const step = (text: string, command: string): ScriptStep => ({ text, calls: [{ input: { command } }] });
const write = (text: string, path: string, content: string): ScriptStep => ({ text, calls: [{ name: "write", input: { path, content } }] });

const fix: Script = {
  steps: [
    step("I read the parser and its tests first.", "ls src test && cat src/parser.ts"),
    write("The loop ends one character too early. I change one line.", "src/parser.ts", fixed),
    write(
      "And a test for it:",
      "test/parser.test.ts",
      'test("the last token counts", () => {\n  expect(tokensOf("a b")).toHaveLength(2);\n});\n',
    ),
    step("Now the tests.", "printf '14 pass\\n0 fail\\n'"),
  ],
  final:
    "The bug is fixed. The lexer ended its loop one character too early:\n\n```ts\n// Reads the last token also without a final newline.\nwhile (offset < input.length) {\n  const token = next(input, offset);\n}\n```\n\n| check | result |\n|---|---|\n| `npm test` | 14 pass |\n| `tsc` | no error |\n\nTwo more places read tokens the same way and are **not** affected: `src/format.ts` and `src/lint.ts`.",
};

function scriptFor({ position: { prompt }, body }: { position: { prompt: string }; body: JsonValue }): Script {
  if (prompt.includes("You are the architect"))
    return { steps: [step("", 'skein report status "two tables, one index" --progress 1')], final: "Two tables and one index are enough." };
  if (prompt.includes("You are the engineer"))
    return {
      steps: [
        step(
          "",
          'skein report status "writes the migration" --progress 0.4; while [ ! -e "$SKEIN_SHARED_CONTEXT/go" ]; do sleep 0.1; done',
        ),
      ],
      final: "built",
    };
  if (prompt.includes("Fix the parser")) return fix;
  if (prompt.includes("a table of states"))
    return {
      steps: [write("A table needs no loop.", "src/states.ts", "export const states = new Map();\n")],
      final: "The parser is a table of states now. It is 12 % slower.",
    };
  if (prompt.includes("empty file"))
    return {
      steps: [step("I try it.", "printf '15 pass\\n0 fail\\n'")],
      final: "Yes: an empty file has no token, and there is a test for it now.",
    };
  if (prompt.includes("database"))
    return {
      steps: [
        {
          text: "I looked at who reads and who writes.",
          calls: [
            {
              name: "ask_user",
              input: {
                question: "Orders are written by one process and read by three. Which database should the service use?",
                options: ["SQLite", "Postgres"],
              },
            },
          ],
        },
      ],
      final: "ok",
    };
  if (prompt.includes("load test"))
    return {
      steps: [step("", 'for i in $(seq 1 900); do echo "run $i: 2,41$((i%10)) requests/s, p99 18 ms"; sleep 0.4; done')],
      final: "ok",
    };
  if (prompt.includes("count of open orders")) return { steps: [step("", "echo x >> count.txt")], final: "One more is counted." };
  return scriptOf({
    claude: { run: "printf 'export const total = 2;\\n' > src/total.ts; printf 'ok\\n' > result.txt", say: "A constant is enough." },
    gpt: { run: "printf 'ok\\n' > result.txt", say: "Done." },
  })({ body });
}

test(
  "every view fits into a phone, a tablet and a desktop, in light and dark, without a problem for a screen reader",
  { timeout: 400_000 },
  async () => {
    await using opened = await openPage(scriptFor);
    const { page, skein, problems, foreign, openWeb, context } = opened;
    const shop = join(skein.root, "work", "shop");
    shopIn(shop);
    const run = async (...args: string[]) => {
      const ran = await skein.run(args, { cwd: shop });
      if (ran.code !== 0) throw new Error(ran.err);
    };
    const login = await context.newPage();
    await page.evaluate("localStorage.clear()");
    await login.goto((await openWeb()).url);
    await login.locator(".login").waitFor();
    await checkWidths(login, "login");
    await login.close();
    await page.goto("about:blank");
    await page.goto((await openWeb()).login_url);
    await page.getByText("No session yet").waitFor();
    await checkWidths(page, "empty");

    await run("run", "Fix the parser: the last token is lost when a file has no final newline", "--session", "parser", "-m", model);
    await run("fork", "parser", "--name", "with-a-table");
    await run("run", "Try a table of states instead", "--session", "with-a-table", "-m", model);
    await run("run", "Does an empty file work too?", "--session", "parser", "-m", model);
    await run("race", "Write the total of an order", ...both, "--name", "total", "--check", "test -s result.txt");
    await run("loop", "Raise the count of open orders", "-m", model, "--session", "counting", "--until", 'test "$(wc -l < count.txt)" = 2');
    const running = [
      skein.start(["team", "run", "Store orders in a database", "--name", "orders", "--agents", "architect,engineer", "-m", model], {
        cwd: shop,
      }),
      skein.start(["run", "Run the load test of the checkout and watch the 99th percentile", "--session", "load", "-m", model], {
        cwd: shop,
      }),
    ];
    try {
      await openView(page, "");
      await page.getByLabel("directory of the new session").fill(shop);
      await startSession(page, "Add a database to the order service");
      await openView(page, "");
      await page.locator(".card.ask").waitFor({ timeout: 60_000 });
      await page.locator(".card.running .activity", { hasText: "seq 1 900" }).waitFor({ timeout: 60_000 });
      await checkWidths(page, "inbox");
      await checkSession(page);
      await checkGroups(page);
      await openView(page, "numbers");
      await page.locator(".chart canvas").waitFor();
      await checkWidths(page, "numbers");
      await openView(page, "search");
      await page.getByRole("searchbox").fill("parser");
      await page.locator(".hit").first().waitFor();
      await checkWidths(page, "search");
      await page.getByRole("button", { name: "keys" }).click();
      await page.getByRole("dialog").waitFor();
      await checkWidths(page, "help");
      await page.keyboard.press("Escape");
      expect({ problems, foreign }).toEqual({ problems: [], foreign: [] });
    } finally {
      for (const child of running) child.kill("SIGTERM");
      await Promise.all(running.map((child) => child.exited));
    }
  },
);

function shopIn(directory: string): void {
  for (const name of ["src", "test"]) mkdirSync(join(directory, name), { recursive: true });
  writeFileSync(join(directory, "src", "parser.ts"), parser);
  git(directory, "init", "-q", "-b", "main");
  git(directory, "add", "-A");
  git(directory, "-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", "first");
}

async function openView(page: Page, name: string): Promise<void> {
  await page.evaluate(`location.hash = "#/${name}"`);
}

async function openSession(page: Page, title: string): Promise<string> {
  await openView(page, "");
  await page.locator(".session-row a", { hasText: title }).click();
  await page.waitForURL((url) => url.hash.includes("session/"));
  return page.url().split("#/")[1]!;
}

async function checkSession(page: Page): Promise<void> {
  const address = await openSession(page, "parser");
  await waitForEnd(page, 2);
  await checkWidths(page, "session");
  await openView(page, `${address}/tree`);
  await page.locator(".tree-row", { hasText: "table of states now" }).click();
  await page.getByRole("button", { name: "Compare" }).click();
  await page.getByRole("region", { name: "comparison" }).waitFor();
  await checkWidths(page, "tree");
  await openView(page, `${address}/changes`);
  const diff = page.getByRole("region", { name: "diff of src/parser.ts" });
  await diff.getByRole("button", { name: "comment on line 4 of the new version" }).click();
  await diff.getByRole("textbox").fill("Please add a test for an empty file, too.");
  await page.keyboard.press("Control+Enter");
  await page.getByText("1 comment").waitFor();
  await checkWidths(page, "changes");
  await page.getByLabel("The whole file, with the writer of each line").first().check();
  await page.locator(".writer .agent").first().waitFor();
  await checkWidths(page, "writers");
}

async function checkGroups(page: Page): Promise<void> {
  await openView(page, "groups");
  await page.locator(".member a", { hasText: "Write the total" }).waitFor();
  await checkWidths(page, "groups");
  await page.locator(".member a", { hasText: "Write the total" }).click();
  await page.getByRole("region", { name: "agents of the race" }).getByText("proposed").waitFor();
  await checkWidths(page, "race");
  await openView(page, "groups");
  await page.locator(".member a", { hasText: "Store orders" }).click();
  await page.getByText("writes the migration").waitFor({ timeout: 60_000 });
  await page.getByRole("textbox", { name: "message to the team" }).fill("Keep the old column until the next release.");
  await page.keyboard.press("Enter");
  await page.locator(".message").first().waitFor();
  await checkWidths(page, "team");
  const address = await openSession(page, "counting");
  await openView(page, `${address}/loop`);
  await page.getByRole("region", { name: "passes of the loop" }).getByText("passed").waitFor();
  await checkWidths(page, "loop");
}
