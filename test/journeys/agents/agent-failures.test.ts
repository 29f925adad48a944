// Every way in which an agent's CLI fails, played by fakes (test/fixtures/bin) that go first in PATH: each turn ends as its
// kind, keeps what there was, leaves nothing running and no key behind, and the next turn of the session works.
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
const said = "All three were said.";

async function turn(skein: FakeCliHome, args: string[], env: Record<string, string> = {}) {
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

type Turned = Awaited<ReturnType<typeof turn>>;

function nodesIn(events: { type: string; node?: { author: string; parts: { kind: string; text?: string }[] } }[]): string[] {
  return events.flatMap(({ type, node }) =>
    type === "node.added" && node !== undefined ? [`${node.author}: ${node.parts.map(({ kind, text }) => text ?? kind).join(" + ")}`] : [],
  );
}

type Row = {
  /** What the fake plays. */
  word: string;
  title: string;
  status: string;
  code: number;
  message?: RegExp;
  /** What is left of the answer. */
  answer?: string;
  args?: string[];
  env?: Record<string, string>;
};

/** Five begin at the same time: each must have come half-way by then. */
const idle = { SKEIN_IDLE_TIMEOUT: "8s" };

const rows: Row[] = [
  { word: "garbage", title: "only garbage on stdout is broken", status: "broken", code: 1, message: /nothing that skein can read/ },
  { word: "long-line", title: "a line of 100 MB and nothing else is broken", status: "broken", code: 1, message: /can read/ },
  { word: "long-line-first", title: "a line of 100 MB before a good turn is passed over", status: "ok", code: 0, answer: said },
  { word: "error-inside", title: "exit 0 with an error inside is that error", status: "auth", code: 4, message: /key/i },
  { word: "empty", title: "exit 0 with nothing on stdout is broken", status: "broken", code: 1, message: /without output/ },
  { word: "exit-1", title: "exit 1 after a good answer is ok", status: "ok", code: 0, answer: said },
  { word: "loud", title: "10 MB on stderr before the first byte of stdout hold up nothing", status: "ok", code: 0, answer: said },
  { word: "reads-stdin", title: "whoever reads stdin sees its end at once", status: "ok", code: 0, answer: said },
  { word: "flood", title: "a flood ends at the time limit", status: "timed-out", code: 124, args: ["--timeout", "4s"] },
  { word: "silent", title: "silence from the start is stalled", status: "stalled", code: 124, env: idle },
  { word: "hangs", title: "silence half-way is stalled, and what was said is kept", status: "stalled", code: 124, answer: said, env: idle },
  {
    word: "hangs",
    title: "the time limit ends it half-way, and what was said is kept",
    status: "timed-out",
    code: 124,
    answer: said,
    args: ["--timeout", "10s"],
  },
  {
    word: "deaf",
    title: "one that ignores every signal but the last is ended at its limit",
    status: "stalled",
    code: 124,
    answer: said,
    env: idle,
  },
  {
    word: "quits",
    title: "an end half-way with exit 1 is broken, and what was said is kept",
    status: "broken",
    code: 1,
    message: /exit code 1/,
    answer: said,
  },
  {
    word: "dies",
    title: "a kill from outside is killed, and what was said is kept",
    status: "killed",
    code: 1,
    message: /SIGKILL/,
    answer: said,
  },
  { word: "torn", title: "half a line at the end is broken, and what was said is kept", status: "broken", code: 1, answer: said },
  { word: "daemon", title: "daemons that it leaves behind end with the turn", status: "ok", code: 0, answer: said },
];

describe("an agent's CLI", () => {
  test.each(rows.map((row) => [row.title, row] as const))("%s", async (_, row) => {
    await Promise.all(agents.map((agent) => failAndGoOn(agent, row)));
  });

  async function failAndGoOn(agent: string, row: Row): Promise<void> {
    using skein = withCanaries(homeWithFakeClis([agent]));
    const first = await turn(skein, [`do it fake:${row.word}`, "-a", agent, ...(row.args ?? [])], row.env);
    expectEnd(agent, first, row);
    expect(await waitForNoProcesses(skein.root)).toEqual([]);
    if (!row.word.startsWith("long-line") && row.word !== "flood") expectLogs(agent, first);
    const next = await turn(skein, ["go on fake:good", "--resume", first.result.session_id]);
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

function expectEnd(agent: string, { code, err, result, nodes }: Turned, row: Row): void {
  expect({ agent, code, status: result.status, kind: result.error?.kind ?? "ok", answer: result.result, err }).toEqual({
    agent,
    code: row.code,
    status: row.status,
    kind: row.status,
    answer: row.answer ?? "",
    err: "",
  } as never);
  if (row.message !== undefined) expect(result.error?.message).toMatch(row.message);
  if (row.status !== "ok") expect(result.error?.hint ?? "").not.toBe("");
  // Three calls, each answered, and the words that came after them.
  if (row.answer !== undefined)
    expect({ agent, nodes: nodes.map((node) => node.split(":", 1)[0]) }).toEqual({
      agent,
      nodes: ["user", "agent", "tool", "agent", "tool", "agent", "tool", "agent"],
    });
}

function expectLogs(agent: string, { result }: Turned): void {
  const base = (result.transcript_path as string).replace(/\.jsonl$/, `.${agent}`);
  expect(readFileSync(`${base}.stdout.log`).length + readFileSync(`${base}.stderr.log`).length).toBeGreaterThanOrEqual(
    result.result === "" ? 0 : 100,
  );
}

describe.each(agents)("%s", (agent) => {
  test("goes on in its last good session after a turn that failed, and is told what it may have missed", async () => {
    using skein = withCanaries(homeWithFakeClis([agent]));
    const first = await turn(skein, ["remember the heron", "-a", agent]);
    const second = await turn(skein, ["fish at dawn fake:fails", "--resume", first.result.session_id]);
    const third = await turn(skein, ["and now? fake:good", "--resume", first.result.session_id]);
    expect([first, second, third].map(({ code, result }) => [code, result.status])).toEqual([
      [0, "ok"],
      [5, "overloaded"],
      [0, "ok"],
    ]);
    const [one, two, three] = skein.started();
    expect([two, three].map((start) => [start?.how, start?.from])).toEqual([
      ["resume", one!.id],
      ["resume", one!.id],
    ]);
    const told = three!.told;
    expect(["remember the heron", "fish at dawn", "and now?"].map((words) => told.includes(words))).toEqual([false, true, true]);
    expect(await skein.leaks()).toEqual([]);
  });

  test("begins anew with a brief, and says so, when its own session is gone", async () => {
    using skein = withCanaries(homeWithFakeClis([agent]));
    const first = await turn(skein, ["remember the heron", "-a", agent]);
    for await (const folder of new Bun.Glob("**/fake-sessions").scan({ cwd: skein.root, onlyFiles: false, absolute: true, dot: true }))
      rmSync(folder, { recursive: true });
    const second = await turn(skein, ["what was it? fake:good", "--resume", first.result.session_id]);
    expect({ code: second.code, answer: second.result.result, nodes: second.nodes[0] }).toEqual({
      code: 0,
      answer: said,
      nodes: "user: what was it? fake:good",
    });
    expect(second.warnings.join()).toMatch(/starts a new one with a brief/);
    const starts = skein.started();
    expect(starts.map(({ how }) => how)).toEqual(["new", "resume", "new"]);
    expect(["remember the heron", said, "what was it?"].map((words) => starts[2]!.told.includes(words))).toEqual([true, true, true]);
    expect(await skein.leaks()).toEqual([]);
  });

  test("tells everything again when the turn that failed had begun another session", async () => {
    using skein = withCanaries(homeWithFakeClis([agent]));
    const first = await turn(skein, ["remember the heron", "-a", agent]);
    await turn(skein, ["fish at dawn fake:fails-elsewhere", "--resume", first.result.session_id]);
    const third = await turn(skein, ["and now? fake:good", "--resume", first.result.session_id]);
    expect({ code: third.code, status: third.result.status }).toEqual({ code: 0, status: "ok" });
    const told = skein.started().at(-1)!.told;
    expect(["remember the heron", "fish at dawn", "and now?"].map((words) => told.includes(words))).toEqual([true, true, true]);
    expect(await skein.leaks()).toEqual([]);
  });

  test("is shown as it prints: each result and the first words before what follows them", async () => {
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
      const seen = text.split("\n").filter((line) => /^\{"type":"text\.delta"|"author":"tool"/.test(line)).length;
      for (; steps < seen; steps += 1) await Bun.write(join(skein.project, `seen-${id}-${steps + 1}`), "");
    }
    expect(await child.exited).toBe(0);
    expect([steps, canaryPattern.test(text)]).toEqual([4, false]);
    expect(await skein.leaks()).toEqual([]);
  });

  test("killed in mid-call leaves a session that the native agent can take up", async () => {
    const server = startModelServer({ steps: [], final: "I take it up." });
    using skein = withCanaries(homeWithFakeClis([agent], vendorEnv(server.url)));
    try {
      const { result } = await turn(skein, ["do it fake:dies-calling", "-a", agent]);
      expect(result.status).toBe("killed");
      const next = await turn(skein, ["go on", "-a", "native", "-m", wireModels.anthropic, "--resume", result.session_id]);
      expect({ code: next.code, answer: next.result.result }).toEqual({ code: 0, answer: "I take it up." });
      const asked = server.main()[0]!.text;
      const ids = (pattern: RegExp) => [...asked.matchAll(pattern)].map(([, id]) => id);
      expect(ids(/"tool_use","id":"([^"]+)"/g)).toHaveLength(1);
      expect(ids(/"tool_use_id":"([^"]+)"/g)).toEqual(ids(/"tool_use","id":"([^"]+)"/g));
      expect(server.requests.filter(({ text }) => canaryPattern.test(text))).toEqual([]);
      expect(await skein.leaks()).toEqual([]);
    } finally {
      await server.stop();
    }
  });

  test("gets a prompt whole that would be too long for an argument once it is quoted", async () => {
    using skein = withCanaries(homeWithFakeClis([agent]));
    const prompt = `${'"\n'.repeat(45_000)}fake:good`;
    const { code, result } = await turn(skein, [prompt, "-a", agent]);
    expect({ code, error: result.error }).toEqual({ code: 0, error: undefined });
    expect(skein.started()[0]?.told).toContain(prompt);
    expect(await skein.leaks()).toEqual([]);
  });

  test("that is not installed ends with 3 and says how to install it", async () => {
    using skein = withCanaries(homeWithFakeClis([]));
    const ran = await skein.run(["run", "do it", "-a", agent, "--output-format", "json"], { env: { PATH: "/usr/bin:/bin" } });
    expect(ran.code).toBe(3);
    expect(`${ran.out}${ran.err}`).toMatch(/is not installed[^]*npm install -g/);
    expect(await skein.leaks()).toEqual([]);
  });
});

test.each(["one-object", "one-array"])("Claude's JSON is read when it comes as %s", async (word) => {
  using skein = withCanaries(homeWithFakeClis(["claude"]));
  const { code, result } = await turn(skein, [`do it fake:${word}`, "-a", "claude"]);
  expect({ code, answer: result.result }).toEqual({ code: 0, answer: said });
  expect(await skein.leaks()).toEqual([]);
});

test("earlier turns that a resumed Codex prints again are stored once", async () => {
  using skein = withCanaries(homeWithFakeClis(["codex"]));
  const first = await turn(skein, ["do it", "-a", "codex"]);
  const second = await turn(skein, ["once more fake:replays", "--resume", first.result.session_id]);
  expect({ nodes: second.nodes, answer: second.result.result }).toEqual({
    nodes: ["user: once more fake:replays", "agent: Only this."],
    answer: "Only this.",
  });
  expect(await skein.leaks()).toEqual([]);
});

test("silence while its vendor answers is no stall", async () => {
  const server = startModelServer(
    { steps: [], final: "A long answer, word by word, of which the CLI shows nothing." },
    { chunkDelayMs: 700 },
  );
  using skein = withCanaries(homeWithFakeClis(["claude"], vendorEnv(server.url)));
  try {
    const { code, result } = await turn(skein, ["do it fake:thinks", "-a", "claude"], { SKEIN_IDLE_TIMEOUT: "6s" });
    expect({ code, error: result.error, asked: server.main().length }).toEqual({ code: 0, error: undefined, asked: 1 });
    expect(result.duration_ms).toBeGreaterThan(6000);
    expect(await skein.leaks()).toEqual([]);
  } finally {
    await server.stop();
  }
});

test.each(["landlock", "none"])("its daemons end with the turn also where there is no namespace of processes (%s)", async (best) => {
  using skein = withCanaries(homeWithFakeClis(["claude"], { SKEIN_SANDBOX_BEST: best }));
  const ran = await skein.run(["run", "do it fake:daemon", "-a", "claude", "--output-format", "json"]);
  expect(ran.json()).toMatchObject({ status: "ok", enforced: { tier: best, processes: false } });
  expect(await waitForNoProcesses(skein.root)).toEqual([]);
  expect(await skein.leaks()).toEqual([]);
});

test("afterwards no argument list has held a key", () => {
  expect(watch.lists().some((list) => list.includes("fake-cli.ts"))).toBe(true);
  expect(watch.lists().filter((list) => canaryPattern.test(list))).toEqual([]);
});
