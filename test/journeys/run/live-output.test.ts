// Live output of `run` and `chat` in a terminal, and the same output in a pipe.
import { expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { field, listOf } from "../../../src/scripted-model/json.ts";
import { startModelServer, type ScriptSource } from "../../../src/scripted-model/model-server.ts";
import { startInPty } from "../../support/pty.ts";
import { temporaryHome, vendorEnv, wireModels, type TemporaryHome } from "../../support/temporary-home.ts";

const model = ["-m", wireModels.anthropic];
const waitFor = (name: string) => `until [ -e ${name} ]; do sleep 0.02; done`;
const bash = (command: string) => ({ calls: [{ input: { command } }] });

async function withModel(script: ScriptSource, act: (skein: TemporaryHome) => Promise<void>, chunkDelayMs = 0): Promise<void> {
  const server = startModelServer(script, { chunkDelayMs });
  try {
    using skein = temporaryHome(vendorEnv(server.url));
    await act(skein);
  } finally {
    await server.stop();
  }
}

const failing = bash("for n in $(seq 1 30); do echo line $n; done; echo 'expected 3, got 4'; exit 1");

test("a terminal shows the awaited model and the last lines of a running command", async () => {
  const script = { steps: [{ delayMs: 1_500, ...bash(`echo one; echo two; ${waitFor("go")}`) }], final: "All done." };
  await withModel(script, async (skein) => {
    await using run = startInPty(skein, ["run", "go", ...model]);
    await run.until(/waiting for anthropic\/claude-sonnet-4-5 · 1 s/);
    await run.until(/ {4}one[^]* {4}two/);
    writeFileSync(join(skein.project, "go"), "");
    await run.until("ok · 2 steps");
    expect(await run.exited).toBe(0);
  });
}, 120_000);

test("a terminal shows the last lines of three sub-sessions at once", async () => {
  const spawn = (name: string) => ({ name: "spawn_session", input: { task: `sub ${name}` } });
  const script: ScriptSource = ({ body }) => {
    const task = /sub (\w)/.exec(JSON.stringify(listOf(field(body, "messages"))[0]))?.[1];
    if (task !== undefined) return { steps: [bash(`echo from ${task}; ${waitFor("go")}`)], final: "counted" };
    return { steps: [{ calls: ["a", "b", "c"].map(spawn) }], final: "All done." };
  };
  await withModel(script, async (skein) => {
    await using run = startInPty(skein, ["run", "go", ...model]);
    await run.until(/ {4}from a[^]* {4}from b[^]* {4}from c/);
    writeFileSync(join(skein.project, "go"), "");
    await run.until("ok · 2 steps");
    expect(await run.exited).toBe(0);
  });
}, 120_000);

test("a failed command shows its last ten lines, also in a pipe and without control characters", async () => {
  await withModel({ steps: [failing], final: "It fails." }, async (skein) => {
    const ran = await skein.run(["run", "go", ...model]);
    expect(ran.out).toBe("It fails.\n");
    expect(ran.err).toContain("  ✗ exit code 1 (last 10 of 31 lines)\n    line 22\n");
    expect(ran.err).toContain("    line 30\n    expected 3, got 4\n");
    expect((ran.out + ran.err).replaceAll("\n", "")).not.toMatch(/\p{Cc}/u);
  });
}, 120_000);

test("a pipe gets an answer while it streams, before its line is complete", async () => {
  const final = "a long line without an end ".repeat(8).trim();
  await withModel(
    { steps: [], final },
    async (skein) => {
      const run = skein.start(["run", "go", ...model]);
      const reader = run.stdout.getReader();
      const decoder = new TextDecoder();
      let text = "";
      let first = "";
      for (let next = await reader.read(); !next.done; next = await reader.read()) {
        text += decoder.decode(next.value, { stream: true });
        first ||= text;
      }
      expect(text).toBe(`${final}\n`);
      expect(first.length).toBeLessThan(final.length);
      expect(await run.exited).toBe(0);
    },
    200,
  );
}, 120_000);

test("chat shows 20 lines of a command's output and how to see the rest", async () => {
  await withModel({ steps: [bash("seq 101 125")], final: "Counted." }, async (skein) => {
    const ran = await skein.run(["chat", ...model], { stdin: "count\n" });
    expect(ran.err).toContain("  101\n  102\n");
    expect(ran.err).toContain("  120\n  (+5 lines: /context shows all)\n");
  });
}, 120_000);

test("a slow snapshot is shown as such, and the call that waits for it is not shown as running", async () => {
  await withModel({ steps: [bash("echo ran")], final: "All done." }, async (skein) => {
    const bin = join(skein.root, "bin");
    mkdirSync(bin);
    const git = Bun.which("git") ?? "git";
    writeFileSync(join(bin, "git"), `#!/bin/sh\n${waitFor(join(skein.root, "go"))}\nexec ${git} "$@"\n`, { mode: 0o755 });
    const env = { NO_COLOR: "1", PATH: `${bin}:${skein.env["PATH"]}` };
    await using run = startInPty(skein, ["run", "go", ...model], { env });
    const shown = await run.until(/recording files · 1 s/);
    expect(shown).not.toContain("• bash");
    writeFileSync(join(skein.root, "go"), "");
    await run.until(/• bash echo ran[^]*ok · 2 steps/);
    expect(await run.exited).toBe(0);
  });
}, 120_000);

test("the demo shows the output of its failing test", async () => {
  using skein = temporaryHome();
  const ran = await skein.run(["demo"]);
  expect(ran.err).toContain("native · scripted model · policy workspace");
  expect(ran.err).not.toContain("replay/");
  expect(ran.err).toContain("FAIL  What's new? -> what's-new?, wanted whats-new");
}, 120_000);
