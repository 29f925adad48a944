// Tests that a graft, a move and a rename of the tree panel can be taken back.
import { expect, test } from "bun:test";
import { sampleSession } from "../fixtures/press-keys.ts";
import { scriptedApi } from "../fixtures/scripted-api.ts";
import type { UpdateMessage } from "../model/state.ts";
import type { EffectContext } from "./effect-context.ts";
import { runEffect } from "./index.ts";

function createContext() {
  const here = sampleSession("s-1", { tip: "n-tip", name: "mine" });
  const sent: UpdateMessage[] = [];
  const scripted = scriptedApi({
    "session.find": async () => here,
    "session.move": async ({ node }: { node: string | null }) => ({ ...here, tip: node }),
    "session.rename": async ({ name }: { name: string }) => ({ ...here, name }),
    "graft.make": async () => ({ id: "n-graft" }),
  });
  const ctx = {
    api: scripted.api,
    directory: "/p",
    session: here,
    bindings: { preset: "plain", own: {} },
    turn: {},
    policies: {},
    running: new Map(),
    following: null,
    onSession: () => {},
    send: (message: UpdateMessage) => void sent.push(message),
  } as unknown as EffectContext;
  const changes = () => scripted.calls.filter(({ method }) => /move|rename|graft/.test(method));
  return { ctx, sent, changes };
}

const noticesOf = (sent: readonly UpdateMessage[]) =>
  sent.flatMap((message) =>
    message.type === "notice" ? [message.text] : message.type === "set" ? [message.fields.notice?.text ?? ""] : [],
  );

test("a graft and a move are taken back by a move to the earlier tip, once", async () => {
  for (const change of [{ type: "graft", from: "s-2" } as const, { type: "go", session: null, node: "n-old" } as const]) {
    const { ctx, sent, changes } = createContext();
    await runEffect(ctx, change);
    expect(noticesOf(sent).join("\n")).toContain("u in /tree takes it back");
    await runEffect(ctx, { type: "take back change" });
    expect(changes().at(-1)).toEqual({ method: "session.move", params: { session: "s-1", node: "n-tip" } });
    await runEffect(ctx, { type: "take back change" });
    expect(noticesOf(sent).at(-1)).toBe("there is no graft, move or rename to take back");
  }
});

test("a rename is taken back with the earlier name", async () => {
  const { ctx, sent, changes } = createContext();
  await runEffect(ctx, { type: "rename", name: "other" });
  await runEffect(ctx, { type: "take back change" });
  expect(changes().map(({ params }) => params)).toEqual([
    { session: "s-1", name: "other" },
    { session: "s-1", name: "mine" },
  ]);
  expect(noticesOf(sent).at(-1)).toBe("took back the rename in mine");
});
