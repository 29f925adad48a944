// Runs every shell block of README.md and docs: a page is one shell session in an empty home, with a scripted model and fake
// CLIs. Blocks that can't run are parsed. Also checks how pages begin and end, and their links.
import { describe, expect, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { findCommand } from "../../../src/cli/commands/index.ts";
import { parseArgs } from "../../../src/cli/parse/args.ts";
import { slashNameOf } from "../../../src/protocol/api/slash-commands.ts";
import { startModelServer } from "../../../src/scripted-model/model-server.ts";
import { pages, pageText, shellBlocks, skeinCalls, unmarkedCommands } from "../../support/documents.ts";
import { homeWithFakeClis } from "../../support/fake-clis.ts";
import { skeinCommand, vendorEnv, type TemporaryHome } from "../../support/temporary-home.ts";

const root = join(import.meta.dir, "..", "..", "..");

/** A project with two commits and an uncommitted change, a home without settings, and a program called skein. */
function prepareHome(skein: TemporaryHome): void {
  const bin = join(skein.root, "bin");
  writeFileSync(join(bin, "skein"), `#!/bin/sh\nexec ${skeinCommand().join(" ")} "$@"\n`);
  chmodSync(join(bin, "skein"), 0o755);
  mkdirSync(join(skein.project, "src"));
  mkdirSync(join(skein.home, "notes"));
  const git = (...args: string[]) =>
    Bun.spawnSync(["git", "-c", "user.name=t", "-c", "user.email=t@example.org", ...args], { cwd: skein.project, env: skein.env });
  git("init", "-q", "-b", "main");
  for (const content of ["one\n", "two\n"]) {
    writeFileSync(join(skein.project, "src", "parse.txt"), content);
    git("add", "-A");
    git("commit", "-qm", content.trim());
  }
  writeFileSync(join(skein.project, "src", "parse.txt"), "three\n");
}

async function runBlock(skein: TemporaryHome, block: string): Promise<{ code: number; output: string }> {
  const child = Bun.spawn(["bash", "-e", "-o", "pipefail", "-c", block], {
    cwd: skein.project,
    env: skein.env,
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [out, err, code] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text(), child.exited]);
  return { code, output: `${out}\n${err}` };
}

describe("commands of the documents", () => {
  for (const page of pages) {
    const blocks = shellBlocks(pageText(page)).filter(({ notRun }) => notRun === null);
    if (blocks.length === 0) continue;
    test(`every command of ${page} runs in an empty home`, async () => {
      const server = startModelServer({ steps: [], final: "Done." });
      using skein = homeWithFakeClis(["claude", "codex", "gemini", "opencode", "pi"], vendorEnv(server.url));
      prepareHome(skein);
      try {
        for (const { line, text } of blocks) {
          const { code, output } = await runBlock(skein, text);
          expect({ block: `${page}:${line}`, code, output: code === 0 ? "" : output }).toEqual({
            block: `${page}:${line}`,
            code: 0,
            output: "",
          });
        }
      } finally {
        await runBlock(skein, "skein hub stop");
        await server.stop();
      }
    });
  }

  test("commands that do not run are parsed without an error", async () => {
    const problems: string[] = [];
    for (const page of pages) {
      for (const { text, line, notRun } of shellBlocks(pageText(page))) {
        if (notRun === null) continue;
        for (const call of skeinCalls(text)) problems.push(...(await problemsOf(call)).map((problem) => `${page}:${line} ${problem}`));
      }
    }
    expect(problems).toEqual([]);
  });

  test("commands in the middle of a sentence exist", async () => {
    const problems: string[] = [];
    for (const page of pages) {
      const prose = pageText(page).replaceAll(/^```[^]*?^```$/gm, "");
      for (const [, words = ""] of prose.matchAll(/`skein ([a-z][^`]*)`/g)) {
        const [name = ""] = words.split(" ");
        if ((await findCommand(name)) === null) problems.push(`${page}: skein ${words}`);
      }
    }
    expect(problems).toEqual([]);
  });

  test("slash commands in the middle of a sentence exist", () => {
    const directories = ["dev", "etc", "proc", "run", "sys", "tmp"];
    const problems = pages
      .flatMap((page) => [...pageText(page).matchAll(/`\/([a-z-]+)(?: [^`]*)?`/g)].map(([text, word = ""]) => ({ page, text, word })))
      .filter(({ word }) => slashNameOf(word) === null && !directories.includes(word));
    expect(problems).toEqual([]);
  });

  test("every block of commands is marked as shell", () => {
    expect(pages.flatMap((page) => unmarkedCommands(pageText(page)).map((body) => `${page}: ${body}`))).toEqual([]);
  });
});

async function problemsOf([name = "", ...args]: string[]): Promise<string[]> {
  const isFlag = name.startsWith("-") || name === "";
  const command = await findCommand(isFlag ? "tui" : name);
  if (command === null) return [`no command "${name}"`];
  try {
    parseArgs(command, isFlag ? [name, ...args].filter((word) => word !== "") : args);
    return [];
  } catch (error) {
    return [String(error)];
  }
}

describe("the form of the documents", () => {
  const docs = pages.filter((page) => page.startsWith("docs/"));

  test("README.md has at most 150 lines", () => {
    expect(pageText("README.md").split("\n").length).toBeLessThanOrEqual(151);
  });

  test("every page of docs begins with an example", () => {
    expect(docs.filter((page) => !/^# .+\n\n(?:<!--[^]*?-->\n\n?)*```/.test(withoutNotice(pageText(page))))).toEqual([]);
  });

  test("every page of docs ends with where to go next", () => {
    expect(docs.filter((page) => !/\n\n\*\*Next:\*\* .*\]\([^)]+\).*\n$/.test(pageText(page)))).toEqual([]);
  });

  test("no page speaks of what a later version will do", () => {
    const promise = /in this version|once .{0,40} (is|are) enforced|coming soon|will be (added|built)/i;
    expect(pages.filter((page) => promise.test(pageText(page)))).toEqual([]);
  });

  test("the index names every page", () => {
    const index = pageText("docs/README.md");
    expect(docs.filter((page) => page !== "docs/README.md" && !index.includes(`](${page.slice(5)})`))).toEqual([]);
  });

  test("every link to a file or a heading leads somewhere", () => {
    const broken = pages.flatMap((page) =>
      [...pageText(page).matchAll(/\]\((?!https?:)([^)#]*)(#[^)]*)?\)/g)]
        .filter(([, file = "", heading]) => !linkExists(page, file, heading?.slice(1)))
        .map(([link]) => `${page} ${link}`),
    );
    expect(broken).toEqual([]);
  });
});

function withoutNotice(text: string): string {
  return text.replace(/<!-- begin notice[^]*?<!-- end notice -->\n\n/, "");
}

function linkExists(page: string, file: string, heading: string | undefined): boolean {
  const path = file === "" ? page : join(dirname(page), file);
  if (!existsSync(join(root, path))) return false;
  if (heading === undefined || !path.endsWith(".md")) return true;
  const headings = [...pageText(path).matchAll(/^#+ (.*)$/gm)].map(([, title = ""]) => slug(title));
  return headings.includes(heading);
}

/** The anchor that GitHub gives a heading. */
function slug(title: string): string {
  return title
    .toLowerCase()
    .replaceAll(/[^\w\- ]/g, "")
    .replaceAll(" ", "-");
}
