// Text of a model, a tool, a project and an imported transcript on a real terminal. It contains sequences that would set the
// clipboard and the title, ask the terminal for an answer, and reorder characters. None of them may reach the terminal.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startModelServer, type ModelServer } from "../../src/scripted-model/model-server.ts";
import { startInPty } from "../support/pty.ts";
import { temporaryHome, type TemporaryHome, vendorEnv } from "../support/temporary-home.ts";

const hostile = (name: string) =>
  `${name}\x1b]52;c;UFdORUQ=\x07\x1b]0;PWNED\x07\x1b]8;;https://x\x07\x1bP+q544e\x1b\\\x9d52;c;UFdORUQ=\x9c\x1b[6n\x1b[c\x1b[?1049h\u202Edrow\u202C\u2066x\u2069\u200E\u200F\u061C`;

/** OSC, DCS and other strings, C1 characters, questions to the terminal, modes other than paste and cursor, and directions. */
const dangerous =
  // oxlint-disable-next-line no-control-regex
  /\x1b[\]P_^X]|[\x80-\x9f]|\x1b\[[\d;?>]*[cnt]|\x1b\[\?(?!2004|25)\d|[\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/;

const model = "anthropic/claude-sonnet-4-5";
let server: ModelServer;
let skein: TemporaryHome;

beforeAll(async () => {
  const command = `printf '%b' '\\033]52;c;UFdORUQ=\\007\\xe2\\x80\\xae result'; : '${hostile("command")}'`;
  server = startModelServer({
    steps: [
      { text: hostile("first answer"), calls: [{ input: { command } }] },
      { calls: [{ name: "write", input: { path: "a.txt", content: "one\ntwo\n" } }] },
      { calls: [{ name: "edit", input: { path: "a.txt", old_text: "one", new_text: hostile("edit") } }] },
      { calls: [{ name: hostile("tool"), input: { x: hostile("argument") } }] },
    ],
    final: hostile("final answer"),
  });
  skein = temporaryHome(vendorEnv(server.url));
  await printed(["run", hostile("prompt"), "-m", model, "--session", "hostile"]);
});

afterAll(async () => {
  await server.stop();
  skein[Symbol.dispose]();
});

async function printed(args: string[], env: Record<string, string> = {}): Promise<string> {
  await using program = startInPty(skein, args, { env: { NO_COLOR: "", ...env } });
  await program.exited;
  return program.written();
}

function check(output: string, ...words: string[]): void {
  expect(dangerous.exec(output)?.[0]).toBeUndefined();
  for (const word of words) expect(output).toContain(word);
}

test("answers, command lines, results, diffs and prompts reach the terminal of run, logs and attach without effect", async () => {
  const again = await printed(["run", hostile("prompt"), "-m", model]);
  check(again, "first answer", "final answer", "<U+202E>drow");
  check(await printed(["logs", "hostile"]), "command", "prompt", "+edit", "final answer", "<U+202E>");
  check(await printed(["attach", "hostile"]));
  check(await printed(["show", "hostile"]), "prompt");
  check(await printed(["list"]), "hostile");
});

test("context shows the request on a terminal without effect, and a pipe gets the exact text", async () => {
  check(await printed(["context", "hostile"]), "final answer", "<U+202E>");
  check(await printed(["context", "hostile", "--body"]), "final answer");
  const piped = await skein.run(["context", "hostile"]);
  expect(piped.out).toContain(hostile("final answer"));
});

test("the answer in a pipe is exact", async () => {
  const piped = await skein.run(["run", "hi", "-m", model, "--session", "piped"]);
  expect(piped.out).toContain(hostile("final answer"));
});

test("the model of an untrusted project is printed without effect", async () => {
  const folder = join(skein.project, ".skein");
  mkdirSync(folder, { recursive: true });
  const file = join(folder, "config.jsonc");
  writeFileSync(file, JSON.stringify({ model: `anthropic/${hostile("planted")}` }));
  check(await printed(["run", "hi"]), "planted");
  check(await printed(["config"]));
  writeFileSync(file, "{}");
});

test("agent, model and names of an imported transcript are printed without effect", async () => {
  const exported = await skein.run(["export", "piped", "--format", "jsonl"]);
  const lines = exported.out
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  const text = JSON.stringify(lines)
    .replaceAll('"agent":"native"', `"agent":${JSON.stringify(hostile("foreign agent"))}`)
    .replaceAll(JSON.stringify(model), JSON.stringify(hostile("foreign model")))
    .replaceAll('"piped"', JSON.stringify(hostile("foreign name")));
  const file = join(skein.project, "foreign.jsonl");
  writeFileSync(file, (JSON.parse(text) as object[]).map((line) => JSON.stringify(line)).join("\n"));
  using other = temporaryHome(vendorEnv(server.url));
  const run = async (args: string[]) => {
    await using program = startInPty(other, args, { env: { NO_COLOR: "" } });
    await program.exited;
    return program.written();
  };
  check(await run(["import", file]));
  const [session] = (await other.run(["list", "--json"])).json() as unknown as { id: string }[];
  for (const command of ["logs", "show", "context", "attach"]) check(await run([command, session!.id]));
  check(await run(["logs", session!.id]), "foreign agent", "foreign model");
  for (const args of [["list"], ["search", "answer"], ["usage"]]) check(await run(args));
});

test("an unknown author of an imported node is replaced, and no export breaks or contains it as HTML", async () => {
  const exported = await skein.run(["export", "piped", "--format", "jsonl"]);
  const author = '"><meta http-equiv=refresh content="0;url=https://attacker.example">';
  const file = join(skein.project, "author.jsonl");
  writeFileSync(file, exported.out.replaceAll(/"author":"\w+"/g, `"author":${JSON.stringify(author)}`));
  using other = temporaryHome(vendorEnv(server.url));
  expect((await other.run(["import", file])).code).toBe(0);
  for (const format of ["html", "md", "text", "jsonl"]) {
    const page = join(other.root, `page.${format}`);
    const ran = await other.run(["export", "piped", "--format", format, "--output", page]);
    expect([format, ran.code, ran.err]).toEqual([format, 0, ran.err]);
    expect(readFileSync(page, "utf8")).not.toContain("attacker.example");
  }
});
