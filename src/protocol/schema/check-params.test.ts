import { describe, expect, test } from "bun:test";
import type { MethodName } from "../api/api.ts";
import { defaultPolicy } from "../api/policy.ts";
import { bareTurn } from "../api/turn-options.ts";
import { toJsonCase } from "../json/json-case.ts";
import { checkParams, findMethod, methodNames } from "./check-params.ts";

function problemWith(method: string, params: unknown): string {
  const checked = checkParams(findMethod(method)!, params);
  return checked.ok ? "nothing" : checked.message;
}

describe("params", () => {
  test("params of a turn need a session and a prompt; the defaults are those of a headless run", () => {
    expect(checkParams("turn.start", { session: "s", prompt: "hi" })).toEqual({
      ok: true,
      params: {
        ...bareTurn("s", defaultPolicy),
        prompt: "hi",
        toolLevel: "orchestrator",
        spawn: true,
        mcpServers: {},
        contextFiles: true,
        limits: { maxSteps: 200, maxTokens: null, maxBudgetUsd: null, maxChildren: 200, treeSteps: null },
        timeoutMs: 14_400_000,
        idleMs: 600_000,
        autoResume: true,
        asks: { how: "later" },
        steerable: true,
      },
    });
  });

  test("params of a session may omit optional fields", () => {
    expect(checkParams("session.open", { directory: "/d" })).toEqual({
      ok: true,
      params: {
        directory: "/d",
        find: { by: "new" },
        agent: "auto",
        model: null,
        task: null,
        toolLevel: "orchestrator",
        parentSession: null,
        transcriptDir: null,
      },
    });
  });

  test("params from our own client pass the check unchanged", () => {
    const turn = {
      ...bareTurn("s", { ...defaultPolicy, name: "full", net: "on", allowWrite: ["/a_b"] }),
      prompt: "größer \u0000 \ud800",
      answerSchema: { type: "object", properties: { old_text: {}, oldText: {}, at: { minItems: 1 } } },
      images: [{ mime: "image/png", base64: "aGVsbG8=" }],
      asks: { how: "wait" as const, limitMs: 5 },
      copies: { source: "http", identifier: "http://x" },
      agentArgs: ["--a_b"],
    };
    expect(checkParams("turn.start", JSON.parse(JSON.stringify(toJsonCase(turn))))).toEqual({ ok: true, params: turn });
    const { session: _session, prompt: _prompt, ...options } = turn;
    const check = { ...options, agent: "claude", isNew: false, directory: "/d" };
    expect(checkParams("turn.check", toJsonCase(check))).toEqual({ ok: true, params: check });
    const open = {
      find: { by: "name" as const, wanted: "x", orCreate: false },
      id: "01a1e22c-d890-73cc-8df8-09de92534c2e",
      name: "x",
      directory: "/d",
      task: null,
      agent: "auto",
      model: null,
      toolLevel: "none" as const,
      parentSession: null,
      transcriptDir: "/t",
      plan: { file: "/p", text: "first" },
    };
    expect(checkParams("session.open", toJsonCase(open))).toEqual({ ok: true, params: open });
    expect(checkParams("turn.list", toJsonCase({ endedSince: 1_000 }))).toEqual({ ok: true, params: { endedSince: 1_000 } });
    expect(checkParams("session.fork", toJsonCase({ session: "s", at: "n", name: null }))).toEqual({
      ok: true,
      params: { session: "s", at: "n", name: null },
    });
  });

  test("params can be sent by position, in the documented order", () => {
    expect(checkParams("session.move", ["s", null])).toEqual({ ok: true, params: { session: "s", node: null } });
    expect(checkParams("health.check", [])).toEqual({ ok: true, params: {} });
    expect(checkParams("health.check", undefined)).toEqual({ ok: true, params: {} });
    expect(checkParams("health.check", null)).toEqual({ ok: true, params: {} });
    expect(checkParams("turn.start", ["s", "hi"])).toMatchObject({ ok: true, params: { session: "s", prompt: "hi" } });
    expect(problemWith("session.move", ["s", "n", 1])).toBe("session.move: takes at most 2 by position: session, node");
    expect(problemWith("health.check", [1])).toBe("health.check: takes at most 0 by position");
  });
});

test("a problem is reported in one line that names the field", () => {
  const deep = JSON.parse('{"a":'.repeat(101) + "1" + "}".repeat(101)) as unknown;
  const cases: [string, unknown, string][] = [
    ["turn.start", { prompt: "x" }, "session is missing"],
    ["turn.start", { session: "s", promt: "x" }, 'there is no field "promt"; did you mean "prompt"?'],
    ["turn.start", { session: "s", prompt: "x", policy: { nam: "full" } }, 'there is no field "policy.nam"; did you mean "name"?'],
    ["turn.start", { session: "s", prompt: "x", ["y".repeat(1_000)]: 1 }, `there is no field "${"y".repeat(100)}…"`],
    ["turn.start", JSON.parse('{"session": "s", "prompt": "x", "__proto__": 1}'), 'there is no field "__proto__"'],
    ["turn.start", { session: "s", prompt: "x", onProgress: 1 }, 'there is no field "onProgress"'],
    ["turn.start", { session: "s", prompt: "x", policy: { name: "root" } }, "policy.name must be one of workspace, readonly, plan, full"],
    ["turn.start", { session: "s", prompt: "x", policy: { allow_write: ["a"] } }, "policy.allow_write.0 must be an absolute path"],
    ["turn.start", { session: "s", prompt: 5 }, "prompt must be a text, not 5"],
    ["turn.start", { session: "s", prompt: "x".repeat(10_000_001) }, "prompt must have at most 10000000 characters"],
    ["turn.start", { session: "s", prompt: "x", limits: { max_steps: 0 } }, "limits.max_steps must be at least 1"],
    ["turn.start", { session: "s", prompt: "x", limits: { max_steps: 1.5 } }, "limits.max_steps must be a whole number, not 1.5"],
    ["turn.start", { session: "s", prompt: "x", limits: { max_budget_usd: -1 } }, "limits.max_budget_usd must be more than 0"],
    ["turn.start", { session: "s", prompt: "x", answer_schema: deep }, "answer_schema must not be nested more than 100 deep"],
    ["turn.start", { session: "s", prompt: "x", asks: { how: "never" } }, "asks.how must be one of wait, later, none"],
    ["turn.start", { session: "s", prompt: "x", images: [{ mime: "image/png", base64: "?" }] }, "images.0.base64 must be base64"],
    ["session.open", { directory: "d" }, "directory must be an absolute path"],
    ["session.open", { directory: "/d\u0000" }, "directory must be an absolute path"],
    ["session.open", { directory: "/d", id: "X" }, "id must be a UUID in lower case"],
    ["session.open", { directory: "/d", find: { by: "id" } }, "find.by must be one of name, latest, interrupted, new"],
    ["session.find", { wanted: "", directory: "/d" }, "wanted must have at least 1 character"],
    ["session.find", { wanted: "a\u0000", directory: "/d" }, "wanted must not hold a null byte"],
    ["transcript.import", { from: { url: "x" }, directory: "/d" }, "from must be {path} or {text}"],
    ["turn.list", { ended_since: "yesterday" }, "ended_since must be a time like 2026-01-31T12:00:00.000Z"],
    ["search.find", { query: "a", limit: 1_001 }, "limit must be at most 1000"],
    ["health.check", "x", "params must be an object, not a text"],
    ["health.check", 5, "params must be an object, not 5"],
  ];
  for (const [method, params, message] of cases) expect(problemWith(method, params)).toBe(`${method}: ${message}`);
});

test("every method reports any invalid params in one line", () => {
  const values = [null, true, -1, 1e300, "", "\u0000", "x\ny", [], [[[]]], {}, { a: { b: null } }, "x".repeat(2_000)];
  for (const method of methodNames)
    for (const field of [...fieldsOf(method), "unknown_field"])
      for (const value of values) {
        const checked = checkParams(method, { [field]: value });
        if (!checked.ok) expect(checked.message).toMatch(/^[a-z]+\.[a-z_]+: .{1,300}$/);
      }
});

function fieldsOf(method: MethodName): string[] {
  const problem = checkParams(method, [1, 2, 3, 4, 5]);
  return problem.ok ? [] : (problem.message.split(": ")[2]?.split(", ") ?? []);
}
