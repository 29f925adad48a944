// Questions to a person, from the real program: asked headless, answered from another process, gone on with.
import { describe, expect, test } from "bun:test";
import { openAsk, result } from "../../../src/protocol/fixtures/printed-schemas.ts";
import { startModelServer, type ModelServer, type ScriptSource } from "../../../src/scripted-model/model-server.ts";
import type { ScriptCall, Script } from "../../../src/scripted-model/script.ts";
import { temporaryHome, vendorEnv, wireModels, type TemporaryHome } from "../../support/temporary-home.ts";

const model = ["-m", wireModels.anthropic];
const question = (words: string, options: string[] = []): ScriptCall => ({ name: "ask_user", input: { question: words, options } });
const asking = (...calls: ScriptCall[]): Script => ({ steps: [{ calls }], final: "thanks" });

type Asked = { id: string; session_id: string; question: string; options: string[]; waiting: boolean };

async function withHome(script: ScriptSource, check: (skein: TemporaryHome, server: ModelServer) => Promise<void>): Promise<void> {
  const server = startModelServer(script);
  using skein = temporaryHome(vendorEnv(server.url));
  try {
    await check(skein, server);
  } finally {
    await server.stop();
  }
}

/** A run that ends with its question; gives back the session and what is open. */
async function ask(skein: TemporaryHome, ...args: string[]): Promise<{ session: string; asks: Asked[] }> {
  const ran = await skein.run(["run", "paint it", "--json", ...model, ...args]);
  expect(ran.code).toBe(8);
  const { session_id: session, status } = result.parse(ran.json());
  expect(status).toBe("needs-input");
  return { session, asks: await open(skein) };
}

async function open(skein: TemporaryHome): Promise<Asked[]> {
  const ran = await skein.run(["asks", "--json"]);
  expect(ran.code).toBe(0);
  return openAsk.array().parse(JSON.parse(ran.out));
}

/** The results that the latest request gives the model, in order. */
function told(server: ModelServer): [string, boolean][] {
  const body = server.main().at(-1)?.body as unknown as { messages: { content: Block[] | string }[] } | undefined;
  return (body?.messages ?? [])
    .flatMap(({ content }) => (typeof content === "string" ? [] : content))
    .filter((block) => block.type === "tool_result")
    .map((block) => [typeof block.content === "string" ? block.content : (block.content?.[0]?.text ?? ""), block.is_error === true]);
}
type Block = { type: string; content?: string | { text: string }[]; is_error?: boolean };

describe("a headless run that asks", () => {
  test("ends as needs-input with exit 8, shows the question, and goes on with the answer as the call's result", async () => {
    await withHome(asking(question("Which colour?", ["red", "blue"])), async (skein, server) => {
      const ran = await skein.run(["run", "paint it", ...model]);
      expect(ran.code).toBe(8);
      expect(ran.out).toBe("");
      expect(ran.err).toMatch(/\? Which colour\?\n +1 +red\n +2 +blue\n/);
      const [asked] = await open(skein);
      const id = asked?.id.slice(-8) as string;
      expect(ran.err).toContain(`skein: needs-input: Which colour?\n       skein answer ${id} "…"\n`);
      expect(asked).toMatchObject({ question: "Which colour?", options: ["red", "blue"], waiting: false });
      const session = asked?.session_id as string;
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
      expect(told(server)).toEqual([["blue", false]]);
      expect((await skein.run(["asks"])).out).toBe("no question waits for an answer\n");
      expect((await skein.run(["verify"])).code).toBe(0);
    });
  });

  test.each(Object.entries(wireModels))("is answered over %s", async (_wire, wired) => {
    await withHome(asking(question("Which?")), async (skein, server) => {
      expect((await skein.run(["run", "go", "-m", wired])).code).toBe(8);
      const [asked] = await open(skein);
      await skein.run(["answer", asked?.id as string, "the one with the rare word heliotrope"]);
      expect((await skein.run(["run", "--resume", asked?.session_id as string])).code).toBe(0);
      expect(server.main().at(-1)?.text).toContain("heliotrope");
    });
  });

  test("is told when the person goes on with something else", async () => {
    await withHome(
      ({ position }) => (position.prompt === "never mind" ? { steps: [], final: "as you like" } : asking(question("Which?"))),
      async (skein, server) => {
        const { session, asks } = await ask(skein);
        expect(await skein.run(["run", "never mind", "--resume", session])).toMatchObject({ code: 0, out: "as you like\n" });
        expect(told(server)).toEqual([["The user continued without answering.", true]]);
        const late = await skein.run(["answer", asks[0]?.id as string, "red"]);
        expect(late.code).toBe(2);
        expect(late.err).toContain("closed");
      },
    );
  });

  test("asks twice in one message, runs what else is in it, and needs both answers", async () => {
    const script = asking(question("Which colour?"), { input: { command: "echo painted > wall" } }, question("Which size?"));
    await withHome(script, async (skein, server) => {
      const { session, asks } = await ask(skein);
      expect(asks.map((asked) => asked.question).toSorted()).toEqual(["Which colour?", "Which size?"]);
      expect(await Bun.file(`${skein.project}/wall`).text()).toBe("painted\n");
      const idOf = (words: string) => asks.find((asked) => asked.question === words)?.id as string;
      const first = await skein.run(["answer", idOf("Which size?"), "big"]);
      expect(first.err).toBe("one more question is open there: skein asks\n");
      expect((await skein.run(["run", "--resume", session])).code).toBe(2);
      await skein.run(["answer", idOf("Which colour?"), "red"]);
      expect((await skein.run(["run", "--resume", session])).code).toBe(0);
      expect(told(server).map(([text]) => text.trim())).toEqual(["red", expect.any(String), "big"]);
    });
  });

  test("is answered once, by an id that there is and that is one", async () => {
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

  test("asks under policy plan too, at the level readonly, and never at the level none or without a store", async () => {
    await withHome(asking(question("Which?")), async (skein, server) => {
      const { session, asks } = await ask(skein, "--policy", "plan");
      await skein.run(["answer", asks[0]?.id as string, "the first"]);
      expect((await skein.run(["run", "--resume", session, "--policy", "plan"])).code).toBe(0);
      expect(told(server)).toEqual([["the first", false]]);
      await ask(skein, "--tool-level", "readonly");
      for (const args of [["--tool-level", "none"], ["--ephemeral"]]) {
        server.clear();
        await skein.run(["run", "paint it", ...model, ...args]);
        expect(server.requests[0]?.text).not.toContain('"ask_user"');
      }
    });
  });

  test("passes a sub-session's question on to its parent, and the sub-session goes on with the answer", async () => {
    const script: ScriptSource = ({ position }) =>
      position.prompt === "part"
        ? asking(question("Which part?"))
        : { steps: [{ calls: [{ name: "spawn_session", input: { task: "part" } }] }], final: "whole" };
    await withHome(script, async (skein, server) => {
      expect((await skein.run(["run", "all of it", ...model])).code).toBe(0);
      const [asked] = await open(skein);
      const [[text, isError] = ["", false]] = told(server);
      expect(text).toContain("Which part?");
      expect(text).toContain("needs-input");
      expect(text).toContain(asked?.id.slice(-8) as string);
      expect(isError).toBe(true);
      await skein.run(["answer", asked?.id as string, "the left one"]);
      expect(await skein.run(["run", "--resume", asked?.session_id as string])).toMatchObject({ code: 0, out: "thanks\n" });
      expect(told(server)).toEqual([["the left one", false]]);
    });
  });
});

describe("a chat whose lines come from a pipe", () => {
  const chat = (skein: TemporaryHome, lines: string[], ...args: string[]) =>
    skein.run(["chat", ...args, ...model], { stdin: lines.map((line) => `${line}\n`).join("") });

  test("takes the next line as the answer", async () => {
    await withHome(asking(question("Which?", ["red", "blue"])), async (skein, server) => {
      const ran = await chat(skein, ["paint it", "2"]);
      expect(ran).toMatchObject({ code: 0, out: "thanks\n" });
      expect(ran.err).toContain("the next line is the answer");
      expect(told(server)).toEqual([["blue", false]]);
    });
  });

  test("leaves the question open when there are no more lines, and takes it up again", async () => {
    await withHome(asking(question("Which colour?"), question("Which size?")), async (skein, server) => {
      expect((await chat(skein, ["paint it", "red"])).code).toBe(8);
      const [asked, ...others] = await open(skein);
      expect(others).toEqual([]);
      const again = await chat(skein, ["big"], asked?.session_id as string);
      expect(again).toMatchObject({ code: 0, out: "thanks\n" });
      expect(again.err).toContain("? Which size?");
      expect(told(server).map(([text]) => text)).toEqual(["red", "big"]);
    });
  });
});
