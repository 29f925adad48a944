// Runs many processes on one store. All must finish, sessions must not mix, and a session has one writer at a time.
import { expect, test } from "bun:test";
import { readFileSync, truncateSync } from "node:fs";
import { result, transcriptHeader, transcriptLine } from "../../src/protocol/fixtures/printed-schemas.ts";
import { readEvents } from "../support/read-events.ts";
import { startModelServer } from "../../src/scripted-model/model-server.ts";
import { shellScript } from "../../src/scripted-model/script.ts";
import { temporaryHome, vendorEnv, wireModels, type TemporaryHome } from "../support/temporary-home.ts";

const model = wireModels.anthropic;
const writers = 20;
const callsEach = 5;

type Role = ReturnType<typeof transcriptLine.parse>["role"];

test("twenty runs at once on one new store all finish, and every transcript is complete", async () => {
  const server = startModelServer(({ position }) => ({
    steps: Array.from({ length: callsEach }, (_, index) => ({
      text: `step ${index}`,
      thinking: "hm",
      calls: [{ input: { command: `echo ${position.prompt} ${index}` } }],
    })),
    final: `finished ${position.prompt}`,
  }));
  using skein = temporaryHome(vendorEnv(server.url));
  try {
    const tasks = Array.from({ length: writers }, (_, index) => `writer-${index}`);
    const runs = await Promise.all(tasks.map((task) => skein.run(["run", task, "-m", model, "--json"])));
    expect(runs.map((ran) => ({ code: ran.code, err: ran.code === 0 ? "" : ran.err }))).toEqual(runs.map(() => ({ code: 0, err: "" })));
    const results = runs.map((ran) => result.parse(ran.json()));
    expect(results.map((record) => record.result)).toEqual(tasks.map((task) => `finished ${task}`));
    expect(new Set(results.map((record) => record.transcript_path)).size).toBe(writers);
    for (const [index, record] of results.entries())
      checkTranscript(record.transcript_path as string, record.session_id, tasks[index] as string);
    const nodes = writers * (2 + 2 * callsEach);
    await checkVerified(skein, { sessions: writers, turns: writers, transcripts: writers, nodes });
  } finally {
    await server.stop();
  }
});

/** Expects one line per part: the prompt; thinking, text, call and result of each step; and the answer. */
function checkTranscript(path: string, session: string, task: string): void {
  const [header, ...lines] = readFileSync(path, "utf8").trimEnd().split("\n");
  expect(transcriptHeader.parse(JSON.parse(header as string))).toMatchObject({ session_id: session, task, is_sub_session: false });
  const parts = lines.map((line) => transcriptLine.parse(JSON.parse(line)));
  const step: Role[] = ["thinking", "assistant", "tool_call", "tool_result"];
  expect(parts.map((line) => line.role)).toEqual([
    "user",
    ...Array.from({ length: callsEach }, () => step).flat(),
    "assistant",
  ] satisfies Role[]);
  expect(parts.flatMap((line) => (line.role === "tool_result" ? [line.content] : []))).toEqual(
    Array.from({ length: callsEach }, (_, index) => `${task} ${index}`),
  );
  const ids = [...new Set(parts.map((line) => line.id))];
  expect(parts.map((line) => line.parent_id)).toEqual(parts.map((line) => ids[ids.indexOf(line.id) - 1] ?? null));
  expect(new Set(parts.map((line) => `${line.id} ${line.part}`)).size).toBe(parts.length);
}

test("runs that create the same named session at once share one session, and only one of them writes at a time", async () => {
  const server = startModelServer(shellScript(["sleep 1"], "slept"));
  using skein = temporaryHome(vendorEnv(server.url));
  try {
    const runs = await Promise.all(Array.from({ length: 6 }, () => skein.run(["run", "sleep", "-m", model, "--session", "one", "--json"])));
    const winners = runs.filter((ran) => ran.code === 0);
    expect(winners.length).toBeGreaterThan(0);
    for (const ran of runs.filter((candidate) => candidate.code !== 0)) {
      expect({ code: ran.code, out: ran.out, err: ran.err }).toEqual({
        code: 1,
        out: "",
        err: expect.stringMatching(/^skein: session one is in use by process \d+ since \S+\n +run it afterwards with --queue.*\n$/),
      });
    }
    expect(new Set(winners.map((ran) => ran.json()["session_id"])).size).toBe(1);
    await checkVerified(skein, { sessions: 1, turns: winners.length });
  } finally {
    await server.stop();
  }
});

test("a second run on a session names the process that uses it, and the first run continues undisturbed", async () => {
  const server = startModelServer(shellScript(["echo held; while [ ! -e let-go ]; do sleep 0.05; done"], "let go"));
  using skein = temporaryHome(vendorEnv(server.url));
  try {
    const first = readEvents(skein.start(["run", "hold it", "-m", model, "--session", "held", "--output-format", "events"]));
    const id = (await first.until((event) => event.type === "tool.output"))?.session_id as string;
    for (const flags of [["--session", "held"], ["--resume", id], ["--continue"]]) {
      const second = await skein.run(["run", "me too", "-m", model, ...flags, "--json"]);
      expect({ code: second.code, out: second.out }).toEqual({ code: 1, out: "" });
      expect(second.err).toStartWith(`skein: session held is in use by process ${first.child.pid} since `);
    }
    await Bun.write(`${skein.project}/let-go`, "");
    expect((await first.ended).code).toBe(0);
    expect(first.printed.at(-1)).toMatchObject({ type: "result", status: "ok", result: "let go" });
    const third = await skein.run(["run", "now me", "-m", model, "--session", "held", "--json"]);
    expect(third.json()).toMatchObject({ status: "ok", session_id: id });
    await checkVerified(skein, { sessions: 1, turns: 2 });
  } finally {
    await server.stop();
  }
});

test("an incomplete last line of a transcript is tolerated, and repaired by the next turn", async () => {
  const server = startModelServer(({ position }) => shellScript([`echo ${position.prompt}`], `answer to ${position.prompt} with é and 🧵`));
  using skein = temporaryHome(vendorEnv(server.url));
  try {
    const first = (await skein.run(["run", "first", "-m", model, "--session", "torn", "--json"])).json();
    const path = String(first["transcript_path"]);
    const original = readFileSync(path);
    // Cuts the file in the middle of the last line, inside a multi-byte character.
    truncateSync(path, original.lastIndexOf("🧵") + 2);
    await checkVerified(skein, { sessions: 1 });
    const second = await skein.run(["run", "second", "-m", model, "--session", "torn", "--json"]);
    expect(second.json()).toMatchObject({ status: "ok", transcript_path: path });
    const repaired = readFileSync(path);
    expect(repaired.subarray(0, original.length).equals(original)).toBe(true);
    const [header, ...lines] = repaired.toString("utf8").trimEnd().split("\n");
    transcriptHeader.parse(JSON.parse(header as string));
    const roles: Role[] = ["user", "tool_call", "tool_result", "assistant"];
    expect(lines.map((line) => transcriptLine.parse(JSON.parse(line)).role)).toEqual([...roles, ...roles]);
    await checkVerified(skein, { sessions: 1, turns: 2 });
  } finally {
    await server.stop();
  }
});

test("a transcript that was cut in its header, or deleted, is written again from the store", async () => {
  const server = startModelServer(({ position }) => shellScript([], `answer to ${position.prompt}`));
  using skein = temporaryHome(vendorEnv(server.url));
  try {
    const first = (await skein.run(["run", "first", "-m", model, "--session", "cut", "--json"])).json();
    const path = String(first["transcript_path"]);
    const original = readFileSync(path, "utf8");
    truncateSync(path, 10);
    const damaged = await skein.run(["verify", "--json"]);
    expect({ code: damaged.code, ok: damaged.json()["ok"] }).toEqual({ code: 1, ok: false });
    await skein.run(["run", "second", "-m", model, "--session", "cut", "--json"]);
    expect(readFileSync(path, "utf8")).toStartWith(original);
    await Bun.file(path).delete();
    const third = await skein.run(["run", "third", "-m", model, "--session", "cut", "--json"]);
    expect(readFileSync(String(third.json()["transcript_path"]), "utf8")).toStartWith(original);
    await checkVerified(skein, { sessions: 1, turns: 3 });
  } finally {
    await server.stop();
  }
});

async function checkVerified(skein: TemporaryHome, counts: Record<string, number>): Promise<void> {
  const verified = await skein.run(["verify", "--json"]);
  expect({ code: verified.code, ...verified.json() }).toMatchObject({ code: 0, ok: true, problems: [], ...counts });
}
