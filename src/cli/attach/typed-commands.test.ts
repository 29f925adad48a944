// Tests which request a typed line becomes.
import { expect, test } from "bun:test";
import type { Api } from "../../protocol/api/api.ts";
import { handleTypedLine, type AttachedSession } from "./typed-commands.ts";

function attachTo(ask: string | null) {
  const requests: unknown[] = [];
  const record = (name: string, result: unknown) => async (params: unknown) => {
    requests.push([name, params]);
    return result;
  };
  const turn = {
    steer: record("steer", {}),
    cancel: record("cancel", undefined),
    pause: record("pause", { state: "not-running" }),
    resume: record("resume", { state: "running" }),
  };
  const api = { turn, ask: { answer: record("answer", {}) } } as unknown as Pick<Api, "turn" | "ask">;
  const attached: AttachedSession = { api, session: "s", ask: () => ask, leave: () => requests.push("left") };
  return { requests, attached };
}

test("a typed line is a message, or the answer to an open question; a path is not a command", async () => {
  const { requests, attached } = attachTo(null);
  expect(await handleTypedLine(attached, " be quick ")).toBeNull();
  await handleTypedLine(attached, "/etc/hosts is wrong");
  await handleTypedLine({ ...attached, ask: () => "q" }, "2");
  expect(requests).toEqual([
    ["steer", { session: "s", text: "be quick" }],
    ["steer", { session: "s", text: "/etc/hosts is wrong" }],
    ["answer", { ask: "q", text: "2" }],
  ]);
});

test("commands act on the turn even while a question is open, and an unknown command suggests the nearest", async () => {
  const { requests, attached } = attachTo("q");
  expect(await handleTypedLine(attached, "/cancel")).toBe("stopping the turn…");
  expect(await handleTypedLine(attached, "/pause")).toBe("nothing is running in this session");
  expect(await handleTypedLine(attached, "/resume")).toBeNull();
  expect(await handleTypedLine(attached, "/quit")).toBeNull();
  expect(await handleTypedLine(attached, "/help")).toContain("/cancel stop the turn and every process it started");
  await expect(handleTypedLine(attached, "/cancle")).rejects.toMatchObject({ code: "usage", hint: "did you mean /cancel?" });
  expect(requests).toEqual([["cancel", { session: "s" }], ["pause", { session: "s", force: false }], ["resume", { session: "s" }], "left"]);
});
