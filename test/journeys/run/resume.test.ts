// Continues sessions by name, by id and as the latest one, and stops turns by signals, limits and full disks.
import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { result, transcriptHeader } from "../../../src/protocol/fixtures/printed-schemas.ts";
import { readEvents, type EventReader } from "../../support/read-events.ts";
import { startModelServer, type RecordedRequest, type ScriptSource } from "../../../src/scripted-model/model-server.ts";
import { shellScript } from "../../../src/scripted-model/script.ts";
import { inOwnMounts } from "../../support/mounts.ts";
import { waitForNoProcesses } from "../../support/processes.ts";
import { temporaryHome, vendorEnv, wireModels, type TemporaryHome } from "../../support/temporary-home.ts";

const model = wireModels.anthropic;
const echo: ScriptSource = ({ position }) => ({ steps: [], final: `heard ${position.prompt}` });
const server = startModelServer(echo, { chunkDelayMs: 0 });
afterAll(() => server.stop());
beforeEach(() => {
  server.setScript(echo);
  server.setFault(null);
  server.clear();
});

async function runTurn(skein: TemporaryHome, args: string[], env: Record<string, string> = {}) {
  const done = await skein.run(["run", "-m", model, "--json", ...args], { env });
  return { code: done.code, err: done.err, record: done.out === "" ? null : result.parse(done.json()) };
}

function lastRequest(): RecordedRequest {
  return server.main().at(-1) as RecordedRequest;
}

describe("which session", () => {
  test("--session creates a session by name, and it can be continued by name, id and end of id", async () => {
    using skein = temporaryHome(vendorEnv(server.url));
    const first = await runTurn(skein, ["one", "--session", "mine"]);
    expect(first.record).toMatchObject({ status: "ok", result: "heard one" });
    const id = first.record?.session_id as string;
    for (const [index, idOrName] of ["mine", id, id.slice(-8)].entries()) {
      const next = await runTurn(skein, [`more ${index}`, index === 0 ? "--session" : "--resume", idOrName]);
      expect(next.record).toMatchObject({ status: "ok", session_id: id, transcript_path: first.record?.transcript_path as string });
    }
    expect(lastRequest().text).toContain("heard one");
    expect(lastRequest().text).toContain("heard more 1");
  });

  test("--continue uses the project's latest session, and none of another project", async () => {
    using skein = temporaryHome(vendorEnv(server.url));
    await runTurn(skein, ["older"]);
    const latest = await runTurn(skein, ["newer"]);
    const next = await runTurn(skein, ["and on", "--continue"]);
    expect(next.record?.session_id).toBe(latest.record?.session_id as string);
    expect(lastRequest().text).toContain("heard newer");
    expect(lastRequest().text).not.toContain("older");
    const elsewhere = await skein.run(["run", "and on", "-c"], { cwd: skein.home });
    expect({ code: elsewhere.code, out: elsewhere.out }).toEqual({ code: 2, out: "" });
    expect(elsewhere.err).toMatch(/^skein: no session in .* to continue\n/);
  });

  test("--resume of an unknown session is refused, with and without a store", async () => {
    using skein = temporaryHome(vendorEnv(server.url));
    const withoutStore = await runTurn(skein, ["--resume", "nobody"]);
    await runTurn(skein, ["one", "--session", "known"]);
    const withStore = await runTurn(skein, ["--resume", "nobody"]);
    for (const { code, err, record } of [withoutStore, withStore]) {
      expect({ code, record }).toEqual({ code: 2, record: null });
      expect(err).toMatch(/^skein: .*session.*"?nobody"?/i);
    }
    expect(server.main()).toHaveLength(1);
  });

  test("--resume without a task after a finished turn is refused and changes nothing", async () => {
    using skein = temporaryHome(vendorEnv(server.url));
    const first = await runTurn(skein, ["one", "--session", "done"]);
    const before = readFileSync(first.record?.transcript_path as string, "utf8");
    const { code, err, record } = await runTurn(skein, ["--resume", "done"]);
    expect({ code, record }).toEqual({ code: 2, record: null });
    expect(err).toStartWith("skein: there is no interrupted turn to continue\n");
    expect(readFileSync(first.record?.transcript_path as string, "utf8")).toBe(before);
  });

  test("--fresh continues the session without the earlier conversation in the request", async () => {
    using skein = temporaryHome(vendorEnv(server.url));
    const first = await runTurn(skein, ["one", "--session", "long"]);
    const fresh = await runTurn(skein, ["two", "--session", "long", "--fresh"]);
    expect(fresh.record?.session_id).toBe(first.record?.session_id as string);
    expect(lastRequest().text).not.toContain("heard one");
    await runTurn(skein, ["three", "--session", "long"]);
    expect(lastRequest().text).toContain("heard two");
    expect(await runTurn(skein, ["--resume", "long", "--fresh"])).toMatchObject({ code: 2, record: null });
  });

  test("--session-id sets the id of a new session, and can't be used twice", async () => {
    using skein = temporaryHome(vendorEnv(server.url));
    const id = Bun.randomUUIDv7();
    expect((await runTurn(skein, ["one", "--session-id", id])).record?.session_id).toBe(id);
    const again = await runTurn(skein, ["two", "--session-id", id]);
    expect({ code: again.code, record: again.record }).toEqual({ code: 2, record: null });
    expect(again.err).toContain(id);
    expect((await runTurn(skein, ["two", "--session-id", "no-uuid"])).code).toBe(2);
  });

  test("--parent-session links the new session to its parent in the result and in the transcript", async () => {
    using skein = temporaryHome(vendorEnv(server.url));
    const parent = (await runTurn(skein, ["one", "--session", "parent"])).record?.session_id as string;
    const child = (await runTurn(skein, ["two", "--parent-session", "parent"])).record;
    expect(child?.parent_session_id).toBe(parent);
    const [header] = readFileSync(child?.transcript_path as string, "utf8").split("\n");
    expect(transcriptHeader.parse(JSON.parse(header as string))).toMatchObject({ parent_session_id: parent, is_sub_session: true });
    const orphan = await runTurn(skein, ["three", "--parent-session", "nobody"]);
    expect({ code: orphan.code, record: orphan.record }).toEqual({ code: 2, record: null });
  });
});

describe("stopped by a signal", () => {
  const sleepScript = shellScript(["echo begun; setsid sleep 60 & sleep 60", "echo never"], "ended");
  const startSleeping = async (skein: TemporaryHome): Promise<EventReader> => {
    server.setScript(sleepScript);
    const run = readEvents(skein.start(["run", "sleep", "-m", model, "--session", "night", "--output-format", "events"]));
    expect(await run.until((event) => event.type === "tool.output")).not.toBeNull();
    return run;
  };

  for (const [signal, code] of [
    ["SIGINT", 130],
    ["SIGTERM", 143],
  ] as const) {
    test(`${signal} stops the turn, stores its partial result, exits with ${code}, and the turn can be resumed`, async () => {
      using skein = temporaryHome(vendorEnv(server.url));
      const run = await startSleeping(skein);
      run.child.kill(signal);
      expect((await run.ended).code).toBe(code);
      expect(run.printed.at(-1)).toMatchObject({ type: "result", status: "cancelled", error: { kind: "cancelled" } });
      const results = run.printed.flatMap((event) => event.node?.parts.filter((part) => part.kind === "result") ?? []);
      expect(results).toMatchObject([{ is_error: true, text: expect.stringMatching(/^begun\ncancelled/) }]);
      expect(await waitForNoProcesses(skein.root)).toEqual([]);
      server.setScript(echo);
      expect(await runTurn(skein, ["--resume", "night"])).toMatchObject({ code: 0, record: { status: "ok", result: "heard sleep" } });
      expect(lastRequest().text).toContain("cancelled; all its processes were stopped");
    });
  }

  test("a SIGINT during startup always ends the run with exit code 130", async () => {
    using skein = temporaryHome(vendorEnv(server.url));
    server.setScript(shellScript(["sleep 60"], "ended"));
    for (let ms = 10; ms <= 100; ms += 10) {
      const run = readEvents(skein.start(["run", "sleep", "-m", model, "--output-format", "events"]));
      await Bun.sleep(ms);
      run.child.kill("SIGINT");
      expect((await run.ended).code).toBe(130);
    }
    expect(await waitForNoProcesses(skein.root)).toEqual([]);
    await checkVerified(skein);
  });

  test("a second SIGINT ends skein at once, and no tool process remains", async () => {
    using skein = temporaryHome(vendorEnv(server.url));
    server.setScript(shellScript(["trap '' INT TERM; echo begun; setsid sleep 60 & sleep 60; sleep 60"], "ended"));
    const run = readEvents(skein.start(["run", "sleep", "-m", model, "--session", "night", "--output-format", "events"]));
    await run.until((event) => event.type === "tool.output");
    // Two signals that arrive before skein handles the first count as one, so more are sent.
    while (run.child.exitCode === null && run.child.signalCode === null) {
      run.child.kill("SIGINT");
      await Bun.sleep(50);
    }
    expect((await run.ended).code).toBe(130);
    expect(await waitForNoProcesses(skein.root)).toEqual([]);
    server.setScript(echo);
    expect(await runTurn(skein, ["--resume", "night"])).toMatchObject({ code: 0, record: { status: "ok" } });
    expect(lastRequest().text).toContain("Interrupted");
    await checkVerified(skein);
  });

  test("a partial answer that was interrupted is stored, and the resumed request does not end with it", async () => {
    using skein = temporaryHome(vendorEnv(server.url));
    server.setScript({ steps: [], final: "a long answer ".repeat(400) });
    server.setFault({ type: "slow", delayMs: 10 });
    const run = readEvents(skein.start(["run", "talk", "-m", model, "--session", "talk", "--output-format", "events"]));
    await run.until((event) => event.type === "text.delta");
    run.child.kill("SIGINT");
    expect((await run.ended).code).toBe(130);
    const printedText = run.printed.flatMap((event) => (event.type === "text.delta" ? [event.text] : [])).join("");
    expect(run.printed.at(-1)).toMatchObject({ status: "cancelled", result: printedText });
    server.setFault(null);
    server.setScript(echo);
    expect(await runTurn(skein, ["--resume", "talk"])).toMatchObject({ code: 0, record: { status: "ok" } });
    const { messages } = JSON.parse(lastRequest().text) as { messages: { role: string }[] };
    expect(messages.map((message) => message.role)).toEqual(["user", "assistant", "user"]);
    expect(lastRequest().text).toContain(printedText.trim());
  });
});

describe("stopped by a limit", () => {
  test("a server that falls silent ends the turn as stalled, with the partial answer", async () => {
    using skein = temporaryHome(vendorEnv(server.url));
    server.setScript({ steps: [], final: "half of this answer comes" });
    server.setFault({ type: "stall" });
    const stalled = await runTurn(skein, ["wait", "--session", "slow"], { SKEIN_IDLE_TIMEOUT: "3s" });
    expect(stalled).toMatchObject({ code: 124, record: { status: "stalled", error: { kind: "stalled" } } });
    expect("half of this answer comes").toStartWith(stalled.record?.result as string);
    server.setFault(null);
    expect(await runTurn(skein, ["--resume", "slow"])).toMatchObject({ code: 0, record: { status: "ok" } });
  });

  test("--timeout ends the turn as timed-out and stops its tools, and the turn can be resumed", async () => {
    using skein = temporaryHome(vendorEnv(server.url));
    server.setScript(shellScript(["echo begun; sleep 60 & sleep 60"], "ended"));
    const timedOut = await runTurn(skein, ["sleep", "--session", "late", "--timeout", "4"]);
    expect(timedOut).toMatchObject({ code: 124, record: { status: "timed-out", steps: 1, error: { kind: "timed-out" } } });
    expect(await waitForNoProcesses(skein.root)).toEqual([]);
    server.setScript(echo);
    expect(await runTurn(skein, ["--resume", "late"])).toMatchObject({ code: 0, record: { status: "ok" } });
    expect(lastRequest().text).toContain("begun");
  });

  const limits = [
    ["--max-steps", "2", "steps"],
    ["--max-tokens", "150", "tokens"],
    ["--max-budget-usd", "0.0005", "money"],
  ] as const;
  for (const [flag, value, limit] of limits) {
    test(`${flag} ends the turn as budget, names the limit, and stores the partial result`, async () => {
      using skein = temporaryHome(vendorEnv(server.url));
      const steps = Array.from({ length: 5 }, (_, index) => ({
        text: `part ${index}`,
        calls: [{ input: { command: `echo ${index}` } }],
        usage: { input: 80, output: 10 },
      }));
      server.setScript({ steps, final: "whole" });
      const stopped = await runTurn(skein, ["count", "--session", "dear", flag, value]);
      expect(stopped).toMatchObject({
        code: 7,
        record: { status: "budget", steps: 2, result: "part 1", error: { kind: "budget", limit } },
      });
      expect(stopped.record?.error?.hint).toContain(flag);
      expect(await runTurn(skein, ["--resume", "dear"])).toMatchObject({ code: 0, record: { status: "ok", result: "whole" } });
      expect(lastRequest().text).toContain("part 0");
    });
  }
});

test("a transcript that can't be written in the project goes to the data directory, with a warning", async () => {
  using skein = temporaryHome(vendorEnv(server.url));
  writeFileSync(join(skein.project, ".skein"), "in the way");
  const first = await runTurn(skein, ["one", "--session", "mine"]);
  const path = first.record?.transcript_path as string;
  expect(first).toMatchObject({ code: 0, record: { status: "ok" } });
  expect(path).toStartWith(join(skein.root, "skein", "data", "sessions"));
  expect(first.err).toContain(`the transcript is written to ${path}`);
  const next = await runTurn(skein, ["two", "--session", "mine"]);
  expect({ path: next.record?.transcript_path, err: next.err.includes("transcript") }).toEqual({ path, err: false });
  expect(readFileSync(path, "utf8").trimEnd().split("\n")).toHaveLength(5);
  expect(readFileSync(join(skein.project, ".skein"), "utf8")).toBe("in the way");
  await checkVerified(skein);
});

test("the complete transcript of a project that became read-only goes to the data directory", async () => {
  using skein = temporaryHome(vendorEnv(server.url));
  const before = (await runTurn(skein, ["one", "--session", "mine"])).record?.transcript_path as string;
  const readOnly = await inOwnMounts(
    skein,
    `mount --bind .skein .skein && mount -o remount,bind,ro .skein
     "$@" run two --session mine --json`,
  );
  expect({ code: readOnly.code, err: readOnly.err }).toEqual({
    code: 0,
    err: expect.stringMatching(/^skein: the transcript is written to \S+: .*read-only/i),
  });
  const path = result.parse(JSON.parse(readOnly.out)).transcript_path as string;
  expect(path).toStartWith(join(skein.root, "skein", "data", "sessions"));
  expect(readFileSync(path, "utf8").trimEnd().split("\n")).toHaveLength(5);
  expect(readFileSync(before, "utf8").trimEnd().split("\n")).toHaveLength(3);
  await checkVerified(skein);
});

const fillCommand = "head -c 15000 /dev/urandom | base64 -w 0";

describe("a full disk", () => {
  test("a full disk ends the run with one clear line, and the session can be resumed when there is space", async () => {
    using skein = temporaryHome(vendorEnv(server.url));
    server.setScript(
      shellScript(
        Array.from({ length: 12 }, () => fillCommand),
        "filled",
      ),
    );
    mkdirSync(join(skein.root, "skein"));
    const { out, err } = await inOwnMounts(
      skein,
      `set +e; mount -t tmpfs -o size=400k none "$SKEIN_HOME"
       "$@" run fill -m ${model} --session full --json; echo "run $?"
       "$@" run again -m ${model} --session full --json; echo "run $?"
       "$@" verify > /dev/null; echo "verify $?"
       mount -o remount,size=50m none "$SKEIN_HOME"
       "$@" verify > /dev/null; echo "verify $?"
       "$@" run --resume full --output-format text; echo "run $?"
       head -c 60m /dev/zero > "$SKEIN_HOME/full" 2> /dev/null
       "$@" run again -m ${model} --session full --json; echo "run $?"
       rm "$SKEIN_HOME/full"; "$@" verify > /dev/null; echo "verify $?"`,
    );
    expect(out.split("\n")).toEqual(["run 1", "run 1", "verify 0", "verify 0", "filled", "run 0", "run 1", "verify 0", ""]);
    const line = expect.stringMatching(/^skein: the disk is full: .* can't be written$/);
    const errorLines = err.split("\n").filter((text) => text.startsWith("skein: ") && !text.includes("are not recorded"));
    expect(errorLines).toEqual([line, line, line]);
    expect(err).not.toContain("    at ");
    // The disk can be full at any point of the turn. Every call must have a result.
    const { text } = lastRequest();
    expect(text.split('"type":"tool_use"').length).toBe(text.split('"type":"tool_result"').length);
    expect(text).toContain('"text":"fill"');
  });

  test("a disk without space for a store ends the run before any request", async () => {
    using skein = temporaryHome(vendorEnv(server.url));
    mkdirSync(join(skein.root, "skein"));
    const { out, err } = await inOwnMounts(
      skein,
      `set +e; mount -t tmpfs -o size=20k none "$SKEIN_HOME"
       "$@" run fill -m ${model} --json; echo "run $?"; ls .skein 2> /dev/null`,
    );
    expect({ out, err }).toEqual({ out: "run 1\n", err: expect.stringMatching(/^skein: the disk is full: .*\n +free some space.*\n$/) });
    expect(server.main()).toEqual([]);
  });

  test("a disk that is too small for an output loses only that output, and the result says so", async () => {
    using skein = temporaryHome(vendorEnv(server.url));
    server.setScript(shellScript(["head -c 3000000 /dev/zero | tr '\\0' y; echo; echo last"], "went on"));
    mkdirSync(join(skein.root, "skein"));
    const { out } = await inOwnMounts(
      skein,
      `set +e; mount -t tmpfs -o size=2m none "$SKEIN_HOME"
       "$@" run fill -m ${model} --output-format text; echo "run $?"; "$@" verify > /dev/null; echo "verify $?"; find "$SKEIN_HOME/data/outputs" -type f`,
    );
    expect(out).toBe("went on\nrun 0\nverify 0\n");
    expect(lastRequest().text).toMatch(/last\\n\[the whole output is not stored: the disk is full/);
  });

  test("a full disk in the project leaves a transcript without a gap, and the next turn completes it", async () => {
    using skein = temporaryHome(vendorEnv(server.url));
    server.setScript(shellScript(["echo small", fillCommand, fillCommand, fillCommand, "echo small again"], "filled"));
    mkdirSync(join(skein.project, ".skein"));
    const { out, err } = await inOwnMounts(
      skein,
      `set +e; mount -t tmpfs -o size=60k none .skein
       "$@" run fill -m ${model} --session full --output-format text; echo "run $?"
       mount -o remount,size=1m none .skein
       "$@" run "fill more" -m ${model} --session full --output-format text; echo "run $?"
       "$@" verify > /dev/null; echo "verify $?"; wc -l < .skein/sessions/*.jsonl`,
    );
    expect(out).toBe("filled\nrun 0\nfilled\nrun 0\nverify 0\n25\n");
    expect(err.match(/the transcript could not be written: /g)).toHaveLength(1);
  });
});

async function checkVerified(skein: TemporaryHome): Promise<void> {
  const verified = await skein.run(["verify", "--json"]);
  expect({ code: verified.code, ...verified.json() }).toMatchObject({ code: 0, ok: true, problems: [] });
}
