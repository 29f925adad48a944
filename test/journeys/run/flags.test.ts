// Correct flags, stdin and paths. Their values reach the request, the session and the disk; paths become absolute.
import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { isAbsolute, join } from "node:path";
import { result as resultSchema } from "../../../src/protocol/fixtures/printed-schemas.ts";
import { startModelServer, type ScriptSource } from "../../../src/scripted-model/model-server.ts";
import { temporaryHome, vendorEnv, wireModels, type RunOptions, type TemporaryHome } from "../../support/temporary-home.ts";

const anthropic = wireModels.anthropic;

/** Runs one command against a server. `prepare` is called with the home before. */
async function runCommand(args: string[], options: RunOptions & { script?: ScriptSource; prepare?: (skein: TemporaryHome) => void } = {}) {
  const server = startModelServer(options.script ?? { steps: [], final: "fine" });
  const skein = temporaryHome(vendorEnv(server.url));
  try {
    options.prepare?.(skein);
    const runOptions = { ...options, ...(options.cwd === undefined ? {} : { cwd: join(skein.project, options.cwd) }) };
    const ran = await skein.run(args, runOptions);
    return {
      ran,
      skein,
      requests: server.main(),
      has: (path: string) => existsSync(join(skein.root, path)),
      [Symbol.dispose]: () => skein[Symbol.dispose](),
    };
  } finally {
    await server.stop();
  }
}

type Message = { role: string; content: string | { type: string; text?: string; source?: { media_type: string; data: string } }[] };

function promptOf(body: unknown): string {
  const first = (body as { messages: Message[] }).messages[0] as Message;
  return typeof first.content === "string" ? first.content : first.content.map((block) => block.text ?? "").join("");
}

describe("the task", () => {
  test.each([
    ["run", ["run", "say hello"]],
    ["spawn --task", ["spawn", "--task", "say hello"]],
    ["-p", ["-p", "say hello"]],
    ["-p after the task's flags", ["--no-stream", "-p", "say hello"]],
  ])("%s sends the task as the prompt", async (_title, args) => {
    using outcome = await runCommand([...args, "-m", anthropic]);
    expect(outcome.ran).toMatchObject({ code: 0, out: "fine\n" });
    expect(promptOf(outcome.requests[0]?.body)).toBe("say hello");
  });

  test("a dash reads the task from stdin", async () => {
    using outcome = await runCommand(["run", "-", "-m", anthropic], { stdin: "from the pipe\n" });
    expect(promptOf(outcome.requests[0]?.body)).toBe("from the pipe\n");
  });

  test("piped input is appended to the task", async () => {
    using outcome = await runCommand(["run", "review this", "-m", anthropic], { stdin: "+ a line é🧵\n" });
    expect(promptOf(outcome.requests[0]?.body)).toBe("review this\n\nInput:\n+ a line é🧵\n");
  });

  test("piped input alone is the task", async () => {
    using outcome = await runCommand(["-p", "-m", anthropic], { stdin: "only this" });
    expect(promptOf(outcome.requests[0]?.body)).toBe("only this");
  });
});

describe("paths", () => {
  test.each([
    [".", "project"],
    ["sub", "project/sub"],
    ["./sub/../sub", "project/sub"],
    ["~/work", "home/work"],
    ["~", "home"],
  ])("--cd %s becomes an absolute path", async (path, expected) => {
    const prepare = (skein: TemporaryHome) => {
      mkdirSync(join(skein.project, "sub"));
      mkdirSync(join(skein.home, "work"));
    };
    using outcome = await runCommand(["run", "x", "-m", anthropic, "--cd", path, "--output-format", "events"], { prepare });
    const started = outcome.ran.lines()[0] as { type: string; session: { directory: string; project: string; transcript_path: string } };
    const { directory, project, transcript_path } = started.session;
    expect(realpathSync(directory)).toBe(realpathSync(join(outcome.skein.root, expected)));
    expect(realpathSync(project)).toBe(realpathSync(join(outcome.skein.root, expected.startsWith("project") ? "project" : expected)));
    for (const path of [directory, project, transcript_path]) expect(isAbsolute(path)).toBe(true);
    expect(outcome.requests[0]?.text).toContain(`Working directory: ${directory}`);
  });

  test.each([
    ["kept", "project/kept"],
    ["~/kept", "home/kept"],
    ["./a/../kept", "project/kept"],
  ])("--transcript-dir %s becomes an absolute path", async (pathFlag, expected) => {
    using outcome = await runCommand(["run", "x", "-m", anthropic, "--json", "--transcript-dir", pathFlag]);
    const { transcript_path: path } = resultSchema.parse(outcome.ran.json());
    expect(path).toStartWith(join(outcome.skein.root, expected));
    expect(existsSync(path as string)).toBe(true);
    expect(outcome.has("project/.skein")).toBe(false);
  });

  test.each([
    ["deep/copy.jsonl", "project/deep/copy.jsonl"],
    ["~/copy.jsonl", "home/copy.jsonl"],
  ])("--output-file %s is a copy of the finished transcript", async (pathFlag, expected) => {
    using outcome = await runCommand(["run", "x", "-m", anthropic, "--json", "--output-file", pathFlag]);
    const { transcript_path: path } = resultSchema.parse(outcome.ran.json());
    expect(readFileSync(join(outcome.skein.root, expected), "utf8")).toBe(readFileSync(path as string, "utf8"));
  });

  test.each([
    ["SKEIN_HOME", "state-of-it", "project/state-of-it/data"],
    ["SKEIN_HOME", "~/skein", "home/skein/data"],
    ["XDG_DATA_HOME", "share", "project/share/skein"],
    ["XDG_DATA_HOME", "~/share", "home/share/skein"],
  ])("%s=%s is relative to the directory in which skein was started", async (variable, path, expected) => {
    const prepare = (skein: TemporaryHome) => mkdirSync(join(skein.project, "sub"));
    using outcome = await runCommand(["run", "x", "-m", anthropic, "--cd", "sub"], { prepare, env: { SKEIN_HOME: "", [variable]: path } });
    expect(outcome.ran.code).toBe(0);
    expect(outcome.has(`${expected}/skein.db`)).toBe(true);
  });

  test("the config below XDG_CONFIG_HOME is read, and its paths become absolute", async () => {
    const prepare = (skein: TemporaryHome) => {
      mkdirSync(join(skein.project, "xdg", "skein"), { recursive: true });
      writeFileSync(
        join(skein.project, "xdg", "skein", "config.jsonc"),
        '{ "allow_write": ["~/out", "near", "/var/far/../x"] } // comment',
      );
    };
    using outcome = await runCommand(["config", "get", "allow_write", "--json"], {
      prepare,
      env: { SKEIN_HOME: "", XDG_CONFIG_HOME: "xdg" },
    });
    const { home } = outcome.skein;
    expect((outcome.ran.json() as { value: string[] }).value).toEqual([join(home, "out"), join(home, "near"), "/var/x"]);
  });

  test("config path prints absolute paths", async () => {
    using outcome = await runCommand(["config", "path", "--json"], { env: { SKEIN_HOME: "here" } });
    for (const path of Object.values(outcome.ran.json())) expect(path).toStartWith(outcome.skein.project);
  });

  test("paths of a schema and an image are relative to the directory in which skein was started", async () => {
    const prepare = (skein: TemporaryHome) => {
      mkdirSync(join(skein.project, "sub"));
      writeFileSync(join(skein.home, "schema.json"), '{"type":"array"}');
      writeFileSync(join(skein.project, "dot.png"), onePixel);
    };
    const args = ["run", "x", "-m", anthropic, "--cd", "sub", "--json-schema", "~/schema.json", "--image", "./dot.png"];
    using outcome = await runCommand(args, { prepare, script: { steps: [], final: "[1]" } });
    expect(outcome.ran).toMatchObject({ code: 0, out: "[1]\n" });
  });
});

const onePixel = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", "base64");

describe.each(Object.entries(wireModels))("over %s", (wire, model) => {
  test("an image reaches the request", async () => {
    const prepare = (skein: TemporaryHome) => writeFileSync(join(skein.project, "dot.png"), onePixel);
    using outcome = await runCommand(["run", "what is it", "-m", model, "--image", "dot.png"], { prepare });
    expect(outcome.ran.code).toBe(0);
    const text = outcome.requests[0]?.text ?? "";
    expect(text).toContain(onePixel.toString("base64"));
    expect(text).toContain("image/png");
  });

  test("an effort after the model name is sent in the request, but not as part of the name", async () => {
    using outcome = await runCommand(["run", "think", "-m", `${model}:high`]);
    expect(outcome.ran.code).toBe(0);
    const { text = "", path = "" } = outcome.requests[0] ?? {};
    expect(text).toMatch(effortIn[wire as keyof typeof effortIn]);
    expect(text + path).not.toContain(":high");
  });
});

const effortIn = {
  anthropic: /"effort":"high"|"thinking":\{/,
  "openai-responses": /"reasoning":\{[^}]*"effort":"high"/,
  "openai-chat": /"reasoning_effort":"high"/,
  gemini: /"thinking(Level|Budget)":("high"|"HIGH"|\d+)/,
};

describe("a JSON schema", () => {
  const schema = { type: "object", properties: { count: { type: "integer" } }, required: ["count"], additionalProperties: false };
  const prepare = (skein: TemporaryHome) => writeFileSync(join(skein.project, "schema.json"), JSON.stringify(schema));
  const args = ["run", "count", "-m", anthropic, "--json-schema", "schema.json", "--json"];
  const answers = (...texts: string[]): ScriptSource => {
    let index = 0;
    return () => ({ steps: [], final: texts[Math.min(index++, texts.length - 1)] as string });
  };

  test("a JSON schema is sent, and a valid answer is accepted unchanged", async () => {
    using outcome = await runCommand(args, { prepare, script: answers('{"count": 3}') });
    expect(outcome.ran.json()).toMatchObject({ status: "ok", result: '{"count": 3}', steps: 1 });
    expect(outcome.requests[0]?.text).toContain(JSON.stringify(JSON.stringify(schema)).slice(1, -1));
  });

  test("an answer that violates the JSON schema is sent back for repair once", async () => {
    using outcome = await runCommand(args, { prepare, script: answers('{"count": "three"}', '{"count": 3}') });
    expect(outcome.ran.json()).toMatchObject({ status: "ok", result: '{"count": 3}', steps: 2 });
    expect(outcome.requests[1]?.text).toContain("must be integer");
  });

  test("a run whose answer never satisfies the JSON schema ends as broken, with the reason and the answer", async () => {
    using outcome = await runCommand(args, { prepare, script: answers("three, I think") });
    expect(outcome.ran.code).toBe(1);
    const result = resultSchema.parse(outcome.ran.json());
    expect(result).toMatchObject({ status: "broken", result: "three, I think", steps: 2 });
    expect(result.error?.message).toContain("JSON schema");
    expect(result.error?.hint ?? "").not.toBe("");
  });
});
