// The checks of a trial over the evidence of one good turn, and of each kind of bad one.
import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Node, Part } from "../../protocol/tree/node.ts";
import { checkBranch, checkFailure, checkFork, checkKill, checkModel, checkResume, checkTools, type TrialEvidence } from "./checks.ts";
import type { TrialTurn } from "./trial-site.ts";
import type { RecordedRequest } from "../../scripted-model/model-server.ts";
import { createMarkers, trialPrompts, trialScript } from "./markers.ts";

const markers = createMarkers();
const project = mkdtempSync(join(tmpdir(), "skein-checks-"));
writeFileSync(join(project, markers.file), `${markers.written}\n`);
afterAll(() => rmSync(project, { recursive: true }));

const nodeOf = (part: Part): Node => ({
  id: "n",
  parent: null,
  tree: "t",
  session: "s",
  turn: "u",
  author: part.kind === "call" ? "agent" : "tool",
  at: 0,
  parts: [part],
});
const nodes = [
  nodeOf({ kind: "call", id: "c", name: "bash", input: {} }),
  nodeOf({ kind: "result", call: "c", name: "bash", text: `${markers.printed}\n`, isError: false }),
];

function turnWith(changes: Partial<TrialTurn> = {}): TrialTurn {
  return { status: "ok", message: "", answer: markers.answered, nodes, nativeId: "one", started: "new", ...changes };
}

function requestsWith(...texts: string[]): RecordedRequest[] {
  return texts.map((text, step) => ({
    number: step + 1,
    at: 0,
    method: "POST",
    path: "/v1/messages",
    wire: "anthropic",
    isSide: false,
    step,
    usage: null,
    headers: {},
    text,
    body: { model: "claude-sonnet-4-5" },
  }));
}

const firstTurnMarkers = [markers.asked, markers.printed, markers.answered];
const first: TrialEvidence = {
  turn: turnWith(),
  requests: requestsWith(markers.asked, [markers.asked, markers.printed].join(" ")),
  project,
};

describe("the first turn", () => {
  const bad: [string, Partial<TrialEvidence>, string][] = [
    [
      "a failed turn is reported with its message",
      { turn: turnWith({ status: "broken", message: "pi: no such thing" }) },
      "pi: no such thing",
    ],
    ["a failed turn without a message is reported with its status", { turn: turnWith({ status: "killed" }) }, "ended as killed"],
    ["a turn without a request is a problem", { requests: [] }, "it reports success, but sent no request to the model"],
    ["a missing file is a problem", { project: "/nowhere" }, "it reports success, but the command wrote no file"],
    [
      "a missing output in the requests is a problem",
      { requests: requestsWith(markers.asked) },
      "the model did not get the output of the command",
    ],
    ["another answer than the model's is a problem", { turn: turnWith({ answer: "all fine" }) }, "its answer is not the model's answer"],
    [
      "a missing call in the output is a problem",
      { turn: turnWith({ nodes: nodes.slice(1) }) },
      "its output does not contain the call and its result",
    ],
  ];
  test("a turn with file, request, answer and call passes", () => expect(checkTools(first, markers)).toBeNull());
  test.each(bad)("%s", (_title, change, problem) => expect(checkTools({ ...first, ...change }, markers)).toBe(problem));

  test("a request with another model is a problem", () => {
    expect(checkModel(first, "anthropic/claude-sonnet-4-5")).toBeNull();
    expect(checkModel(first, "anthropic/claude-other")).toBe("it used model claude-sonnet-4-5 instead of claude-other");
  });
});

describe("the CLI's own sessions", () => {
  const trunk = { turn: turnWith({ started: "resume" }), requests: requestsWith([...firstTurnMarkers, markers.trunk].join(" ")), project };
  const fork = {
    turn: turnWith({ started: "fork", nativeId: "two" }),
    requests: requestsWith([...firstTurnMarkers, markers.fork].join(" ")),
    project,
  };
  const again = { ...fork, requests: requestsWith([...firstTurnMarkers, markers.fork, markers.again].join(" ")) };

  test("a resumed session has the conversation so far, and no message of the fork", () => {
    expect(checkResume(trunk, markers)).toBeNull();
    expect(checkResume({ ...trunk, turn: turnWith({ started: "new" }) }, markers)).toBe("it could not resume its own session");
    expect(checkResume({ ...trunk, requests: requestsWith(markers.trunk) }, markers)).toBe("the model did not get the conversation so far");
    expect(checkResume({ ...trunk, requests: requestsWith(...firstTurnMarkers, markers.trunk) }, markers)).toBe(
      "the model did not get the conversation so far",
    );
    const leaked = requestsWith([...firstTurnMarkers, markers.trunk, markers.fork].join(" "));
    expect(checkResume({ ...trunk, requests: leaked }, markers)).toBe("the model got the messages of the fork");
    expect(checkResume({ ...trunk, turn: turnWith({ status: "broken", message: "lost" }) }, markers)).toBe("lost");
  });

  test("a fork is another session without later messages of the trunk", () => {
    expect(checkFork(fork, markers, "one")).toBeNull();
    expect(checkFork(fork, markers, "two")).toBe("the fork is the original session");
    expect(checkFork({ ...fork, turn: turnWith({ started: "new" }) }, markers, "one")).toBe("it could not fork its own session");
    expect(checkFork({ ...fork, requests: requestsWith(markers.fork) }, markers, "one")).toBe(
      "the model did not get the conversation so far",
    );
    expect(checkBranch(again, markers)).toBeNull();
    expect(checkBranch(fork, markers)).toBe("the fork did not get its own conversation");
    const leaked = requestsWith([...firstTurnMarkers, markers.fork, markers.trunk, markers.again].join(" "));
    expect(checkBranch({ ...again, requests: leaked }, markers)).toBe("the fork got later messages of the trunk");
  });
});

test("a failure of the vendor must end the turn with the matching status", () => {
  const refused = { turn: turnWith({ status: "auth", message: "401" }), requests: requestsWith("x"), project };
  expect(checkFailure(refused, "auth")).toBeNull();
  expect(checkFailure(refused, "rate-limited")).toBe("ended as auth instead of rate-limited: 401");
  expect(checkFailure({ ...refused, turn: turnWith() }, "auth")).toBe("ended as ok instead of auth");
  expect(checkFailure({ ...refused, requests: [] }, "auth")).toBe("401");
  expect(checkFailure({ ...refused, requests: [], turn: turnWith() }, "auth")).toBe("it reports success, but sent no request to the model");
});

test("no process may survive a stopped call", () => {
  const stopped = turnWith({ status: "cancelled" });
  expect(checkKill({ turn: stopped, hasStarted: true, survivors: 0 })).toBeNull();
  expect(checkKill({ turn: stopped, hasStarted: true, survivors: 1 })).toBe("1 process still ran after it was stopped");
  expect(checkKill({ turn: stopped, hasStarted: true, survivors: 2 })).toBe("2 processes still ran after it was stopped");
  expect(checkKill({ turn: stopped, hasStarted: false, survivors: 0 })).toBe("its command never started");
  expect(checkKill({ turn: turnWith({ status: "timed-out", message: "too long" }), hasStarted: false, survivors: 0 })).toBe("too long");
  expect(checkKill({ turn: turnWith(), hasStarted: true, survivors: 0 })).toBe("ended as ok instead of cancelled");
});

test("the script follows the latest turn, also when one prompt contains all earlier ones", () => {
  const script = trialScript(markers);
  const finalOf = (prompt: string) => {
    const chosen = typeof script === "function" ? script({ position: { turn: 1, step: 0, prompt }, body: null }) : script;
    return chosen.final;
  };
  const prompts = [
    trialPrompts.first(markers),
    trialPrompts.fork(markers),
    trialPrompts.trunk(markers),
    trialPrompts.again(markers),
    trialPrompts.kill(markers),
  ];
  const finals = prompts.map((_, index) => finalOf(prompts.slice(0, index + 1).join("\n")));
  expect(finals).toEqual([markers.answered, "on the fork", "on the trunk", "on the fork again", "it was not stopped"]);
  expect(createMarkers()).not.toEqual(markers);
});
