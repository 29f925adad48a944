// Tests of the column of writers: `w` in the changed files shows it, and each line has its turn.
import { expect, test } from "bun:test";
import type { EffectContext } from "../effects/effect-context.ts";
import { runEffect } from "../effects/index.ts";
import { apply, badRows, press, sampleSession, textOf } from "../fixtures/press-keys.ts";
import { scriptedApi } from "../fixtures/scripted-api.ts";
import { firstState, type UpdateMessage } from "../model/state.ts";

const turns = [
  {
    id: "00000000-0000-7000-8000-00004f1c09aa",
    session: "s-1",
    sessionName: "mine",
    agent: "claude",
    model: "sonnet",
    prompt: "add \u001b[31mthe parser",
    startedAt: 0,
  },
];
const written = [turns[0]!.id];
const lines = [
  { line: 1, turns: [], text: "// by hand" },
  { line: 2, turns: written, text: `  parse(${"input, ".repeat(20)}end);` },
  { line: 3, turns: written, text: "}\u001b[2J" },
];

function contextWith(sent: UpdateMessage[], asked: unknown[]): EffectContext {
  const session = sampleSession("s-1", { tip: "n-tip" });
  const { api } = scriptedApi({
    "session.show": async () => ({ session }),
    "branch.files": async () => ({
      files: ["src/a.ts", "gone.ts", "image.png"].map((path) => ({ path, kind: path === "gone.ts" ? "deleted" : "changed" })),
    }),
    "files.blame": async (params: { path: string }) => {
      asked.push(params);
      if (params.path === "image.png") throw new Error("image.png is a binary file");
      return { project: "/project", path: params.path, node: "n-tip", turns, lines };
    },
  });
  return { api, session, project: "/project", send: (message: UpdateMessage) => void sent.push(message) } as unknown as EffectContext;
}

test("w in the changed files shows who wrote each line, and w again the changes", async () => {
  const state = firstState({ size: { columns: 80, rows: 24 }, net: "off", sandbox: "on" });
  const opened = { ...state, overlay: { kind: "text", topic: "diff", lines: ["+ a line"], top: 0 } as const };
  const { state: asking, effects } = press(opened, "w");
  expect(effects).toEqual([{ type: "report", topic: "writers" }]);
  const [sent, asked]: [UpdateMessage[], unknown[]] = [[], []];
  await runEffect(contextWith(sent, asked), effects[0]!);
  expect(asked).toMatchObject([
    { path: "src/a.ts", directory: "/project", at: "n-tip" },
    { path: "image.png", at: "n-tip" },
  ]);
  const shown = apply(asking, ...sent);
  const text = textOf(shown);
  expect(text).toMatch(/not by an agent 1 {2}\/\/ by hand/);
  expect(text).toMatch(/4f1c09aa claude 2 {4}parse\(input/);
  expect(text.match(/4f1c09aa claude/g)).toHaveLength(1);
  expect(text).toContain("4f1c09aa  claude sonnet  add the parser");
  expect(text).toContain("image.png is a binary file");
  expect(text).not.toContain("gone.ts");
  expect(badRows(shown)).toEqual([]);
  expect(press(shown, "w").effects).toEqual([{ type: "report", topic: "diff" }]);
});

test("the column of writers fits on a narrow screen, and no text is cut", async () => {
  const sent: UpdateMessage[] = [];
  await runEffect(contextWith(sent, []), { type: "report", topic: "writers" });
  const state = firstState({ size: { columns: 40, rows: 40 }, net: "off", sandbox: "on" });
  const shown = apply({ ...state, overlay: { kind: "text", topic: "writers", lines: [], top: 0 } }, ...sent);
  expect(badRows(shown)).toEqual([]);
  expect(textOf(shown)).toContain("end);");
});
