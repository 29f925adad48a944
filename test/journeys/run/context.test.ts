// Requests to the model: the tools of each level, the project's context files and the earlier turns, always with the
// same beginning. A sub-session sends only its own task.
import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { offeredTools } from "../../../src/agents/native/tools/offered-tools.ts";
import { toolsByLevel } from "../../../src/protocol/api/policy.ts";
import { event as eventSchema, result as resultSchema, transcriptHeader } from "../../../src/protocol/fixtures/printed-schemas.ts";
import {
  startModelServer,
  type ModelServer,
  type ModelServerOptions,
  type ScriptSource,
} from "../../../src/scripted-model/model-server.ts";
import { shellScript, type Script } from "../../../src/scripted-model/script.ts";
import { temporaryHome, vendorEnv, wireModels, type TemporaryHome } from "../../support/temporary-home.ts";

const anthropic = wireModels.anthropic;
const everyWire = Object.entries(wireModels);

async function withHome(
  script: ScriptSource,
  check: (skein: TemporaryHome, server: ModelServer) => Promise<void>,
  options?: ModelServerOptions,
): Promise<void> {
  const server = startModelServer(script, options);
  using skein = temporaryHome(vendorEnv(server.url));
  try {
    await check(skein, server);
  } finally {
    await server.stop();
  }
}

type Body = {
  tools?: { name: string; cache_control?: unknown }[];
  system: { text: string; cache_control?: unknown }[];
  messages: { role: string; content: { text?: string; cache_control?: unknown }[] }[];
};

function bodyOf(server: ModelServer, index = 0): Body {
  return server.main()[index]?.body as unknown as Body;
}

function toolsOf(body: Body): string[] {
  return (body.tools ?? []).map((tool) => tool.name);
}

describe("the tools of a request", () => {
  const answerOnly: Script = { steps: [], final: "hi" };
  test.each([
    [["--tool-level", "none"], []],
    [
      ["--tool-level", "minimal"],
      ["read", "write", "edit", "bash", "ask_user"],
    ],
    [[], ["read", "write", "edit", "bash", "spawn_session", "ask_user"]],
    [
      ["--tool-level", "orchestrator"],
      ["read", "write", "edit", "bash", "spawn_session", "ask_user"],
    ],
    [["--no-spawn"], ["read", "write", "edit", "bash", "ask_user"]],
    [
      ["--tools", "bash, read"],
      ["read", "bash"],
    ],
    [["--tools", "spawn_session,bash", "--no-spawn"], ["bash"]],
    [["--tool-level", "none", "--tools", "read"], ["read"]],
  ])("a request with %p has the right tools", async (args, expected) => {
    await withHome(answerOnly, async (skein, server) => {
      expect((await skein.run(["run", "hello", "-m", anthropic, ...args])).code).toBe(0);
      expect(toolsOf(bodyOf(server))).toEqual(expected);
    });
  });

  test("level readonly offers read and bash, and ask_user if the user can answer", () => {
    const names = (canAsk: boolean) => offeredTools({ toolLevel: "readonly", tools: null, spawn: true, canAsk }).map((tool) => tool.name);
    expect(names(true)).toEqual(["read", "bash", "ask_user"]);
    expect(names(false)).toEqual(["read", "bash"]);
  });

  test.each(everyWire)("tools have the same names over %s", async (_wire, model) => {
    await withHome(answerOnly, async (skein, server) => {
      await skein.run(["run", "hello", "-m", model]);
      const text = server.main()[0]?.text ?? "";
      for (const name of toolsByLevel.orchestrator) expect(text).toContain(`"name":"${name}"`);
    });
  });
});

describe("context files", () => {
  function writeContextFiles(skein: TemporaryHome): string {
    const deep = join(skein.project, "sub", "deep");
    const config = join(skein.env["SKEIN_HOME"] as string, "config");
    for (const folder of [deep, config]) mkdirSync(folder, { recursive: true });
    writeFileSync(join(config, "AGENTS.md"), "rule of the user");
    writeFileSync(join(skein.project, "AGENTS.md"), "rule of the root");
    writeFileSync(join(skein.project, "CLAUDE.md"), "never read beside AGENTS.md");
    writeFileSync(join(skein.project, "sub", "CLAUDE.md"), "rule of the sub folder");
    writeFileSync(join(skein.home, "diary"), "a secret of the home directory");
    symlinkSync(join(skein.home, "diary"), join(deep, "AGENTS.md"));
    writeFileSync(join(skein.root, "AGENTS.md"), "above the project");
    return deep;
  }

  test("context files are read from the root down to the directory, but none that leads out of the project", async () => {
    await withHome({ steps: [], final: "hi" }, async (skein, server) => {
      const deep = writeContextFiles(skein);
      await skein.run(["run", "hello", "-m", anthropic, "--cd", deep]);
      const system = bodyOf(server)
        .system.map((block) => block.text)
        .join("\n");
      const positions = ["rule of the user", "rule of the root", "rule of the sub folder"].map((words) => system.indexOf(words));
      expect(positions).toEqual(positions.toSorted((a, b) => a - b));
      expect(positions).not.toContain(-1);
      for (const words of ["never read", "secret of the home", "above the project"]) expect(server.main()[0]?.text).not.toContain(words);
    });
  });

  test.each([
    [["--no-context-files"], {}],
    [[], { SKEIN_CONTEXT_FILES: "false" }],
  ])("context files are left out with %p and %p", async (args, env) => {
    await withHome({ steps: [], final: "hi" }, async (skein, server) => {
      await skein.run(["run", "hello", "-m", anthropic, "--cd", writeContextFiles(skein), ...args], { env });
      expect(server.main()[0]?.text).not.toContain("rule of");
    });
  });
});

function commonLength(a: string, b: string): number {
  let index = 0;
  while (index < a.length && a[index] === b[index]) index += 1;
  return index;
}

describe.each(everyWire)("over %s", (wire, model) => {
  test("each request begins with the bytes of the previous one, also across turns", async () => {
    const source: ScriptSource = ({ position }) =>
      position.prompt.includes("again")
        ? shellScript(["echo mark-three"], "second end")
        : shellScript(["echo mark-one", "echo mark-two"], "first end");
    await withHome(source, async (skein, server) => {
      expect((await skein.run(["run", "mark-zero", "-m", model])).code).toBe(0);
      expect((await skein.run(["run", "again mark-turn", "-m", model, "--continue"])).code).toBe(0);
      const raw = server.main().map((request) => request.text);
      expect(commonLength(raw[0] as string, raw[1] as string)).toBeGreaterThan((raw[0] as string).indexOf("mark-zero"));
      // Anthropic's cache breakpoints move with the end and are not part of the prompt.
      const texts = raw.map((text) => text.replaceAll(',"cache_control":{"type":"ephemeral"}', ""));
      // The newest text of each request. The next request must repeat everything up to its end.
      const newest = ["mark-zero", "mark-one", "mark-two", "mark-turn", "mark-three"];
      expect(texts).toHaveLength(newest.length);
      for (const [index, mark] of newest.slice(0, -1).entries()) {
        const [text, next] = [texts[index] as string, texts[index + 1] as string];
        expect(commonLength(text, next)).toBeGreaterThanOrEqual(text.lastIndexOf(mark) + mark.length);
      }
    });
  });

  test("cache tokens from the server appear in the result", async () => {
    await withHome(
      shellScript(["echo one", "echo two", "echo three"], "cached"),
      async (skein) => {
        const ran = await skein.run(["run", "go", "-m", model, "--output-format", "events"]);
        const lines = ran.lines() as Record<string, unknown>[];
        const result = resultSchema.parse(lines.at(-1));
        expect(result.usage.cache_read).toBeGreaterThan(result.usage.input);
        if (wire === "anthropic") expect(result.usage.cache_write).toBeGreaterThan(0);
        const nodes = lines.slice(0, -1).map((line) => eventSchema.parse(line));
        const reads = nodes.flatMap((event) =>
          event.type === "node.added" && event.node.author === "agent" ? [event.node.usage?.cache_read ?? 0] : [],
        );
        expect(reads.reduce((sum, read) => sum + read, 0)).toBe(result.usage.cache_read);
        const cacheReads = readFileSync(result.transcript_path as string, "utf8").match(/"cache_read":[1-9]/g) ?? [];
        expect(cacheReads.length).toBeGreaterThan(0);
      },
      { cache: true },
    );
  });

  test("a second turn sends the first one, except with --fresh", async () => {
    await withHome({ steps: [], final: "the answer was forty-two" }, async (skein, server) => {
      await skein.run(["run", "first question", "-m", model, "--session", "talk"]);
      await skein.run(["run", "second question", "--session", "talk"]);
      await skein.run(["run", "third question", "--session", "talk", "--fresh"]);
      const texts = server.main().map((request) => request.text);
      for (const words of ["first question", "the answer was forty-two", "second question"]) expect(texts[1]).toContain(words);
      expect(texts[2]).toContain("third question");
      expect(texts[2]).not.toContain("first question");
    });
  });
});

test("Anthropic's cache breakpoints are at the end of the system prompt and at the end of the history", async () => {
  await withHome(shellScript(["echo one"], "done"), async (skein, server) => {
    await skein.run(["run", "go", "-m", anthropic]);
    for (const request of server.main()) {
      const body = request.body as unknown as Body;
      expect(body.system.at(-1)?.cache_control).toBeDefined();
      expect(body.messages.at(-1)?.content.at(-1)?.cache_control).toBeDefined();
      expect((request.text.match(/"cache_control"/g) ?? []).length).toBeLessThanOrEqual(4);
    }
  });
});

describe("spawn_session", () => {
  const delegateTo =
    (calls: { task: string; output_file?: string }[], subScripts: Record<string, Script>): ScriptSource =>
    ({ position }) =>
      subScripts[position.prompt] ?? {
        steps: [
          { calls: [{ input: { command: "echo executor=$PPID" } }] },
          { calls: calls.map((input) => ({ name: "spawn_session", input })) },
        ],
        final: "both are done",
      };

  test("spawn_session runs a sub-session in the same process, linked to its parent, and returns its answer and transcript path", async () => {
    const subScripts = { "count the files": shellScript(["echo executor=$PPID"], "there are three files") };
    await withHome(delegateTo([{ task: "count the files", output_file: "answers/count.txt" }], subScripts), async (skein, server) => {
      writeFileSync(join(skein.project, "AGENTS.md"), "rule of the root");
      const ran = await skein.run(["run", "delegate it", "-m", anthropic, "--output-format", "events"]);
      expect(ran.code).toBe(0);
      const lines = ran.lines() as Record<string, unknown>[];
      const result = resultSchema.parse(lines.at(-1));
      const nodes = lines
        .slice(0, -1)
        .map((line) => eventSchema.parse(line))
        .flatMap((event) => (event.type === "node.added" ? [event.node] : []));
      const texts = nodes.flatMap((node) => node.parts).flatMap((part) => (part.kind === "result" ? [part.text] : []));
      const answer = texts[1] as string;
      const [, session, path] =
        /there are three files[\s\S]*\[session ([0-9a-f-]{36}), ok, spent \$[\d.]+, [\d,]+ tokens.*, transcript (.*\.jsonl)\]/.exec(
          answer,
        ) ?? [];
      const transcript = readFileSync(path as string, "utf8");
      const header = transcriptHeader.parse(JSON.parse(transcript.split("\n", 1)[0] as string));
      expect(header).toMatchObject({
        session_id: session,
        parent_session_id: result.session_id,
        is_sub_session: true,
        task: "count the files",
      });
      expect(readFileSync(join(skein.project, "answers", "count.txt"), "utf8")).toBe(transcript);

      const subSessionRequests = server.main().filter((request) => !request.text.includes("delegate it"));
      expect(subSessionRequests).toHaveLength(2);
      for (const request of subSessionRequests) {
        expect(toolsOf(request.body as unknown as Body)).toEqual(["read", "write", "edit", "bash", "ask_user"]);
        expect(request.text).toContain("rule of the root");
      }
      // One executor ran the commands of both, because the sub-session runs in its parent's process.
      expect(transcript).toContain(/executor=\d+/.exec(texts[0] as string)?.[0] as string);
      expect([result.steps, server.main().length]).toEqual([3, 5]);
    });
  });

  test("two spawn_session calls in one message run at the same time", async () => {
    const meet = (mine: string, theirs: string) =>
      `touch ${mine}; for i in $(seq 500); do test -e ${theirs} && break; sleep 0.02; done; test -e ${theirs} && echo met`;
    const subScripts = { left: shellScript([meet("l", "r")], "left met right"), right: shellScript([meet("r", "l")], "right met left") };
    await withHome(delegateTo([{ task: "left" }, { task: "right" }], subScripts), async (skein, server) => {
      const ran = await skein.run(["run", "delegate both", "-m", anthropic, "--json"]);
      expect(ran.json()).toMatchObject({ status: "ok", result: "both are done" });
      const last = server.main().at(-1)?.text ?? "";
      for (const words of ["left met right", "right met left"]) expect(last).toContain(words);
      for (const mine of ["touch l;", "touch r;"]) {
        const requests = server.main().filter((request) => request.text.includes(mine));
        expect(requests.at(-1)?.text).toContain('"content":"met"');
      }
      expect([existsSync(join(skein.project, "l")), existsSync(join(skein.project, "r"))]).toEqual([true, true]);
    });
  });

  test("a failed sub-session returns its error to the model, and the turn continues", async () => {
    const steps = Array.from({ length: 5 }, () => ({
      calls: [
        { name: "teleport", input: {} },
        { name: "teleport", input: {} },
      ],
    }));
    const subScripts = { hopeless: { steps: [...steps, { calls: [{ input: { command: "true" } }] }], final: "never" } };
    await withHome(delegateTo([{ task: "hopeless" }], subScripts), async (skein, server) => {
      const ran = await skein.run(["run", "delegate it", "-m", anthropic, "--json"]);
      expect(ran.json()).toMatchObject({ status: "ok", result: "both are done" });
      expect(server.main().at(-1)?.text).toMatch(/keeps sending tool calls[^"]*\[session [0-9a-f-]{36}, broken/);
    });
  });
});
