// The status of a turn by the evidence of its CLI. The error messages of each CLI are tested
// with its recordings; these tests check the priority of the evidence.
import { describe, expect, test } from "bun:test";
import type { TurnStatus } from "../../../protocol/api/error.ts";
import { judgeEnding, type CliEvidence } from "./ending.ts";

const adapter: CliEvidence["adapter"] = {
  name: "agent",
  failures: [
    [/401|bad key/, "auth"],
    [/429/, "rate-limited"],
  ],
};

const quiet: CliEvidence = {
  adapter,
  answer: "",
  done: null,
  failed: null,
  exitCode: 0,
  signal: null,
  stderr: "",
  lines: 0,
  garbage: 0,
  garbageText: "",
  log: "/logs/turn.agent.stdout.log",
  stopped: null,
  vendorError: null,
  now: 0,
};

const goodEnd = { answer: "the answer", done: {}, lines: 5 };

const cases: [string, Partial<CliEvidence>, TurnStatus, RegExp?][] = [
  ["a good end with an answer is ok", goodEnd, "ok"],
  ["exit 1 after a good answer is still ok", { ...goodEnd, exitCode: 1 }, "ok"],
  ["a signal after a good answer is still ok", { ...goodEnd, exitCode: null, signal: "SIGTERM" }, "ok"],
  ["exit 0 with an error inside is that error", { failed: { message: "429 slow down" }, lines: 3 }, "rate-limited", /slow down/],
  ["a reported failure has priority over the exit code", { failed: { message: "401" }, lines: 3 }, "auth"],
  ["a failure of a known kind keeps it", { failed: { message: "so it goes", kind: "too-long" }, exitCode: 1, lines: 3 }, "too-long"],
  ["stderr explains an exit code", { exitCode: 1, stderr: "warning: colours\nError: 401 from server\n" }, "auth", /401 from server/],
  ["an exit code without a message is broken", { exitCode: 3 }, "broken", /^agent: it ended with exit code 3$/],
  ["exit 0 without output is broken", {}, "broken", /without output/],
  ["exit 0 in the middle of a turn is broken", { answer: "half", lines: 4 }, "broken", /before its turn was over/],
  ["a good end without an answer is broken", { done: {}, lines: 2 }, "broken", /without an answer/],
  ["only garbage is broken", { lines: 7, garbage: 7 }, "broken", /can read/],
  ["a signal is killed", { exitCode: null, signal: "SIGKILL", lines: 2 }, "killed", /SIGKILL/],
  ["a shell's exit code for a signal is killed", { exitCode: 137, stderr: "Killed\n", lines: 2 }, "killed", /SIGKILL/],
  ["a CLI's own exit code above 128 is no signal", { exitCode: 145, stderr: "Error: 401\n" }, "auth", /401/],
  [
    "a crash is reported with its error, not with the last line of the runtime",
    { exitCode: 1, stderr: "const a = b;\n          ^\nTypeError: b is gone\n    at main (x.js:1:1)\n\nNode.js v24.1.0\n" },
    "broken",
    /^agent: TypeError: b is gone$/,
  ],
  [
    "an error of the vendor has priority over the CLI's report of it",
    {
      failed: { message: "API Error: 502", kind: "overloaded" },
      vendorError: { kind: "network", message: "vendor: refused", hint: "look" },
    },
    "network",
    /^agent: vendor: refused$/,
  ],
  ["an error of the vendor explains an end without a message", { vendorError: { kind: "auth", message: "bad key", hint: "see" } }, "auth"],
  [
    "a killed CLI is killed, even after an error of the vendor",
    { signal: "SIGKILL", vendorError: { kind: "auth", message: "bad key" } },
    "killed",
  ],
  ["an error of the vendor does not change a good end", { ...goodEnd, vendorError: { kind: "overloaded", message: "503" } }, "ok"],
  ["a stop of the user is cancelled, even after a good end", { ...goodEnd, stopped: "cancelled" }, "cancelled"],
  [
    "a used up budget is reported as budget",
    { answer: "half", stopped: { kind: "budget", message: "used up", limit: "tokens" } },
    "budget",
    /used up/,
  ],
];

describe("judgeEnding", () => {
  for (const [title, evidence, status, message] of cases) {
    test(title, () => {
      const end = judgeEnding({ ...quiet, ...evidence });
      expect(end.status).toBe(status);
      if (message !== undefined) expect(end.error?.message).toMatch(message);
      expect(end.error === undefined).toBe(status === "ok");
    });
  }

  test("output without any event is returned as it is, and the message names the log", () => {
    const end = judgeEnding({ ...quiet, lines: 2, garbage: 2, garbageText: "plain words\nmore" });
    expect(end).toMatchObject({ status: "broken", answer: "plain words\nmore" });
    expect(end.error?.message).toBe("agent printed nothing that skein can read; its output is in /logs/turn.agent.stdout.log");
    expect(judgeEnding({ ...quiet, lines: 2, garbage: 2, garbageText: "words", exitCode: 1 }).answer).toBe("words");
    expect(judgeEnding({ ...quiet, lines: 2, garbage: 1, garbageText: "noise", exitCode: 1 }).answer).toBeUndefined();
  });

  test("a failed turn keeps its partial answer", () => {
    expect(judgeEnding({ ...quiet, answer: "half", exitCode: 1 }).answer).toBe("half");
  });

  test("every failure has a hint", () => {
    for (const [, evidence, status] of cases.filter(([, , status]) => !["ok", "cancelled", "budget"].includes(status)))
      expect({ status, hint: judgeEnding({ ...quiet, ...evidence }).error?.hint }).toEqual({ status, hint: expect.any(String) });
  });
});
