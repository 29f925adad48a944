// Agents from the configuration: programs that print text or JSON, and one that speaks ACP. None of them sends a
// request to a model. The tests check the input that the programs get.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readEvents } from "../../support/read-events.ts";
import { waitForNoProcesses, ownRlimitTag } from "../../support/processes.ts";
import { type RunResult, temporaryHome, type TemporaryHome, vendorEnv } from "../../support/temporary-home.ts";

const unreachableVendors = vendorEnv("http://127.0.0.1:9");
const acp = join(import.meta.dir, "..", "..", "fixtures", "bin", "acp-agent.ts");
const sign = ownRlimitTag();

/** A shell script per program. `$P` is its last argument. */
const programs: Record<string, string> = {
  plain: 'for P in "$@"; do :; done; printf "one\\n\\nheard: %s\\n" "$P"',
  failing: 'echo "half of it"; echo "429 too many requests" >&2; exit 3',
  silent: "exit 0",
  reader: 'cat; echo "done reading"',
  secrets: "env; cat ~/.ssh/id 2>&1; ls $HOME/..",
  json: 'printf "notice\\n{\\"session_id\\": \\"s-1\\",\\n \\"result\\": \\"%s\\"}\\n" "$*"',
  forgetful:
    'if [ "$1" = again ]; then echo "error: session $2 not found" >&2; exit 1; fi; echo "{\\"session_id\\": \\"s-2\\", \\"result\\": \\"anew\\"}"',
  garbled: 'echo "{ this is no JSON"',
  lines:
    'echo \'{"type":"system","subtype":"init","session_id":"s-1","model":"m"}\'; echo not-an-event; echo \'{"type":"assistant","message":{"id":"1","model":"m","content":[{"type":"text","text":"by lines"}],"stop_reason":"end_turn"}}\'; echo \'{"type":"result","subtype":"success","is_error":false,"result":"by lines","session_id":"s-1"}\'',
  sleeper: `echo begun; (setsid sleep ${sign} &); sleep ${sign}`,
};

let skein: TemporaryHome;

beforeAll(() => {
  skein = temporaryHome({ ...unreachableVendors, MINE: "value-of-mine", HIDDEN: "value-of-hidden" });
  const bin = join(skein.root, "bin");
  mkdirSync(bin);
  for (const [name, script] of Object.entries(programs)) writeFileSync(join(bin, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  mkdirSync(join(skein.home, ".ssh"));
  writeFileSync(join(skein.home, ".ssh", "id"), "the-private-key");
  const commandOf = (name: string) => ({ command: join(bin, name) });
  configure(skein, {
    ...Object.fromEntries(Object.keys(programs).map((name) => [`my-${name}`, commandOf(name)])),
    "my-secrets": { ...commandOf("secrets"), env: { GIVEN: "$MINE" } },
    "my-json": { ...commandOf("json"), output: "json", args: ["new", "-m", "{model}"], resume_args: ["again", "{session}"] },
    "my-forgetful": { ...commandOf("forgetful"), output: "json", args: ["new"], resume_args: ["again", "{session}"] },
    "my-garbled": { ...commandOf("garbled"), output: "json" },
    "my-lines": { ...commandOf("lines"), output: "stream-json" },
    "my-acp": { command: process.execPath, args: [acp], output: "acp", env: { LEFT: sign } },
    "my-missing": { command: "no-such-program", hint: "install it from somewhere" },
  });
});

afterAll(() => skein[Symbol.dispose]());

function configure(home: TemporaryHome, agents: Record<string, unknown>): void {
  const folder = join(home.env["SKEIN_HOME"] as string, "config");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "config.jsonc"), JSON.stringify({ agents }));
}

async function ask(
  agent: string,
  prompt: string,
  flags: string[] = [],
): Promise<{ ran: RunResult; result: string; status: string; error: string }> {
  const ran = await skein.run(["run", prompt, "-a", agent, "--json", ...flags]);
  const record = (ran.out === "" ? {} : ran.json()) as { result?: string; status?: string; error?: { message: string } };
  return { ran, result: record.result ?? "", status: record.status ?? "", error: record.error?.message ?? ran.err };
}

describe("a program that prints text", () => {
  test("a text program's output is the answer, and its prompt contains the conversation so far", async () => {
    const first = await ask("my-plain", "the first words", ["--session", "texts"]);
    expect(first).toMatchObject({ status: "ok", result: "one\n\nheard: the first words" });
    const second = await ask("my-plain", "the second words", ["--session", "texts"]);
    expect(second.result).toMatch(/the first words[\s\S]*heard: the first words[\s\S]*the second words$/);
    const session = (await skein.run(["show", "texts", "--json"])).json() as { nodes: { author: string; parts: { text: string }[] }[] };
    expect(session.nodes.filter(({ author }) => author === "user").map(({ parts }) => parts[0]?.text)).toEqual([
      "the first words",
      "the second words",
    ]);
  });

  test("a text program fails by its exit code; its output is stored, and stderr gives the kind of error", async () => {
    expect(await ask("my-failing", "x")).toMatchObject({ ran: { code: 5 }, status: "rate-limited", result: "half of it" });
    expect(await ask("my-silent", "x")).toMatchObject({ ran: { code: 1 }, status: "broken" });
  });

  test("a text program gets an empty stdin and the added flags, and its role only in the prompt", async () => {
    expect(await ask("my-reader", "x")).toMatchObject({ status: "ok", result: "done reading" });
    expect((await ask("my-plain", "x", ["--append-system", "You are Rolly."])).result).toContain("You are Rolly.");
    expect((await ask("my-json", "x", ["--agent-arg=--fast"])).result).toBe("new --fast x");
  });

  test("a text program has its own home and its configured variables, but no key and no secret", async () => {
    const { result } = await ask("my-secrets", "x");
    expect(result).toContain("GIVEN=value-of-mine");
    expect(result).toMatch(/ANTHROPIC_API_KEY=sk-skein-/);
    expect(result).not.toMatch(/key-anthropic|key-openai|key-gemini|value-of-hidden|the-private-key/);
    expect(result).toMatch(/^HOME=.*\/agents\/.*\/my-secrets\/home$/m);
  });

  test("kill ends a text program with every process that it started", async () => {
    const run = readEvents(skein.start(["run", "x", "-a", "my-sleeper", "--session", "asleep", "--output-format", "events"]));
    await run.until((event) => event.type === "text.delta");
    await skein.run(["kill", "asleep"]);
    expect(await run.ended).toMatchObject({ code: 130 });
    expect(await waitForNoProcesses(skein.root, 20_000, { tag: sign })).toEqual([]);
  });
});

describe("a program that prints JSON", () => {
  test("a JSON program prints one value with its session id, and the next turn resumes that session", async () => {
    expect((await ask("my-json", "first", ["--session", "values", "-m", "anthropic/claude-x"])).result).toBe("new -m claude-x first");
    expect((await ask("my-json", "second", ["--session", "values"])).result).toBe("again s-1 second");
    const elsewhere = await ask("my-json", "third", ["--session", "values", "--fresh"]);
    expect(elsewhere.result).toBe("new -m claude-x third");
  });

  test("a JSON program that lost its session starts a new one with the whole conversation, and a warning reports it", async () => {
    expect((await ask("my-forgetful", "first", ["--session", "lost"])).result).toBe("anew");
    const second = await ask("my-forgetful", "second", ["--session", "lost"]);
    expect(second).toMatchObject({ status: "ok", result: "anew" });
    expect(second.ran.err).toContain("my-forgetful could not resume its own session; it starts a new one with a brief");
  });

  test("a JSON program that prints invalid JSON ends the turn as broken", async () => {
    const { status, error } = await ask("my-garbled", "x");
    const message = expect.stringMatching(/^my-garbled printed nothing that skein can read; its output is in \S+\.stdout\.log$/);
    expect({ status, error }).toEqual({ status: "broken", error: message });
  });

  test("a program that prints Claude's stream-json is read line by line", async () => {
    expect(await ask("my-lines", "x")).toMatchObject({ status: "ok", result: "by lines" });
  });
});

describe("an agent that speaks ACP", () => {
  test("an ACP agent resumes its own session, and a brief tells it about the turns of other agents", async () => {
    expect((await ask("my-acp", "first recall", ["--session", "talk"])).result).toBe("heard: first recall");
    expect((await ask("my-acp", "second recall", ["--session", "talk"])).result).toBe("heard: first recall / second recall");
    await ask("my-plain", "between", ["--session", "talk"]);
    const { result } = await ask("my-acp", "third recall", ["--session", "talk"]);
    expect(result).toMatch(/^heard: Below is[\s\S]*second recall[\s\S]*between[\s\S]*third recall$/);
    const session = (await skein.run(["show", "talk", "--json"])).out;
    expect(session).not.toContain("something old");
    expect(session).toContain('"version": "4.5.6"');
  });

  test("an ACP agent gets the permission that it requests, and the tree records it", async () => {
    expect((await ask("my-acp", "please permit", ["--session", "asking"])).result).toBe("answered yes");
    expect((await skein.run(["show", "asking", "--json"])).out).toContain("permission requested: touch made; allowed");
  });

  test.each([
    ["refuse", "refused", 1],
    ["limit", "rate-limited", 5],
    ["key", "auth", 4],
    ["nothing", "broken", 1],
    ["half", "broken", 1],
    ["noise", "ok", 0],
    ["flood", "ok", 0],
    ["leave", "ok", 0],
  ])("an ACP agent that does %s ends the turn as %s", async (word, status, code) => {
    const outcome = await ask("my-acp", `do ${word}`, ["--session", "trouble"]);
    expect({ word, status: outcome.status, code: outcome.ran.code }).toEqual({ word, status, code });
    if (word === "half") expect(outcome.result).toBe("half of ");
    expect(await waitForNoProcesses(skein.root, 20_000, { tag: sign })).toEqual([]);
  });

  test("a session of an ACP agent works again after all these failures", async () => {
    expect((await ask("my-acp", "now recall", ["--session", "trouble"])).status).toBe("ok");
  });

  test.each(["hang", "stubborn"])("an ACP agent that does %s is stopped, and its partial answer is stored", async (word) => {
    const run = readEvents(skein.start(["run", `do ${word}`, "-a", "my-acp", "--session", word, "--output-format", "events"]));
    await run.until((event) => event.type === "text.delta");
    await skein.run(["kill", word]);
    expect(await run.ended).toMatchObject({ code: 130 });
    expect(run.printed.at(-1)).toMatchObject({ type: "result", status: "cancelled", result: expect.stringMatching(/^I (wait|stay)\.$/) });
    expect(await waitForNoProcesses(skein.root)).toEqual([]);
  });
});

describe("wrong use", () => {
  test.each([
    ["my-missing", [], 3, /my-missing is not installed: there is no no-such-program in PATH[\s\S]*install it from somewhere/],
    ["my-plain", ["-m", "claude-x"], 2, /my-plain takes no model/],
    ["my-json", ["-m", "claude-x:high"], 2, /my-json takes no effort/],
    ["my-plainn", [], 3, /did you mean my-plain\?/],
    ["my-plain", ["--agent-arg=word"], 2, /"word" is not a flag of my-plain/],
  ] as [string, string[], number, RegExp][])("a run of %s with the flags %j is refused", async (agent, flags, code, pattern) => {
    const { ran } = await ask(agent, "x", flags);
    expect({ code: ran.code, out: ran.out }).toEqual({ code, out: "" });
    expect(ran.err).toMatch(pattern);
  });

  test("--agent-arg of a resumed session is checked by the session's agent", async () => {
    await ask("my-plain", "x", ["--session", "whose"]);
    const wrong = await skein.run(["run", "more", "--resume", "whose", "--agent-arg=word"]);
    expect({ code: wrong.code, out: wrong.out }).toEqual({ code: 2, out: "" });
    expect(wrong.err).toContain('"word" is not a flag of my-plain');
    const right = await skein.run(["run", "more", "--resume", "whose", "--agent-arg=--word"]);
    expect({ code: right.code, err: right.err }).toMatchObject({ code: 0 });
  });

  test.each([
    [{ claude: { command: "x" } }, /agents\.claude: claude is a built-in agent/],
    [{ mine: { args: ["x"] } }, /agents\.mine\.command: it is missing/],
    [{ mine: { command: "x", resume_args: ["-c"] } }, /agents\.mine\.resume_args: they have no \{session\}/],
  ])("the agent configuration %j is an error, and config and doctor still work", async (agents, pattern) => {
    using home = temporaryHome(unreachableVendors);
    configure(home, agents);
    const ran = await home.run(["run", "x"]);
    expect({ code: ran.code, out: ran.out }).toEqual({ code: 3, out: "" });
    expect(ran.err).toMatch(pattern);
    expect((await home.run(["config", "path"])).code).toBe(0);
    const doctor = await home.run(["doctor"]);
    expect(doctor.code).not.toBe(0);
    expect(doctor.out).toMatch(pattern.source.includes("claude") ? /agent: claude +agents\.claude/ : /agent: mine +agents\.mine/);
  });

  test("an agent from an untrusted project is ignored", async () => {
    using home = temporaryHome(unreachableVendors);
    mkdirSync(join(home.project, ".skein"));
    const marker = join(home.project, "made");
    const agents = { evil: { command: "/bin/sh", args: ["-c", `touch ${marker}`, "{prompt}"] } };
    writeFileSync(join(home.project, ".skein", "config.jsonc"), JSON.stringify({ agents }));
    const ran = await home.run(["run", "x", "-a", "evil"]);
    expect(ran.code).toBe(3);
    expect(ran.err).toMatch(/agents\.evil\.command, agents\.evil\.args are ignored/);
    expect(existsSync(marker)).toBe(false);
    expect((await home.run(["run", "x", "-a", "evil", "--trust"])).code).toBe(1);
    expect(existsSync(marker)).toBe(true);
  });
});
