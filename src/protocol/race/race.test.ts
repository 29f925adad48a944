import { expect, test } from "bun:test";
import type { Node } from "../tree/node.ts";
import { parseContestants } from "./contestants.ts";
import { bestOutcome, hasPassed, proposedRacer, racerEndText, racerKeys, readRace, type RaceEvent, type RacerEnd } from "./race.ts";

const wish = {
  task: "fix it",
  contestants: [],
  check: "npm test",
  checkTimeoutMs: 1_000,
  adoptFirstPassing: false,
  withChanges: false,
  withIgnored: false,
};
const racers = ["claude", "codex"].map((agent) => ({ key: agent, agent, model: null, session: `session-${agent}` }));
const ok: RacerEnd = { status: "ok", error: null, check: null };
const passed: RacerEnd = { ...ok, check: { passed: true, exitCode: 0, problem: null } };
const failed: RacerEnd = { ...ok, check: { passed: false, exitCode: 3, problem: null } };

function pathOf(session: string, ...events: RaceEvent[]): Node[] {
  return events.map((happened, index) => ({
    id: `${session}-${index}`,
    parent: null,
    tree: "tree",
    session,
    turn: null,
    author: "note",
    at: index,
    note: { about: "race", happened },
    parts: [],
  }));
}

const started: RaceEvent = { event: "race_started", wish, base: "base", racers };

test("a race is read from the notes of its session", () => {
  const adopted = { session: "session-codex", continuesIn: "main", grafted: ["session-claude"], files: 2 };
  const race = readRace([
    ...pathOf("other", started, { event: "racer_ended", racer: "claude", ...ok }),
    ...pathOf(
      "race",
      started,
      { event: "racer_started", racer: "claude" },
      { event: "racer_started", racer: "codex" },
      { event: "racer_ended", racer: "codex", ...passed },
      { event: "race_adopted", ...adopted },
    ),
  ]);
  expect(race).toMatchObject({ id: "race", base: "base", adopted });
  expect(race?.racers.map(({ key, isStarted, ended }) => [key, isStarted, ended])).toEqual([
    ["claude", true, null],
    ["codex", true, passed],
  ]);
});

test("a path without a race has none", () => {
  expect(readRace([])).toBe(null);
  expect(readRace(pathOf("race", { event: "racer_started", racer: "claude" }))).toBe(null);
});

test("an agent that takes part twice gets a number in its key", () => {
  const contestants = ["native", "claude", "native"].map((agent) => ({ agent, model: null }));
  expect(racerKeys(contestants)).toEqual(["native-1", "claude", "native-2"]);
});

test("an agent has passed if it ended ok and no check failed", () => {
  expect([ok, passed, failed, { ...ok, status: "auth" as const }].map(hasPassed)).toEqual([true, true, false, false]);
});

test("the best outcome is ok, then a failed check, then the nearest other failure", () => {
  const end = (status: RacerEnd["status"]): RacerEnd => ({ status, error: null, check: null });
  expect(bestOutcome([end("auth"), passed])).toBe("ok");
  expect(bestOutcome([end("auth"), failed, end("budget")])).toBe("check-failed");
  expect(bestOutcome([end("broken"), end("auth"), end("timed-out")])).toBe("timed-out");
  expect(bestOutcome([end("not-installed"), end("cancelled")])).toBe("not-installed");
  expect(bestOutcome([])).toBe("broken");
});

test("the passing agent with the fewest changed lines is proposed, and on a tie the one with fewer files", () => {
  const file = (path: string) => ({ path, kind: "modified" as const, added: 0, removed: 0 });
  const racer = (key: string, end: RacerEnd, added: number, files: number) => ({
    key,
    ...end,
    files: Array.from({ length: files }, (_, index) => file(String(index))),
    added,
    removed: 1,
  });
  const all = [racer("a", failed, 0, 1), racer("b", passed, 9, 1), racer("c", passed, 5, 3), racer("d", passed, 5, 2)];
  expect(proposedRacer("npm test", all)).toBe("d");
  expect(proposedRacer(null, all)).toBe(null);
  expect(proposedRacer("npm test", [racer("a", failed, 0, 1), racer("b", { ...ok, status: "auth" }, 0, 0)])).toBe(null);
});

test("an end names the check's exit code, or the reason of the failure", () => {
  expect(racerEndText(passed)).toBe("passed");
  expect(racerEndText(failed)).toBe("failed: exit 3");
  expect(racerEndText({ ...ok, check: { passed: false, exitCode: null, problem: null } })).toBe("failed: exit by a signal");
  expect(racerEndText({ status: "auth", error: "not signed in", check: null })).toBe("auth: not signed in");
});

test("agents are read with their models, which can contain a colon", () => {
  expect(parseContestants("claude, codex:gpt-5,native:openai/gpt-5.2:high", null)).toEqual([
    { agent: "claude", model: null },
    { agent: "codex", model: "gpt-5" },
    { agent: "native", model: "openai/gpt-5.2:high" },
  ]);
  expect(parseContestants("claude,claude", "claude:opus,claude:sonnet").map(({ model }) => model)).toEqual(["opus", "sonnet"]);
});

test("a list without agents, with an empty word, or with a model of no agent is refused", () => {
  expect(() => parseContestants(null, null)).toThrow("a race needs agents");
  expect(() => parseContestants("claude,,codex", null)).toThrow("commas");
  expect(() => parseContestants("claude:", null)).toThrow("is not agent:model");
  expect(() => parseContestants("claude", "codex:gpt-5")).toThrow("--model takes agent:model");
  expect(() => parseContestants("claude:opus", "claude:sonnet")).toThrow("has no model there");
});
