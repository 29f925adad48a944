// Questions to the user from the real program: asked in a headless run, answered from another process, then resumed.
import { describe, expect, test } from "bun:test";
import { openAsk, result } from "../../../src/protocol/fixtures/printed-schemas.ts";
import { startModelServer, type ModelServer, type ScriptSource } from "../../../src/scripted-model/model-server.ts";
import type { ScriptCall, Script } from "../../../src/scripted-model/script.ts";
import { temporaryHome, vendorEnv, wireModels, type TemporaryHome } from "../../support/temporary-home.ts";

const model = ["-m", wireModels.anthropic];
const question = (words: string, options: string[] = []): ScriptCall => ({ name: "ask_user", input: { question: words, options } });
const asking = (...calls: ScriptCall[]): Script => ({ steps: [{ calls }], final: "thanks" });

type OpenAsk = { id: string; session_id: string; question: string; options: string[]; waiting: boolean };

async function withHome(script: ScriptSource, check: (skein: TemporaryHome, server: ModelServer) => Promise<void>): Promise<void> {
  const server = startModelServer(script);
  using skein = temporaryHome(vendorEnv(server.url));
  try {
    await check(skein, server);
  } finally {
    await server.stop();
  }
}

/** Runs until the turn ends with its question. Returns the session and the open questions. */
async function ask(skein: TemporaryHome, ...args: string[]): Promise<{ session: string; asks: OpenAsk[] }> {
  const ran = await skein.run(["run", "paint it", "--json", ...model, ...args]);
  expect(ran.code).toBe(8);
  const { session_id: session, status } = result.parse(ran.json());
  expect(status).toBe("needs-input");
  return { session, asks: await openAsks(skein) };
}

async function openAsks(skein: TemporaryHome): Promise<OpenAsk[]> {
  const ran = await skein.run(["asks", "--json"]);
  expect(ran.code).toBe(0);
  return openAsk.array().parse(JSON.parse(ran.out));
}

/** Returns the tool results in the latest request, each with whether it is an error. */
function sentToolResults(server: ModelServer): [string, boolean][] {
  const body = server.main().at(-1)?.body as unknown as { messages: { content: Block[] | string }[] } | undefined;
  return (body?.messages ?? [])
    .flatMap(({ content }) => (typeof content === "string" ? [] : content))
    .filter((block) => block.type === "tool_result")
    .map((block) => [typeof block.content === "string" ? block.content : (block.content?.[0]?.text ?? ""), block.is_error === true]);
}
type Block = { type: string; content?: string | { text: string }[]; is_error?: boolean };

describe("a headless run that asks", () => {
  test("an answer with the number of a missing option is refused, and the question stays open", async () => {
    await withHome(asking(question("Which colour?", ["red", "blue"])), async (skein) => {
      const { asks } = await ask(skein);
      const id = asks[0]!.id;
      for (const number of ["9", "0", "-1"]) {
        const refused = await skein.run(["answer", "--", id, number]);
        expect({ code: refused.code, out: refused.out }).toEqual({ code: 2, out: "" });
        expect(refused.err).toContain(`has no option ${number}`);
        expect(refused.err).toContain("1 (red), 2 (blue)");
      }
      expect(await openAsks(skein)).toHaveLength(1);
      expect((await skein.run(["answer", id, "9 shades of grey"])).out).toBe("answered: 9 shades of grey\n");
    });
  });

  test("a number is a free answer to a question without options", async () => {
    await withHome(asking(question("How many?")), async (skein) => {
      const { asks } = await ask(skein);
      expect((await skein.run(["answer", asks[0]!.id, "9"])).out).toBe("answered: 9\n");
    });
  });

  test("a headless run that asks ends as needs-input with exit 8, and resumes with the answer as the call's result", async () => {
    await withHome(asking(question("Which colour?", ["red", "blue"])), async (skein, server) => {
      const ran = await skein.run(["run", "paint it", ...model]);
      expect(ran.code).toBe(8);
      expect(ran.out).toBe("");
      expect(ran.err).toMatch(/\? Which colour\?\n +1 +red\n +2 +blue\n/);
      const [openQuestion] = await openAsks(skein);
      const id = openQuestion?.id.slice(-8) as string;
      expect(ran.err).toContain(`skein: needs-input: Which colour?\n       skein answer ${id} "…"\n`);
      expect(openQuestion).toMatchObject({ question: "Which colour?", options: ["red", "blue"], waiting: false });
      const session = openQuestion?.session_id as string;
      const listed = await skein.run(["asks"]);
      expect(listed.out).toMatch(
        new RegExp(
          `^${id} {2}Which colour\\?\n {2}1 {2}red\n {2}2 {2}blue\n {2}session ${session.slice(-8)} · just now · its turn has ended\n$`,
        ),
      );

      const early = await skein.run(["run", "--resume", session]);
      expect(early).toMatchObject({ code: 2, out: "" });
      expect(early.err).toContain(`a question waits for an answer: Which colour?\n       skein answer ${id} "…"`);

      const answered = await skein.run(["answer", id, "2"]);
      expect(answered).toMatchObject({ code: 0, out: "answered: blue\n", err: `to continue: skein run --resume ${session.slice(-8)}\n` });
      const resumed = await skein.run(["run", "--resume", session]);
      expect(resumed).toMatchObject({ code: 0, out: "thanks\n" });
      expect(sentToolResults(server)).toEqual([["blue", false]]);
      expect((await skein.run(["asks"])).out).toBe("no question waits for an answer\n");
      expect((await skein.run(["verify"])).code).toBe(0);
    });
  });

  test.each(Object.entries(wireModels))("an answer reaches the model over the protocol %s", async (_wire, wireModel) => {
    await withHome(asking(question("Which?")), async (skein, server) => {
      expect((await skein.run(["run", "go", "-m", wireModel])).code).toBe(8);
      const [openQuestion] = await openAsks(skein);
      await skein.run(["answer", openQuestion?.id as string, "the one with the rare word heliotrope"]);
      expect((await skein.run(["run", "--resume", openQuestion?.session_id as string])).code).toBe(0);
      expect(server.main().at(-1)?.text).toContain("heliotrope");
    });
  });

  test("a tool result reports that the user continued with another message instead of an answer", async () => {
    await withHome(
      ({ position }) => (position.prompt === "never mind" ? { steps: [], final: "as you like" } : asking(question("Which?"))),
      async (skein, server) => {
        const { session, asks } = await ask(skein);
        expect(await skein.run(["run", "never mind", "--resume", session])).toMatchObject({ code: 0, out: "as you like\n" });
        expect(sentToolResults(server)).toEqual([["The user continued without answering.", true]]);
        const late = await skein.run(["answer", asks[0]?.id as string, "red"]);
        expect(late.code).toBe(2);
        expect(late.err).toContain("closed");
      },
    );
  });

  test("a message with two questions and a command runs the command and needs both answers", async () => {
    const script = asking(question("Which colour?"), { input: { command: "echo painted > wall" } }, question("Which size?"));
    await withHome(script, async (skein, server) => {
      const { session, asks } = await ask(skein);
      expect(asks.map((each) => each.question).toSorted()).toEqual(["Which colour?", "Which size?"]);
      expect(await Bun.file(`${skein.project}/wall`).text()).toBe("painted\n");
      const idOf = (words: string) => asks.find((each) => each.question === words)?.id as string;
      const first = await skein.run(["answer", idOf("Which size?"), "big"]);
      expect(first.err).toBe("one more question is open there: skein asks\n");
      expect((await skein.run(["run", "--resume", session])).code).toBe(2);
      await skein.run(["answer", idOf("Which colour?"), "red"]);
      expect((await skein.run(["run", "--resume", session])).code).toBe(0);
      expect(sentToolResults(server).map(([text]) => text.trim())).toEqual(["red", expect.any(String), "big"]);
    });
  });

  test("a question can be answered only once, and only by a known and unique id", async () => {
    await withHome(asking(question("Which?")), async (skein) => {
      const { asks } = await ask(skein);
      const id = asks[0]?.id as string;
      expect(openAsk.parse((await skein.run(["answer", id, "red", "--json"])).json())).toMatchObject({
        answer: "red",
        outcome: "answered",
      });
      const again = await skein.run(["answer", id, "blue"]);
      expect(again).toMatchObject({ code: 2, out: "" });
      expect(again.err).toContain("closed");
      const unknown = await skein.run(["answer", "00000000", "blue"]);
      expect(unknown).toMatchObject({ code: 2, out: "" });
      expect(unknown.err).toContain('no question "00000000"');
      expect((await skein.run(["answer", id.slice(-3), "blue"])).code).toBe(2);
    });
  });

  test("ask_user exists under policy plan and at level readonly, but not at level none or with --ephemeral", async () => {
    await withHome(asking(question("Which?")), async (skein, server) => {
      const { session, asks } = await ask(skein, "--policy", "plan");
      await skein.run(["answer", asks[0]?.id as string, "the first"]);
      expect((await skein.run(["run", "--resume", session, "--policy", "plan"])).code).toBe(0);
      expect(sentToolResults(server)).toEqual([["the first", false]]);
      await ask(skein, "--tool-level", "readonly");
      for (const args of [["--tool-level", "none"], ["--ephemeral"]]) {
        server.clear();
        await skein.run(["run", "paint it", ...model, ...args]);
        expect(server.requests[0]?.text).not.toContain('"ask_user"');
      }
    });
  });

  test("a sub-session's question is reported to its parent, and the sub-session can be resumed with the answer", async () => {
    const script: ScriptSource = ({ position }) =>
      position.prompt === "part"
        ? asking(question("Which part?"))
        : { steps: [{ calls: [{ name: "spawn_session", input: { task: "part" } }] }], final: "whole" };
    await withHome(script, async (skein, server) => {
      expect((await skein.run(["run", "all of it", ...model])).code).toBe(0);
      const [openQuestion] = await openAsks(skein);
      const [[text, isError] = ["", false]] = sentToolResults(server);
      expect(text).toContain("Which part?");
      expect(text).toContain("needs-input");
      expect(text).toContain(openQuestion?.id.slice(-8) as string);
      expect(isError).toBe(true);
      await skein.run(["answer", openQuestion?.id as string, "the left one"]);
      expect(await skein.run(["run", "--resume", openQuestion?.session_id as string])).toMatchObject({ code: 0, out: "thanks\n" });
      expect(sentToolResults(server)).toEqual([["the left one", false]]);
    });
  });
});

describe("a chat whose lines come from a pipe", () => {
  const chat = (skein: TemporaryHome, lines: string[], ...args: string[]) =>
    skein.run(["chat", ...args, ...model], { stdin: lines.map((line) => `${line}\n`).join("") });

  test("a piped chat takes the next line as the answer", async () => {
    await withHome(asking(question("Which?", ["red", "blue"])), async (skein, server) => {
      const ran = await chat(skein, ["paint it", "2"]);
      expect(ran).toMatchObject({ code: 0, out: "thanks\n" });
      expect(ran.err).toContain("the next line is the answer");
      expect(sentToolResults(server)).toEqual([["blue", false]]);
    });
  });

  test("a piped chat without more lines leaves the question open, and the next chat asks it again", async () => {
    await withHome(asking(question("Which colour?"), question("Which size?")), async (skein, server) => {
      expect((await chat(skein, ["paint it", "red"])).code).toBe(8);
      const [openQuestion, ...others] = await openAsks(skein);
      expect(others).toEqual([]);
      const again = await chat(skein, ["big"], openQuestion?.session_id as string);
      expect(again).toMatchObject({ code: 0, out: "thanks\n" });
      expect(again.err).toContain("? Which size?");
      expect(sentToolResults(server).map(([text]) => text)).toEqual(["red", "big"]);
    });
  });
});
