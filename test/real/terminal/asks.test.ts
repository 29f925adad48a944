// Tests of questions in `chat`, typed into a real terminal. Needs tmux, so only .ci/run runs it, not npm test.
import { expect, test } from "bun:test";
import { startModelServer, type ScriptSource } from "../../../src/scripted-model/model-server.ts";
import { temporaryHome, vendorEnv, wireModels, type TemporaryHome } from "../../support/temporary-home.ts";
import { openTerminal, type Terminal } from "../../support/tmux.ts";

const colour = { name: "ask_user", input: { question: "Which colour?", options: ["red", "blue"] } };
const size = { name: "ask_user", input: { question: "Which size?" } };
const script: ScriptSource = ({ position: { prompt } }) => {
  if (prompt === "part") return { steps: [{ calls: [colour] }], final: "part done" };
  if (prompt === "delegate") return { steps: [{ calls: [{ name: "spawn_session", input: { task: "part" } }] }], final: "whole" };
  if (prompt === "go on") return { steps: [], final: "gone on" };
  return { steps: [{ calls: [colour, { input: { command: "echo painted" } }, size] }], final: "thanks" };
};

async function inChat(check: (terminal: Terminal, skein: TemporaryHome) => Promise<void>): Promise<void> {
  const server = startModelServer(script);
  using skein = temporaryHome(vendorEnv(server.url));
  try {
    await using terminal = await openTerminal(skein);
    await terminal.press(`skein chat -m ${wireModels.anthropic}`, "Enter");
    await terminal.until(/New session.*\n>/);
    await check(terminal, skein);
  } finally {
    await server.stop();
  }
}

test("questions of a turn are asked one after the other, and the next line is the answer", async () => {
  await inChat(async ({ press, until }) => {
    await press("paint it", "Enter");
    await until(/\? Which colour\?\n {4}1 {2}red\n {4}2 {2}blue\n {2}the next line is the answer\nanswer >/);
    await press("/quit", "Enter");
    await until(/a command is no answer: a leading space sends it, Ctrl-C stops the turn\nanswer >/);
    await press("2", "Enter");
    await until(/\? Which size\?\n {2}the next line is the answer\nanswer >/);
    await press("as big as it was", "Enter");
    const screen = await until(/thanks\nok · 2 steps[^]*\n>/);
    expect(screen).toMatch(/answered: blue\n[^]*answered: as big as it was\n/);
  });
});

test("an answer from another terminal closes the question in the chat", async () => {
  await inChat(async ({ press, until }, skein) => {
    await press("delegate", "Enter");
    await until(/\? Which colour\?[^]*answer >/);
    const [ask] = JSON.parse((await skein.run(["asks", "--json"])).out) as { id: string; waiting: boolean }[];
    expect(ask?.waiting).toBe(true);
    expect(await skein.run(["answer", ask?.id as string, "1"])).toMatchObject({ code: 0, err: "the waiting turn continues\n" });
    await until(/answered: red\n[^]*whole\nok · 2 steps[^]*\n>/);
  });
});

test("Ctrl-C at a question stops the turn, and the conversation continues", async () => {
  await inChat(async ({ press, until }, skein) => {
    await press("paint it", "Enter");
    await until(/answer >/);
    await press("not so", "C-c", "C-c");
    expect(await until(/cancelled · 1 step[^]*\n>/)).not.toContain("Which size?");
    expect((await skein.run(["asks"])).out).toBe("no question waits for an answer\n");
    await press("go on", "Enter");
    await until(/gone on\nok · 1 step[^]*\n>/);
  });
});

test("after a kill at a question it can be answered, and the session resumed", async () => {
  await inChat(async ({ press, until }, skein) => {
    await press("part", "Enter");
    await until(/answer >/);
    const [turn] = JSON.parse((await skein.run(["ps", "--json"])).out) as { pid: number; state: string }[];
    expect(turn?.state).toBe("asking");
    process.kill(turn?.pid as number, "SIGKILL");
    await until("Killed");
    const [ask] = JSON.parse((await skein.run(["asks", "--json"])).out) as { id: string; session_id: string; waiting: boolean }[];
    expect(ask?.waiting).toBe(false);
    expect((await skein.run(["answer", ask?.id as string, "2"])).code).toBe(0);
    expect(await skein.run(["run", "--resume", ask?.session_id as string])).toMatchObject({ code: 0, out: "part done\n" });
    expect((await skein.run(["verify"])).code).toBe(0);
  });
});
