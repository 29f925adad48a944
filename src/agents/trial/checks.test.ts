// What the contract sees in what a turn left behind: one good turn, and each way in which it can be bad.
import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Node, Part } from "../../protocol/tree/node.ts";
import { checkBranch, checkFailure, checkFork, checkKill, checkModel, checkResume, checkTools, type TrialEvidence } from "./checks.ts";
import type { TrialTurn } from "./trial-site.ts";
import type { RecordedRequest } from "../../scripted-model/model-server.ts";
import { createMarkers, trialPrompts, trialScript } from "./markers.ts";

const words = createMarkers();
const project = mkdtempSync(join(tmpdir(), "skein-checks-"));
writeFileSync(join(project, words.file), `${words.written}\n`);
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
  nodeOf({ kind: "result", call: "c", name: "bash", text: `${words.printed}\n`, isError: false }),
];

function ended(more: Partial<TrialTurn> = {}): TrialTurn {
  return { status: "ok", message: "", answer: words.answered, nodes, nativeId: "one", started: "new", ...more };
}

function asked(...texts: string[]): RecordedRequest[] {
  return texts.map((text, step) => ({
    number: step + 1,
    at: 0,
    method: "POST",
    path: "/v1/messages",
    protocol: "anthropic",
    isSide: false,
    step,
    usage: null,
    headers: {},
    text,
    body: { model: "claude-sonnet-4-5" },
  }));
}

const all = [words.asked, words.printed, words.answered];
const first: TrialEvidence = { ended: ended(), requests: asked(words.asked, [words.asked, words.printed].join(" ")), project };

describe("a first turn", () => {
  const bad: [string, Partial<TrialEvidence>, string][] = [
    ["that failed says why", { ended: ended({ status: "broken", message: "pi: no such thing" }) }, "pi: no such thing"],
    ["that ended without a reason says how", { ended: ended({ status: "killed" }) }, "ended as killed"],
    ["that asked nobody is no turn", { requests: [] }, "it says that it is done, but it asked no model"],
    ["without the file is no tool call", { project: "/nowhere" }, "it says that it is done, but the command has left no file"],
    ["must tell the model the output", { requests: asked(words.asked) }, "the model was not told what the command printed"],
    ["must give the model's answer", { ended: ended({ answer: "all fine" }) }, "its answer is not what the model said"],
    ["must show its calls", { ended: ended({ nodes: nodes.slice(1) }) }, "what it did is not in what it prints"],
  ];
  test("that did what it says is good", () => expect(checkTools(first, words)).toBeNull());
  test.each(bad)("%s", (_title, change, says) => expect(checkTools({ ...first, ...change }, words)).toBe(says));

  test("asks the model that was named", () => {
    expect(checkModel(first, "anthropic/claude-sonnet-4-5")).toBeNull();
    expect(checkModel(first, "anthropic/claude-other")).toBe("told to ask claude-other, it asked claude-sonnet-4-5");
  });
});

describe("its own sessions", () => {
  const trunk = { ended: ended({ started: "resume" }), requests: asked([...all, words.trunk].join(" ")), project };
  const fork = { ended: ended({ started: "fork", nativeId: "two" }), requests: asked([...all, words.fork].join(" ")), project };
  const again = { ...fork, requests: asked([...all, words.fork, words.again].join(" ")) };

  test("are resumed with the earlier conversation, and without the fork's", () => {
    expect(checkResume(trunk, words)).toBeNull();
    expect(checkResume({ ...trunk, ended: ended({ started: "new" }) }, words)).toBe("it could not go on in its own session");
    expect(checkResume({ ...trunk, requests: asked(words.trunk) }, words)).toBe("the model was not told the earlier conversation");
    expect(checkResume({ ...trunk, requests: asked(...all, words.trunk) }, words)).toBe("the model was not told the earlier conversation");
    const leaked = asked([...all, words.trunk, words.fork].join(" "));
    expect(checkResume({ ...trunk, requests: leaked }, words)).toBe("the model was told what was said on the fork");
    expect(checkResume({ ...trunk, ended: ended({ status: "broken", message: "lost" }) }, words)).toBe("lost");
  });

  test("are forked into another one, which never hears the trunk", () => {
    expect(checkFork(fork, words, "one")).toBeNull();
    expect(checkFork(fork, words, "two")).toBe("the fork is the original session");
    expect(checkFork({ ...fork, ended: ended({ started: "new" }) }, words, "one")).toBe("it could not fork its own session");
    expect(checkFork({ ...fork, requests: asked(words.fork) }, words, "one")).toBe("the model was not told the earlier conversation");
    expect(checkBranch(again, words)).toBeNull();
    expect(checkBranch(fork, words)).toBe("the fork was not told its own conversation");
    const leaked = asked([...all, words.fork, words.trunk, words.again].join(" "));
    expect(checkBranch({ ...again, requests: leaked }, words)).toBe("the fork was told what was said on the trunk after it");
  });
});

test("a failure of the vendor's ends as what it is", () => {
  const refused = { ended: ended({ status: "auth", message: "401" }), requests: asked("x"), project };
  expect(checkFailure(refused, "auth")).toBeNull();
  expect(checkFailure(refused, "rate-limited")).toBe("ended as auth instead of rate-limited: 401");
  expect(checkFailure({ ...refused, ended: ended() }, "auth")).toBe("ended as ok instead of auth");
  expect(checkFailure({ ...refused, requests: [] }, "auth")).toBe("401");
  expect(checkFailure({ ...refused, requests: [], ended: ended() }, "auth")).toBe("it says that it is done, but it asked no model");
});

test("a stopped call leaves nobody", () => {
  const stopped = ended({ status: "cancelled" });
  expect(checkKill(stopped, true, 0)).toBeNull();
  expect(checkKill(stopped, true, 1)).toBe("1 process was left when it was stopped");
  expect(checkKill(stopped, true, 2)).toBe("2 processes were left when it was stopped");
  expect(checkKill(stopped, false, 0)).toBe("its command never began");
  expect(checkKill(ended({ status: "timed-out", message: "too long" }), false, 0)).toBe("too long");
  expect(checkKill(ended(), true, 0)).toBe("ended as ok instead of cancelled");
});

test("the script goes by the latest turn, also when one prompt tells everything before it", () => {
  const script = trialScript(words);
  const finalOf = (prompt: string) => {
    const chosen = typeof script === "function" ? script({ position: { turn: 1, step: 0, prompt }, body: null }) : script;
    return chosen.final;
  };
  const told = [
    trialPrompts.first(words),
    trialPrompts.fork(words),
    trialPrompts.trunk(words),
    trialPrompts.again(words),
    trialPrompts.kill(words),
  ];
  const finals = told.map((_, at) => finalOf(told.slice(0, at + 1).join("\n")));
  expect(finals).toEqual([words.answered, "on the fork", "on the trunk", "on the fork again", "it was not stopped"]);
  expect(createMarkers()).not.toEqual(words);
});
