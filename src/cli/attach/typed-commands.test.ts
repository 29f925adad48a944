// What a typed line is taken for.
import { expect, test } from "bun:test";
import type { Api } from "../../protocol/api/api.ts";
import { handleTypedLine, type AttachedSession } from "./typed-commands.ts";

function talkWith(ask: string | null) {
  const asked: unknown[] = [];
  const noted = (name: string, answer: unknown) => async (params: unknown) => {
    asked.push([name, params]);
    return answer;
  };
  const turn = {
    steer: noted("steer", {}),
    cancel: noted("cancel", undefined),
    pause: noted("pause", { state: "not-running" }),
    resume: noted("resume", { state: "running" }),
  };
  const api = { turn, ask: { answer: noted("answer", {}) } } as unknown as Pick<Api, "turn" | "ask">;
  const talk: AttachedSession = { api, session: "s", ask, leave: () => asked.push("left") };
  return { asked, talk };
}

test("a line is a message, or the answer when a question waits; a path is no command", async () => {
  const { asked, talk } = talkWith(null);
  expect(await handleTypedLine(talk, " be quick ")).toBeNull();
  await handleTypedLine(talk, "/etc/hosts is wrong");
  await handleTypedLine({ ...talk, ask: "q" }, "2");
  expect(asked).toEqual([
    ["steer", { session: "s", text: "be quick" }],
    ["steer", { session: "s", text: "/etc/hosts is wrong" }],
    ["answer", { ask: "q", text: "2" }],
  ]);
});

test("commands act on the turn, also while a question waits, and a wrong one names the right one", async () => {
  const { asked, talk } = talkWith("q");
  expect(await handleTypedLine(talk, "/cancel")).toBe("stopping the turn…");
  expect(await handleTypedLine(talk, "/pause")).toBe("nothing runs in this session");
  expect(await handleTypedLine(talk, "/resume")).toBeNull();
  expect(await handleTypedLine(talk, "/quit")).toBeNull();
  expect(await handleTypedLine(talk, "/help")).toContain("/cancel stop the turn");
  await expect(handleTypedLine(talk, "/cancle")).rejects.toMatchObject({ code: "usage", hint: "did you mean /cancel?" });
  expect(asked).toEqual([["cancel", { session: "s" }], ["pause", { session: "s", force: false }], ["resume", { session: "s" }], "left"]);
});
