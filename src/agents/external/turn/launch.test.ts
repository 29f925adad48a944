import { describe, expect, test } from "bun:test";
import type { TurnInput } from "../../../protocol/api/ports.ts";
import type { Node } from "../../../protocol/tree/node.ts";
import type { CliSessionStart } from "../../../protocol/tree/turn.ts";
import { claude } from "../adapters/claude.ts";
import { gemini } from "../adapters/gemini.ts";
import { noServers } from "./cli-servers.ts";
import { createLaunch } from "./launch.ts";

const node = (id: string, author: Node["author"], text: string): Node =>
  ({
    id,
    author,
    parts: author === "tool" ? [{ kind: "result", call: "c", name: "bash", text, isError: false }] : [{ kind: "text", text }],
  }) as Node;
const path = [node("1", "user", "first task"), node("2", "agent", "first answer"), node("3", "user", "second task")];

function promptOf(adapter: typeof claude, nodes: Node[], session: CliSessionStart | null): string {
  const input = { path: nodes, model: null, plan: null, system: null, appendSystem: null, policy: { addDirs: [] }, tree: "t" };
  const options = { endpoint: null, isSandboxed: true, servers: noServers };
  return createLaunch({ adapter, configRoot: "/c" }, input as unknown as TurnInput, session, options).prompt;
}

const count = (text: string, word: string) => text.split(word).length - 1;

describe("the prompt of a CLI", () => {
  const refused: CliSessionStart = { how: "resume", id: "a", mayLack: { nodesAfter: "2", unanswered: "3" } };

  test("a refused prompt that the CLI's own session has is not sent again", () => {
    expect(count(promptOf(claude, path, refused), "second task")).toBe(0);
  });

  test("a CLI that forgets a refused prompt gets it again", () => {
    expect(promptOf(gemini, path, refused)).toBe("second task");
  });

  test("a new prompt after a refused one is sent, with a brief of the refused one", () => {
    const text = promptOf(claude, [...path, node("4", "user", "third task")], refused);
    expect([count(text, "second task"), text.endsWith("third task")]).toEqual([1, true]);
  });

  test("a new session of the CLI gets a refused prompt once, after a brief of the nodes before it", () => {
    const text = promptOf(claude, path, null);
    expect([count(text, "first task"), text.endsWith("second task"), count(text, "second task")]).toEqual([1, true, 1]);
  });

  test("an attempt that ended with the result of a call continues with that result", () => {
    const text = promptOf(claude, [...path, node("4", "tool", "result 42")], { how: "resume", id: "a", mayLack: { nodesAfter: "2" } });
    expect([count(text, "result 42"), text.endsWith("Continue with the task.]")]).toEqual([1, true]);
  });
});
