// Flags, stdin and paths used rightly: what they say reaches the request, the session and the disk, always absolute.
import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { isAbsolute, join } from "node:path";
import { result as resultSchema } from "../../../src/protocol/fixtures/printed-schemas.ts";
import { startModelServer, type ScriptSource } from "../../../src/scripted-model/model-server.ts";
import { temporaryHome, vendorEnv, wireModels, type RunOptions, type TemporaryHome } from "../../support/temporary-home.ts";

const anthropic = wireModels.anthropic;

/** Runs one command against a server; the home is given to `prepare` first. */
async function walk(args: string[], options: RunOptions & { script?: ScriptSource; prepare?: (skein: TemporaryHome) => void } = {}) {
  const server = startModelServer(options.script ?? { steps: [], final: "fine" });
  const skein = temporaryHome(vendorEnv(server.url));
  try {
    options.prepare?.(skein);
    const given = { ...options, ...(options.cwd === undefined ? {} : { cwd: join(skein.project, options.cwd) }) };
    const ran = await skein.run(args, given);
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
  ])("%s is the same command", async (_title, args) => {
    using walked = await walk([...args, "-m", anthropic]);
    expect(walked.ran).toMatchObject({ code: 0, out: "fine\n" });
    expect(promptOf(walked.requests[0]?.body)).toBe("say hello");
  });

  test("a dash reads it from stdin", async () => {
    using walked = await walk(["run", "-", "-m", anthropic], { stdin: "from the pipe\n" });
    expect(promptOf(walked.requests[0]?.body)).toBe("from the pipe\n");
  });

  test("piped input is joined to it", async () => {
    using walked = await walk(["run", "review this", "-m", anthropic], { stdin: "+ a line é🧵\n" });
    expect(promptOf(walked.requests[0]?.body)).toBe("review this\n\nInput:\n+ a line é🧵\n");
  });

  test("piped input alone is the task", async () => {
    using walked = await walk(["-p", "-m", anthropic], { stdin: "only this" });
    expect(promptOf(walked.requests[0]?.body)).toBe("only this");
  });
});

describe("paths", () => {
  test.each([
    [".", "project"],
    ["sub", "project/sub"],
    ["./sub/../sub", "project/sub"],
    ["~/work", "home/work"],
    ["~", "home"],
  ])("--cd %s arrives absolute", async (given, wanted) => {
    const prepare = (skein: TemporaryHome) => {
      mkdirSync(join(skein.project, "sub"));
      mkdirSync(join(skein.home, "work"));
    };
    using walked = await walk(["run", "x", "-m", anthropic, "--cd", given, "--output-format", "events"], { prepare });
    const started = walked.ran.lines()[0] as { type: string; session: { directory: string; project: string; transcript_path: string } };
    const { directory, project, transcript_path } = started.session;
    expect(realpathSync(directory)).toBe(realpathSync(join(walked.skein.root, wanted)));
    expect(realpathSync(project)).toBe(realpathSync(join(walked.skein.root, wanted.startsWith("project") ? "project" : wanted)));
    for (const path of [directory, project, transcript_path]) expect(isAbsolute(path)).toBe(true);
    expect(walked.requests[0]?.text).toContain(`Working directory: ${directory}`);
  });

  test.each([
    ["kept", "project/kept"],
    ["~/kept", "home/kept"],
    ["./a/../kept", "project/kept"],
  ])("--transcript-dir %s arrives absolute", async (given, wanted) => {
    using walked = await walk(["run", "x", "-m", anthropic, "--json", "--transcript-dir", given]);
    const { transcript_path: path } = resultSchema.parse(walked.ran.json());
    expect(path).toStartWith(join(walked.skein.root, wanted));
    expect(existsSync(path as string)).toBe(true);
    expect(walked.has("project/.skein")).toBe(false);
  });

  test.each([
    ["deep/copy.jsonl", "project/deep/copy.jsonl"],
    ["~/copy.jsonl", "home/copy.jsonl"],
  ])("--output-file %s is a copy of the finished transcript", async (given, wanted) => {
    using walked = await walk(["run", "x", "-m", anthropic, "--json", "--output-file", given]);
    const { transcript_path: path } = resultSchema.parse(walked.ran.json());
    expect(readFileSync(join(walked.skein.root, wanted), "utf8")).toBe(readFileSync(path as string, "utf8"));
  });

  test.each([
    ["SKEIN_HOME", "state-of-it", "project/state-of-it/data"],
    ["SKEIN_HOME", "~/skein", "home/skein/data"],
    ["XDG_DATA_HOME", "share", "project/share/skein"],
    ["XDG_DATA_HOME", "~/share", "home/share/skein"],
  ])("%s=%s counts from where skein was started", async (variable, given, wanted) => {
    const prepare = (skein: TemporaryHome) => mkdirSync(join(skein.project, "sub"));
    using walked = await walk(["run", "x", "-m", anthropic, "--cd", "sub"], { prepare, env: { SKEIN_HOME: "", [variable]: given } });
    expect(walked.ran.code).toBe(0);
    expect(walked.has(`${wanted}/skein.db`)).toBe(true);
  });

  test("XDG_CONFIG_HOME is found, and paths in the config arrive absolute", async () => {
    const prepare = (skein: TemporaryHome) => {
      mkdirSync(join(skein.project, "xdg", "skein"), { recursive: true });
      writeFileSync(
        join(skein.project, "xdg", "skein", "config.jsonc"),
        '{ "allow_write": ["~/out", "near", "/var/far/../x"] } // comment',
      );
    };
    using walked = await walk(["config", "get", "allow_write", "--json"], { prepare, env: { SKEIN_HOME: "", XDG_CONFIG_HOME: "xdg" } });
    const { home } = walked.skein;
    expect((walked.ran.json() as { value: string[] }).value).toEqual([join(home, "out"), join(home, "near"), "/var/x"]);
  });

  test("the paths of the configuration are absolute", async () => {
    using walked = await walk(["config", "path", "--json"], { env: { SKEIN_HOME: "here" } });
    for (const path of Object.values(walked.ran.json())) expect(path).toStartWith(walked.skein.project);
  });

  test("a schema and an image are found from the directory skein was started in", async () => {
    const prepare = (skein: TemporaryHome) => {
      mkdirSync(join(skein.project, "sub"));
      writeFileSync(join(skein.home, "schema.json"), '{"type":"array"}');
      writeFileSync(join(skein.project, "dot.png"), onePixel);
    };
    const args = ["run", "x", "-m", anthropic, "--cd", "sub", "--json-schema", "~/schema.json", "--image", "./dot.png"];
    using walked = await walk(args, { prepare, script: { steps: [], final: "[1]" } });
    expect(walked.ran).toMatchObject({ code: 0, out: "[1]\n" });
  });
});

const onePixel = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", "base64");

describe.each(Object.entries(wireModels))("over %s", (wire, model) => {
  test("an image reaches the request", async () => {
    const prepare = (skein: TemporaryHome) => writeFileSync(join(skein.project, "dot.png"), onePixel);
    using walked = await walk(["run", "what is it", "-m", model, "--image", "dot.png"], { prepare });
    expect(walked.ran.code).toBe(0);
    const text = walked.requests[0]?.text ?? "";
    expect(text).toContain(onePixel.toString("base64"));
    expect(text).toContain("image/png");
  });

  test("an effort after the model's name reaches the request, and the name is without it", async () => {
    using walked = await walk(["run", "think", "-m", `${model}:high`]);
    expect(walked.ran.code).toBe(0);
    const { text = "", path = "" } = walked.requests[0] ?? {};
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
    let at = 0;
    return () => ({ steps: [], final: texts[Math.min(at++, texts.length - 1)] as string });
  };

  test("is sent along, and a good answer is taken as it is", async () => {
    using walked = await walk(args, { prepare, script: answers('{"count": 3}') });
    expect(walked.ran.json()).toMatchObject({ status: "ok", result: '{"count": 3}', steps: 1 });
    expect(walked.requests[0]?.text).toContain(JSON.stringify(JSON.stringify(schema)).slice(1, -1));
  });

  test("gets a bad answer repaired once", async () => {
    using walked = await walk(args, { prepare, script: answers('{"count": "three"}', '{"count": 3}') });
    expect(walked.ran.json()).toMatchObject({ status: "ok", result: '{"count": 3}', steps: 2 });
    expect(walked.requests[1]?.text).toContain("must be integer");
  });

  test("that is never satisfied ends as broken, says why and keeps the answer", async () => {
    using walked = await walk(args, { prepare, script: answers("three, I think") });
    expect(walked.ran.code).toBe(1);
    const result = resultSchema.parse(walked.ran.json());
    expect(result).toMatchObject({ status: "broken", result: "three, I think", steps: 2 });
    expect(result.error?.message).toContain("JSON schema");
    expect(result.error?.hint ?? "").not.toBe("");
  });
});
