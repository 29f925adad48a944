// How a turn ended, by table: what was seen of a CLI → the one word for it. The words of each CLI's errors are tested
// with its recordings; here it is the order in which the signs are believed.
import { describe, expect, test } from "bun:test";
import type { TurnStatus } from "../../../protocol/api/error.ts";
import { judgeEnding, type CliEvidence } from "./ending.ts";

const adapter: CliEvidence["adapter"] = {
  name: "agent",
  failureOf: (message) => (/401|bad key/.test(message) ? "auth" : /429/.test(message) ? "rate-limited" : null),
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
  stopped: null,
  vendorError: null,
};

const fine = { answer: "the answer", done: { isError: false }, lines: 5 };

const rows: [string, Partial<CliEvidence>, TurnStatus, RegExp?][] = [
  ["a good end with an answer is ok", fine, "ok"],
  ["exit 1 after a good answer is still ok", { ...fine, exitCode: 1 }, "ok"],
  ["a signal after a good answer is still ok", { ...fine, exitCode: null, signal: "SIGTERM" }, "ok"],
  [
    "exit 0 with an error inside is that error",
    { done: { isError: true, message: "429 slow down" }, lines: 3 },
    "rate-limited",
    /slow down/,
  ],
  ["an error that repeats itself as the answer is that error", { done: { isError: true, answer: "bad key" }, lines: 3 }, "auth"],
  ["a failure that was told is believed before the exit code", { failed: { message: "401" }, lines: 3 }, "auth"],
  ["a failure of a known kind keeps it", { failed: { message: "so it goes", kind: "too-long" }, exitCode: 1, lines: 3 }, "too-long"],
  ["stderr explains an exit code", { exitCode: 1, stderr: "warning: colours\nError: 401 from server\n" }, "auth", /401 from server/],
  ["an exit code without a word is broken", { exitCode: 3 }, "broken", /^agent: it ended with exit code 3$/],
  ["exit 0 without output is broken", {}, "broken", /without output/],
  ["exit 0 in the middle of a turn is broken", { answer: "half", lines: 4 }, "broken", /before its turn was over/],
  ["a good end without an answer is broken", { done: { isError: false }, lines: 2 }, "broken", /without an answer/],
  ["only garbage is broken", { lines: 7, garbage: 7 }, "broken", /can read/],
  ["a signal is killed", { exitCode: null, signal: "SIGKILL", lines: 2 }, "killed", /SIGKILL/],
  ["a number that a shell makes of a signal is killed", { exitCode: 137, stderr: "Killed\n", lines: 2 }, "killed", /SIGKILL/],
  ["a CLI's own number above 128 is no signal", { exitCode: 145, stderr: "Error: 401\n" }, "auth", /401/],
  [
    "a crash tells its error, not the runtime's farewell",
    { exitCode: 1, stderr: "const a = b;\n          ^\nTypeError: b is gone\n    at main (x.js:1:1)\n\nNode.js v24.1.0\n" },
    "broken",
    /^agent: TypeError: b is gone$/,
  ],
  [
    "what the vendor did is believed before what the CLI makes of it",
    {
      failed: { message: "API Error: 502", kind: "overloaded" },
      vendorError: { kind: "network", message: "vendor: refused", hint: "look" },
    },
    "network",
    /^agent: vendor: refused$/,
  ],
  ["what the vendor did explains an end without a word", { vendorError: { kind: "auth", message: "bad key", hint: "see" } }, "auth"],
  ["a kill is a kill, whatever the vendor did", { signal: "SIGKILL", vendorError: { kind: "auth", message: "bad key" } }, "killed"],
  ["what the vendor did does not spoil a good end", { ...fine, vendorError: { kind: "overloaded", message: "503" } }, "ok"],
  ["a person's stop is cancelled, whatever else was seen", { ...fine, stopped: "cancelled" }, "cancelled"],
  ["a budget is told as such", { answer: "half", stopped: { kind: "budget", message: "used up", limit: "tokens" } }, "budget", /used up/],
];

describe("judgeEnding", () => {
  for (const [title, seen, status, message] of rows) {
    test(title, () => {
      const end = judgeEnding({ ...quiet, ...seen });
      expect(end.status).toBe(status);
      if (message !== undefined) expect(end.error?.message).toMatch(message);
      expect(end.error === undefined).toBe(status === "ok");
    });
  }

  test("a failed turn keeps its partial answer", () => {
    expect(judgeEnding({ ...quiet, answer: "half", exitCode: 1 }).answer).toBe("half");
  });

  test("every failure has a hint", () => {
    for (const [, seen, status] of rows.filter(([, , wanted]) => !["ok", "cancelled", "budget"].includes(wanted)))
      expect({ status, hint: judgeEnding({ ...quiet, ...seen }).error?.hint }).toEqual({ status, hint: expect.any(String) });
  });
});
