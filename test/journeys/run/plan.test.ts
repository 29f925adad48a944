// Planning and executing in headless runs. One session writes a plan, another carries it out. The second session gets
// the plan but not the earlier conversation. test/security checks the sandbox itself; this file checks the flow.
import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { transcriptHeader } from "../../../src/protocol/fixtures/printed-schemas.ts";
import { startModelServer, type ModelServer } from "../../../src/scripted-model/model-server.ts";
import { shellScript } from "../../../src/scripted-model/script.ts";
import { temporaryHome, vendorEnv, wireModels, type TemporaryHome } from "../../support/temporary-home.ts";

const model = ["-m", wireModels.anthropic];
const planning = ["--policy", "plan", "--sandbox", "auto", ...model];
const planText = "# Birds\n\n1. count them\n2. name them\n";
const planFile = (skein: TemporaryHome) => join(skein.project, ".skein", "plan.md");

async function withHome(check: (skein: TemporaryHome, server: ModelServer) => Promise<void>): Promise<void> {
  const server = startModelServer(({ position }) => {
    if (position.prompt.startsWith("plan")) {
      return { steps: [{ calls: [{ name: "write", input: { path: ".skein/plan.md", content: planText } }] }], final: "a secret thought" };
    }
    return { steps: [], final: "carried out" };
  });
  using skein = temporaryHome(vendorEnv(server.url));
  try {
    await check(skein, server);
  } finally {
    await server.stop();
  }
}

type Body = { system: { text: string }[]; messages: { role: string; content: { type: string; text: string; is_error?: boolean }[] }[] };

function sentRequest(server: ModelServer, index: number): { system: string; texts: string[]; text: string } {
  const request = server.main().at(index);
  const body = request?.body as unknown as Body;
  const blocks = body.messages.flatMap(({ content }) => content).filter((block) => block.type === "text");
  return { system: body.system.map((block) => block.text).join(""), texts: blocks.map((block) => block.text), text: request?.text ?? "" };
}

/** Returns for each call in the last request whether it failed. */
function failures(server: ModelServer): boolean[] {
  const body = server.main().at(-1)?.body as unknown as Body;
  const blocks = body.messages.flatMap(({ content }) => content).filter((block) => block.type === "tool_result");
  return blocks.map((block) => block.is_error === true);
}

async function runOk(skein: TemporaryHome, args: string[]): Promise<Record<string, unknown>> {
  const ran = await skein.run([...args, "--json"]);
  expect({ code: ran.code, err: ran.code === 0 ? "" : ran.err }).toEqual({ code: 0, err: "" });
  return ran.json();
}

describe("planning", () => {
  test("policy plan creates the plan file before the first request and tells the model what can be written", async () => {
    const planFileExisted: boolean[] = [];
    const server = startModelServer(() => {
      planFileExisted.push(existsSync(join(skein.project, ".skein", "plan.md")));
      return { steps: [], final: "nothing to plan" };
    });
    using skein = temporaryHome(vendorEnv(server.url));
    try {
      await runOk(skein, ["run", "look", ...planning]);
      expect(planFileExisted).toEqual([true]);
      expect(readFileSync(planFile(skein), "utf8")).toBe("");
      expect(sentRequest(server, 0).system).toContain("Only .skein/plan.md can be written");
      await runOk(skein, ["run", "look", ...model]);
      expect(sentRequest(server, 1).system).not.toContain("plan.md");
    } finally {
      await server.stop();
    }
  });

  test("a new plan replaces the older one in place", async () => {
    await withHome(async (skein) => {
      mkdirSync(join(skein.project, ".skein"));
      writeFileSync(planFile(skein), "an older and longer plan, with more words than the other one has\n");
      await runOk(skein, ["run", "plan the birds", ...planning]);
      expect(readFileSync(planFile(skein), "utf8")).toBe(planText);
    });
  });

  test.each([
    [
      "a link out of the project",
      (skein: TemporaryHome) => symlinkSync(join(skein.home, "theirs"), planFile(skein)),
      /plan\.md can't be written: it is a symbolic link/,
    ],
    ["a directory", (skein: TemporaryHome) => mkdirSync(planFile(skein)), /plan\.md can't be written: it is a directory/],
  ])("planning is refused before anything is stored if the plan file is %s", async (_title, createObstacle, pattern) => {
    await withHome(async (skein, server) => {
      mkdirSync(join(skein.project, ".skein"));
      createObstacle(skein);
      const ran = await skein.run(["run", "plan the birds", ...planning]);
      expect(ran).toMatchObject({ code: 1, out: "" });
      expect(ran.err).toMatch(pattern);
      expect([server.main().length, (await skein.run(["list", "--json"])).out.trim()]).toEqual([0, "[]"]);
      expect(existsSync(join(skein.home, "theirs"))).toBe(false);
    });
  });

  test("a sub-session of a planning turn can only read", async () => {
    const subScript = shellScript(["true"], "three birds");
    const script = ({ position }: { position: { prompt: string } }) =>
      position.prompt === "count"
        ? subScript
        : { steps: [{ calls: [{ name: "spawn_session", input: { task: "count" } }] }], final: "planned" };
    const server = startModelServer(script);
    using skein = temporaryHome(vendorEnv(server.url));
    try {
      await runOk(skein, ["run", "plan the birds", ...planning]);
      const child = server.main()[1]?.body as { tools: { name: string }[] };
      expect(child.tools.map((tool) => tool.name)).toEqual(["read", "bash", "ask_user"]);
      expect(sentRequest(server, 1).system).not.toContain("plan.md");
    } finally {
      await server.stop();
    }
  });
});

describe("the sandbox of planning", () => {
  const attempts = [
    "echo x > beside.txt",
    "echo x > .skein/config.jsonc",
    "echo x > .skein/next.md; mv .skein/next.md .skein/plan.md",
    "rm .skein/plan.md",
    "mv .skein .other",
    "ln .skein/plan.md kept.md",
  ];

  test("under policy plan shell and tools can write only the plan, and planning is refused without a sandbox", async () => {
    const server = startModelServer({
      steps: [
        { calls: attempts.map((command) => ({ input: { command } })) },
        { calls: [{ name: "write", input: { path: "beside.txt", content: "x" } }] },
        { calls: [{ name: "write", input: { path: ".skein/plan.md", content: "1. look\n" } }] },
        { calls: [{ name: "edit", input: { path: ".skein/plan.md", old_text: "look", new_text: "see" } }] },
        { calls: [{ input: { command: "echo '2. do' >> .skein/plan.md" } }] },
      ],
      final: "planned",
    });
    using skein = temporaryHome(vendorEnv(server.url));
    try {
      const ran = await skein.run(["run", "plan it", "--policy", "plan", ...model, "--json"]);
      const isEnforced = ran.code === 0;
      if (!isEnforced) expect(ran).toMatchObject({ code: 9, err: expect.stringContaining("can't be enforced") });
      expect(readdirSync(skein.project).filter((name) => !name.startsWith("."))).toEqual([]);
      if (isEnforced) {
        expect(readFileSync(planFile(skein), "utf8")).toBe("1. see\n2. do\n");
        expect(failures(server)).toEqual([...attempts.map(() => true), true, false, false, false]);
        expect(readdirSync(join(skein.project, ".skein")).filter((name) => /\.(md|jsonc)$/.test(name))).toEqual(["plan.md"]);
        expect(ran.json()["enforced"]).toMatchObject({ policy: "plan", fs: true });
      }
    } finally {
      await server.stop();
    }
  });

  test.each(["plan", "workspace"])(
    "under policy %s a plan that an editor saves by rename during the conversation can still be written",
    async (policy) => {
      const rewritten = "1. a person's words\n";
      const server = startModelServer(({ position }) => {
        if (position.prompt === "second" && position.step === 0) {
          writeFileSync(`${planFile(skein)}.saved`, rewritten);
          renameSync(`${planFile(skein)}.saved`, planFile(skein));
        }
        return shellScript([`echo '${position.prompt}' >> .skein/plan.md`], "noted");
      });
      using skein = temporaryHome(vendorEnv(server.url));
      try {
        mkdirSync(join(skein.project, ".skein"));
        writeFileSync(planFile(skein), "1. look\n");
        const ran = await skein.run(["chat", "--policy", policy, "--sandbox", "auto", ...model], { stdin: "first\nsecond\n" });
        expect({ code: ran.code, err: ran.code === 0 ? "" : ran.err }).toEqual({ code: 0, err: "" });
        expect(readFileSync(planFile(skein), "utf8")).toBe(`${rewritten}second\n`);
      } finally {
        await server.stop();
      }
    },
  );
});

describe("executing a plan", () => {
  test("run --plan starts a child session with the plan after the original system prompt and without the conversation", async () => {
    await withHome(async (skein, server) => {
      writeFileSync(join(skein.project, "AGENTS.md"), "be kind");
      await runOk(skein, ["run", "hello", ...model]);
      const original = sentRequest(server, -1).system;
      const planned = await runOk(skein, ["run", "plan the birds", ...planning]);
      const done = await runOk(skein, ["run", "--plan", ".skein/plan.md", ...model]);
      expect(done).toMatchObject({ status: "ok", result: "carried out", parent_session_id: planned["session_id"] });
      expect(done["session_id"]).not.toBe(planned["session_id"]);

      const request = sentRequest(server, -1);
      expect(request.system).toBe(`${original}\n\n## Plan\n${planText}`);
      expect(request.texts).toEqual(["Carry out the plan."]);
      for (const words of ["plan the birds", "secret thought"]) expect(request.text).not.toContain(words);

      const header = transcriptHeader.parse(
        JSON.parse(readFileSync(done["transcript_path"] as string, "utf8").split("\n", 1)[0] as string),
      );
      expect(header).toMatchObject({ parent_session_id: planned["session_id"], is_sub_session: false, task: "Carry out the plan." });
    });
  });

  test("later turns, forks and context keep the plan even if its file changes", async () => {
    await withHome(async (skein, server) => {
      await runOk(skein, ["run", "plan the birds", ...planning]);
      const done = await runOk(skein, ["run", "--plan", ".skein/plan.md", "only the first step", ...model]);
      expect(sentRequest(server, -1).texts).toEqual(["only the first step"]);
      const first = sentRequest(server, -1).system;
      writeFileSync(planFile(skein), "another plan");
      await runOk(skein, ["run", "and now the second", "--continue"]);
      expect(sentRequest(server, -1)).toMatchObject({ system: first, texts: ["only the first step", "carried out", "and now the second"] });
      await runOk(skein, ["run", "another way", "--resume", done["session_id"] as string, "--fork"]);
      expect(sentRequest(server, -1).system).toBe(first);
      const context = await runOk(skein, ["context", done["session_id"] as string]);
      expect(context["system"]).toBe(first);
      const listed = (await skein.run(["list", "--json"])).json() as unknown as { id: string }[];
      expect(listed.map((session) => session.id)).toContain(done["session_id"] as string);
    });
  });

  test("run --plan takes any file, and its parent is the planning session, the named one, or none", async () => {
    await withHome(async (skein, server) => {
      const planned = await runOk(skein, ["run", "plan the birds", ...planning]);
      const conversation = await runOk(skein, ["run", "hello", ...model]);
      writeFileSync(join(skein.project, "own.md"), "just do it");
      expect(await runOk(skein, ["run", "--plan", "own.md", ...model])).toMatchObject({ parent_session_id: null });
      expect(sentRequest(server, -1).system).toEndWith("\n\n## Plan\njust do it");
      const withParent = ["run", "--plan", ".skein/plan.md", "--parent-session", conversation["session_id"] as string, ...model];
      expect(await runOk(skein, withParent)).toMatchObject({ parent_session_id: conversation["session_id"] });
      const subdirectory = join(skein.project, "sub");
      mkdirSync(subdirectory);
      const ran = await skein.run(["run", "--plan", "../.skein/plan.md", "--json", ...model], { cwd: subdirectory });
      expect(ran.json()).toMatchObject({ parent_session_id: planned["session_id"] });
    });
  });

  test("a session that is imported on another machine keeps its plan", async () => {
    await withHome(async (skein, server) => {
      writeFileSync(join(skein.project, "own.md"), "just do it");
      const done = await runOk(skein, ["run", "--plan", "own.md", ...model]);
      const exported = await skein.run(["export", done["session_id"] as string, "--format", "jsonl"]);
      using otherHome = temporaryHome(vendorEnv(server.url));
      expect((await otherHome.run(["import", "-"], { stdin: exported.out })).code).toBe(0);
      await runOk(otherHome, ["run", "go on", "--resume", done["session_id"] as string]);
      expect(sentRequest(server, -1)).toMatchObject({ system: expect.stringMatching(/\n\n## Plan\njust do it$/) });
      expect(sentRequest(server, -1).texts).toEqual(["Carry out the plan.", "carried out", "go on"]);
    });
  });

  test("plan_model plans and the session's own model acts, in one session and in another; a named model wins", async () => {
    await withHome(async (skein, server) => {
      const models = () => server.main().map(({ body }) => (body as unknown as { model: string }).model);
      const [own, other, named] = ["claude-sonnet-4-5", "claude-opus-4-5", "claude-haiku-4-5"];
      const set = (key: string, value: string) => skein.run(["config", "set", key, value]);
      expect((await set("plan_model", "no-such-vendor/x")).code).not.toBe(0);
      expect((await set("plan_model", `anthropic/${other}`)).code).toBe(0);
      expect((await set("model", `anthropic/${own}`)).code).toBe(0);
      const policy = ["--policy", "plan", "--sandbox", "auto"];
      const planned = await runOk(skein, ["run", "plan the birds", ...policy]);
      expect([planned["model"], models().at(-1)]).toEqual([`anthropic/${other}`, other]);
      expect((await runOk(skein, ["run", "hello", "--continue"]))["model"]).toBe(`anthropic/${own}`);
      expect((await runOk(skein, ["run", "--plan", ".skein/plan.md"]))["model"]).toBe(`anthropic/${own}`);
      expect((await runOk(skein, ["run", "plan more", ...policy, "-m", `anthropic/${named}`]))["model"]).toBe(`anthropic/${named}`);
    });
  });

  test("plan_agent plans, and the session keeps its own agent", async () => {
    await withHome(async (skein) => {
      const program = join(skein.root, "planner");
      writeFileSync(program, "#!/bin/sh\necho planned by another\n", { mode: 0o755 });
      await skein.run(["config", "set", "agents.mine.command", program]);
      expect((await skein.run(["config", "set", "plan_agent", "mine"])).code).toBe(0);
      const planned = await runOk(skein, ["run", "plan the birds", "--policy", "plan", "--sandbox", "auto"]);
      expect([planned["agent"], planned["result"]]).toEqual(["mine", "planned by another"]);
      expect((await runOk(skein, ["run", "hello", "--continue"]))["agent"]).toBe("native");
    });
  });

  test("run --plan appends piped input to the task", async () => {
    await withHome(async (skein, server) => {
      writeFileSync(join(skein.project, "own.md"), "just do it");
      expect((await skein.run(["run", "--plan", "own.md", "with this", ...model], { stdin: "more" })).code).toBe(0);
      expect(sentRequest(server, -1).texts).toEqual(["with this\n\nInput:\nmore"]);
    });
  });
});
