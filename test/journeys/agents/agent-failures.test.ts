// Fake CLIs (test/fixtures/bin), which come first in PATH, fail in every way known. Each turn must end with the right
// status, keep the partial answer and leave no process and no key behind. The next turn of the session must work.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { startModelServer } from "../../../src/scripted-model/model-server.ts";
import { result as resultSchema } from "../../../src/protocol/fixtures/printed-schemas.ts";
import { watchArguments } from "../../support/argument-lists.ts";
import { canaryPattern, withCanaries } from "../../support/canaries.ts";
import { homeWithFakeClis, type FakeCliHome } from "../../support/fake-clis.ts";
import { waitForNoProcesses } from "../../support/processes.ts";
import { vendorEnv, wireModels } from "../../support/temporary-home.ts";

let watch: ReturnType<typeof watchArguments>;
beforeAll(() => void (watch = watchArguments()));
afterAll(() => watch.stop());

const agents = ["claude", "codex", "gemini", "opencode", "pi"] as const;
const fakeAnswer = "All three were said.";

async function runTurn(skein: FakeCliHome, args: string[], env: Record<string, string> = {}) {
  const { code, out, err } = await skein.run(["run", ...args, "--output-format", "events"], { env });
  const events = out
    .trim()
    .split("\n")
    .map(
      (line) => JSON.parse(line) as { type: string; node?: { author: string; parts: { kind: string; text?: string }[] }; message?: string },
    );
  const result = resultSchema.parse(events.at(-1));
  return {
    code,
    err,
    result,
    warnings: events.filter(({ type }) => type === "warning.raised").map(({ message }) => message),
    nodes: nodesIn(events),
  };
}

type TurnOutcome = Awaited<ReturnType<typeof runTurn>>;

function nodesIn(events: { type: string; node?: { author: string; parts: { kind: string; text?: string }[] } }[]): string[] {
  return events.flatMap(({ type, node }) =>
    type === "node.added" && node !== undefined ? [`${node.author}: ${node.parts.map(({ kind, text }) => text ?? kind).join(" + ")}`] : [],
  );
}

type FailureCase = {
  /** The scenario that the fake CLI plays. */
  scenario: string;
  title: string;
  status: string;
  code: number;
  message?: RegExp;
  /** The stored answer, complete or partial. */
  answer?: string;
  /** The start of output that is no event, which the result returns as it is. */
  raw?: RegExp;
  args?: string[];
  env?: Record<string, string>;
};

/** Five CLIs start at the same time. Each needs to reach the middle of its turn before the idle timeout. */
const idle = { SKEIN_IDLE_TIMEOUT: "8s" };

const failureCases: FailureCase[] = [
  {
    scenario: "garbage",
    title: "a CLI that prints only garbage ends the turn as broken, and its output is the result",
    status: "broken",
    code: 1,
    raw: /line 0 of no protocol[^]*line 499 of no protocol/,
    message: /nothing that skein can read; its output is in \S+\.stdout\.log$/,
  },
  {
    scenario: "signed-out",
    title: "a CLI that is not authenticated ends the turn as auth",
    status: "auth",
    code: 4,
    message: /Not authenticated/,
  },
  {
    scenario: "limited",
    title: "a CLI whose account has no usage left ends the turn as rate-limited",
    status: "rate-limited",
    code: 5,
    message: /usage limit/,
  },
  {
    scenario: "long-line",
    title: "a CLI that prints only one line of 100 MB ends the turn as broken",
    status: "broken",
    code: 1,
    raw: /^(\.\.\.\n)?x{0,8192}$/,
    message: /can read/,
  },
  { scenario: "long-line-first", title: "a line of 100 MB before a good turn is skipped", status: "ok", code: 0, answer: fakeAnswer },
  {
    scenario: "error-inside",
    title: "an error in the output counts although the CLI exits with 0",
    status: "auth",
    code: 4,
    message: /key/i,
  },
  {
    scenario: "empty",
    title: "a CLI that exits with 0 and prints nothing ends the turn as broken",
    status: "broken",
    code: 1,
    message: /without output/,
  },
  { scenario: "exit-1", title: "a turn is ok if the CLI exits with 1 after a good answer", status: "ok", code: 0, answer: fakeAnswer },
  {
    scenario: "loud",
    title: "10 MB on stderr before the first byte of stdout do not block the turn",
    status: "ok",
    code: 0,
    answer: fakeAnswer,
  },
  { scenario: "reads-stdin", title: "a CLI that reads stdin gets end of file at once", status: "ok", code: 0, answer: fakeAnswer },
  {
    scenario: "flood",
    title: "a CLI that prints without end is stopped at the time limit",
    status: "timed-out",
    code: 124,
    raw: /(flood )+/,
    args: ["--timeout", "4s"],
  },
  { scenario: "silent", title: "a CLI that never prints ends the turn as stalled", status: "stalled", code: 124, env: idle },
  {
    scenario: "hangs",
    title: "a CLI that falls silent in mid-turn ends it as stalled, and its partial answer is stored",
    status: "stalled",
    code: 124,
    answer: fakeAnswer,
    env: idle,
  },
  {
    scenario: "hangs",
    title: "the time limit ends a CLI in mid-turn, and its partial answer is stored",
    status: "timed-out",
    code: 124,
    answer: fakeAnswer,
    args: ["--timeout", "10s"],
  },
  {
    scenario: "deaf",
    title: "a CLI that ignores every signal except SIGKILL is ended at the limit",
    status: "stalled",
    code: 124,
    answer: fakeAnswer,
    env: idle,
  },
  {
    scenario: "quits",
    title: "a CLI that exits with 1 in mid-turn ends it as broken, and its partial answer is stored",
    status: "broken",
    code: 1,
    message: /exit code 1/,
    answer: fakeAnswer,
  },
  {
    scenario: "dies",
    title: "a CLI that is killed from outside ends the turn as killed, and its partial answer is stored",
    status: "killed",
    code: 1,
    message: /SIGKILL/,
    answer: fakeAnswer,
  },
  {
    scenario: "torn",
    title: "a CLI whose last line is cut off ends the turn as broken, and its partial answer is stored",
    status: "broken",
    code: 1,
    answer: fakeAnswer,
  },
  { scenario: "daemon", title: "daemons that a CLI starts end with the turn", status: "ok", code: 0, answer: fakeAnswer },
];

describe("an agent's CLI", () => {
  test.each(failureCases.map((row) => [row.title, row] as const))("%s", async (_, row) => {
    await Promise.all(agents.map((agent) => failAndContinue(agent, row)));
  });

  async function failAndContinue(agent: string, row: FailureCase): Promise<void> {
    using skein = withCanaries(homeWithFakeClis([agent]));
    const first = await runTurn(skein, [`do it fake:${row.scenario}`, "-a", agent, ...(row.args ?? [])], row.env);
    expectEnd(agent, first, row);
    expect(await waitForNoProcesses(skein.root)).toEqual([]);
    if (!row.scenario.startsWith("long-line") && row.scenario !== "flood") expectLogs(agent, first);
    const next = await runTurn(skein, ["go on fake:good", "--resume", first.result.session_id]);
    expect({ agent, code: next.code, status: next.result.status, error: next.result.error }).toEqual({
      agent,
      code: 0,
      status: "ok",
      error: undefined,
    });
    expect((await skein.run(["verify"])).code).toBe(0);
    expect(await skein.leaks()).toEqual([]);
  }
});

function expectEnd(agent: string, { code, err, result, nodes }: TurnOutcome, row: FailureCase): void {
  expect({ agent, code, status: result.status, kind: result.error?.kind ?? "ok", answer: result.result, err }).toEqual({
    agent,
    code: row.code,
    status: row.status,
    kind: row.status,
    answer: row.raw === undefined ? (row.answer ?? "") : expect.stringMatching(row.raw),
    err: "",
  } as never);
  if (row.message !== undefined) expect(result.error?.message).toMatch(row.message);
  if (row.status !== "ok") expect(result.error?.hint ?? "").not.toBe("");
  // The nodes are three calls, each with a result, and the final answer.
  if (row.answer !== undefined)
    expect({ agent, nodes: nodes.map((node) => node.split(":", 1)[0]) }).toEqual({
      agent,
      nodes: ["user", "agent", "tool", "agent", "tool", "agent", "tool", "agent"],
    });
}

function expectLogs(agent: string, { result }: TurnOutcome): void {
  const base = (result.transcript_path as string).replace(/\.jsonl$/, `.${agent}`);
  expect(readFileSync(`${base}.stdout.log`).length + readFileSync(`${base}.stderr.log`).length).toBeGreaterThanOrEqual(
    result.result === "" ? 0 : 100,
  );
}

describe.each(agents)("agent %s", (agent) => {
  test("after a failed turn the CLI resumes its last good session and gets the messages it may have missed", async () => {
    using skein = withCanaries(homeWithFakeClis([agent]));
    const first = await runTurn(skein, ["remember the heron", "-a", agent]);
    const second = await runTurn(skein, ["fish at dawn fake:fails", "--resume", first.result.session_id]);
    const third = await runTurn(skein, ["and now? fake:good", "--resume", first.result.session_id]);
    expect([first, second, third].map(({ code, result }) => [code, result.status])).toEqual([
      [0, "ok"],
      [5, "overloaded"],
      [0, "ok"],
    ]);
    const [firstStart, secondStart, thirdStart] = skein.started();
    expect([secondStart, thirdStart].map((start) => [start?.how, start?.from])).toEqual([
      ["resume", firstStart!.id],
      ["resume", firstStart!.id],
    ]);
    const input = thirdStart!.input;
    expect(["remember the heron", "fish at dawn", "and now?"].map((words) => input.includes(words))).toEqual([false, true, true]);
    expect(await skein.leaks()).toEqual([]);
  });

  test("a CLI whose native session is gone starts a new one with a brief, and a warning reports it", async () => {
    using skein = withCanaries(homeWithFakeClis([agent]));
    const first = await runTurn(skein, ["remember the heron", "-a", agent]);
    for await (const folder of new Bun.Glob("**/fake-sessions").scan({ cwd: skein.root, onlyFiles: false, absolute: true, dot: true }))
      rmSync(folder, { recursive: true });
    const second = await runTurn(skein, ["what was it? fake:good", "--resume", first.result.session_id]);
    expect({ code: second.code, answer: second.result.result, nodes: second.nodes[0] }).toEqual({
      code: 0,
      answer: fakeAnswer,
      nodes: "user: what was it? fake:good",
    });
    expect(second.warnings.join()).toMatch(/starts a new one with a brief/);
    const starts = skein.started();
    expect(starts.map(({ how }) => how)).toEqual(["new", "resume", "new"]);
    expect(["remember the heron", fakeAnswer, "what was it?"].map((words) => starts[2]!.input.includes(words))).toEqual([true, true, true]);
    expect(await skein.leaks()).toEqual([]);
  });

  test("the CLI gets the whole conversation again if the failed turn had started another native session", async () => {
    using skein = withCanaries(homeWithFakeClis([agent]));
    const first = await runTurn(skein, ["remember the heron", "-a", agent]);
    await runTurn(skein, ["fish at dawn fake:fails-elsewhere", "--resume", first.result.session_id]);
    const third = await runTurn(skein, ["and now? fake:good", "--resume", first.result.session_id]);
    expect({ code: third.code, status: third.result.status }).toEqual({ code: 0, status: "ok" });
    const input = skein.started().at(-1)!.input;
    expect(["remember the heron", "fish at dawn", "and now?"].map((words) => input.includes(words))).toEqual([true, true, true]);
    expect(await skein.leaks()).toEqual([]);
  });

  test("each result and the first text are shown as soon as the CLI prints them", async () => {
    using skein = withCanaries(homeWithFakeClis([agent]));
    const id = Bun.randomUUIDv7();
    const child = skein.start([
      "run",
      "do it fake:stepwise",
      "-a",
      agent,
      "--session-id",
      id,
      "--output-format",
      "events",
      "--timeout",
      "60s",
    ]);
    const decoder = new TextDecoder();
    let [text, steps] = ["", 0];
    for await (const chunk of child.stdout) {
      text += decoder.decode(chunk, { stream: true });
      const stepsSoFar = text.split("\n").filter((line) => /^\{"type":"text\.delta"|"author":"tool"/.test(line)).length;
      for (; steps < stepsSoFar; steps += 1) await Bun.write(join(skein.project, `seen-${id}-${steps + 1}`), "");
    }
    expect(await child.exited).toBe(0);
    expect([steps, canaryPattern.test(text)]).toEqual([4, false]);
    expect(await skein.leaks()).toEqual([]);
  });

  test("the native agent can continue a session whose CLI was killed in mid-call", async () => {
    const server = startModelServer({ steps: [], final: "I take it up." });
    using skein = withCanaries(homeWithFakeClis([agent], vendorEnv(server.url)));
    try {
      const { result } = await runTurn(skein, ["do it fake:dies-calling", "-a", agent]);
      expect(result.status).toBe("killed");
      const next = await runTurn(skein, ["go on", "-a", "native", "-m", wireModels.anthropic, "--resume", result.session_id]);
      expect({ code: next.code, answer: next.result.result }).toEqual({ code: 0, answer: "I take it up." });
      const requestText = server.main()[0]!.text;
      const ids = (pattern: RegExp) => [...requestText.matchAll(pattern)].map(([, id]) => id);
      expect(ids(/"tool_use","id":"([^"]+)"/g)).toHaveLength(1);
      expect(ids(/"tool_use_id":"([^"]+)"/g)).toEqual(ids(/"tool_use","id":"([^"]+)"/g));
      expect(server.requests.filter(({ text }) => canaryPattern.test(text))).toEqual([]);
      expect(await skein.leaks()).toEqual([]);
    } finally {
      await server.stop();
    }
  });

  test("a prompt that would be too long for an argument once it is quoted arrives complete", async () => {
    using skein = withCanaries(homeWithFakeClis([agent]));
    const prompt = `${'"\n'.repeat(45_000)}fake:good`;
    const { code, result } = await runTurn(skein, [prompt, "-a", agent]);
    expect({ code, error: result.error }).toEqual({ code: 0, error: undefined });
    expect(skein.started()[0]?.input).toContain(prompt);
    expect(await skein.leaks()).toEqual([]);
  });

  test("a missing CLI ends the run with exit code 3 and an install command", async () => {
    using skein = withCanaries(homeWithFakeClis([]));
    const ran = await skein.run(["run", "do it", "-a", agent, "--output-format", "json"], { env: { PATH: "/usr/bin:/bin" } });
    expect(ran.code).toBe(3);
    expect(`${ran.out}${ran.err}`).toMatch(/is not installed[^]*npm install -g/);
    expect(await skein.leaks()).toEqual([]);
  });
});

test.each(["one-object", "one-array"])("Claude's JSON is read when it is printed as %s", async (word) => {
  using skein = withCanaries(homeWithFakeClis(["claude"]));
  const { code, result } = await runTurn(skein, [`do it fake:${word}`, "-a", "claude"]);
  expect({ code, answer: result.result }).toEqual({ code: 0, answer: fakeAnswer });
  expect(await skein.leaks()).toEqual([]);
});

test("earlier turns that a resumed Codex prints again are stored once", async () => {
  using skein = withCanaries(homeWithFakeClis(["codex"]));
  const first = await runTurn(skein, ["do it", "-a", "codex"]);
  const second = await runTurn(skein, ["once more fake:replays", "--resume", first.result.session_id]);
  expect({ nodes: second.nodes, answer: second.result.result }).toEqual({
    nodes: ["user: once more fake:replays", "agent: Only this."],
    answer: "Only this.",
  });
  expect(await skein.leaks()).toEqual([]);
});

test("a silent CLI does not count as stalled while its vendor sends an answer", async () => {
  const server = startModelServer(
    { steps: [], final: "A long answer, word by word, of which the CLI shows nothing." },
    { chunkDelayMs: 700 },
  );
  using skein = withCanaries(homeWithFakeClis(["claude"], vendorEnv(server.url)));
  try {
    const { code, result } = await runTurn(skein, ["do it fake:thinks", "-a", "claude"], { SKEIN_IDLE_TIMEOUT: "6s" });
    expect({ code, error: result.error, requests: server.main().length }).toEqual({ code: 0, error: undefined, requests: 1 });
    expect(result.duration_ms).toBeGreaterThan(6000);
    expect(await skein.leaks()).toEqual([]);
  } finally {
    await server.stop();
  }
});

test.each(["landlock", "none"])("daemons of a CLI end with the turn also without a process namespace (%s)", async (best) => {
  using skein = withCanaries(homeWithFakeClis(["claude"], { SKEIN_SANDBOX_BEST: best }));
  const ran = await skein.run(["run", "do it fake:daemon", "-a", "claude", "--output-format", "json"]);
  expect(ran.json()).toMatchObject({ status: "ok", enforced: { tier: best, processes: false } });
  expect(await waitForNoProcesses(skein.root)).toEqual([]);
  expect(await skein.leaks()).toEqual([]);
});

test("no argument list of any process in these tests contained a key", () => {
  expect(watch.lists().some((list) => list.includes("fake-cli.ts"))).toBe(true);
  expect(watch.lists().filter((list) => canaryPattern.test(list))).toEqual([]);
});
