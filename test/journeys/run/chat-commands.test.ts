// The slash commands of `skein chat` that the screen has too: each works in a line, or says in one line where it works.
import { expect, test } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { slashTable } from "../../../src/protocol/api/slash-commands.ts";
import { list, main, runChatJourney } from "../../support/chat-journey.ts";
import { readEvents } from "../../support/read-events.ts";
import { wireModels } from "../../support/temporary-home.ts";

test("/new, /clear, /rename and /resume start, name and find sessions", async () => {
  await runChatJourney(async ({ chat, server }) => {
    const ran = await chat([list, "/rename first", "/new", "only these words", "/resume", "/resume first", main, "/clear", "empty again"]);
    expect({ code: ran.code, hasFault: ran.err.includes("skein: ") }).toEqual({ code: 0, hasFault: false });
    expect(ran.out).toContain("This session is now first.\n");
    expect(ran.out).toMatch(/New session [0-9a-f]{8}\. The old one is saved: \/resume finds it\.\n/);
    expect(ran.out).toMatch(/1\. +[0-9a-f]{8} +\[current\] +just now +only these words\n2\. +first +just now +list the python files/);
    expect(ran.out).toMatch(/Now in session first, at /);
    expect(ran.out).toMatch(/A new branch from the beginning, in session [0-9a-f]{8}; files stay as they are\.\n/);
    const sent = (prompt: string) =>
      server
        .main()
        .filter(({ text }) => text.includes(prompt))
        .map(({ text }) => text.includes(list));
    expect([sent("only these words")[0], sent(main)[0], sent("empty again")[0]]).toEqual([false, true, false]);
  });
});

test("/compact, /review, /init and /continue send their message, and never answer a question with it", async () => {
  await runChatJourney(async ({ chat, server }) => {
    const ran = await chat([list, "/compact", "/review lib/a.ts", "/init", "/continue"]);
    const prompts = ["Summarise the conversation so far.", "Review lib/a.ts. ", "Write AGENTS.md for this project"];
    for (const prompt of prompts) expect(server.main().some(({ text }) => text.includes(prompt))).toBe(true);
    expect(ran.err).toContain("skein: ");
    expect(ran.err).toMatch(/there is no interrupted turn to continue/);
  });
});

test("/policy, /net and /budget change the next turns, and /cost and /diff show what they did", async () => {
  await runChatJourney(async ({ chat, skein, server }) => {
    server.setScript({ steps: [{ calls: [{ input: { command: "echo changed > new.txt" } }] }], final: "tried" });
    const written = join(skein.project, "new.txt");
    const readonly = await chat(["/policy readonly", "write it", "/policy", "/policy full", "/net on", "/budget 0.5", "/cost"]);
    expect(existsSync(written)).toBe(false);
    expect(readonly.out).toContain("From now on: policy readonly, tools only read.\n");
    expect(readonly.err).toContain('/policy takes workspace, plan or readonly, not "full"\n       start with it: skein chat --policy full');
    expect(readonly.out).toContain("Network on for the tools of the next turns.\nEach turn may cost at most $0.50.\n");
    expect(readonly.out).toMatch(
      /TURN +MODEL +INPUT +OUTPUT +COST\n +1 +anthropic\/claude-sonnet-4-5 [^]*total[^]*at most \$0\.50 per turn\n/,
    );
    const changed = await chat(["write it", "/diff", "/undo", "/diff"]);
    expect(changed.out).toMatch(/A new\.txt +\+1 -0\n[^]*\+changed\n[^]*took back "write it"[^]*nothing changed\n/);
    expect(existsSync(written)).toBe(false);
  });
});

test("/check runs a command after each turn, and /loop repeats a task until a command succeeds", async () => {
  await runChatJourney(async ({ chat, skein, server }) => {
    server.setScript({ steps: [{ calls: [{ input: { command: "echo x >> lines.txt" } }] }], final: "one more line" });
    const ran = await chat([
      "/check",
      "/check test -s lines.txt",
      "begin",
      "/check off",
      '/loop "test $(wc -l < lines.txt) -eq 3" write three lines',
      "/loop",
    ]);
    expect(ran.out).toStartWith("No check runs after a turn.\nAfter each turn this must succeed: test -s lines.txt\n");
    expect(readFileSync(join(skein.project, "lines.txt"), "utf8")).toBe("x\nx\nx\n");
    expect(ran.err).toContain('/loop takes "command" <task>\n       /loop "npm test" make the tests pass');
  });
});

test("with --queue, and with /queue, a message to a busy session runs after its turn", async () => {
  await runChatJourney(async ({ skein, server }) => {
    const wait = "echo begun; until [ -e go ]; do sleep 0.02; done";
    server.setScript(({ position }) => ({
      steps: position.prompt === "hold" ? [{ calls: [{ input: { command: wait } }] }] : [],
      final: "done",
    }));
    const run = readEvents(skein.start(["run", "hold", "--session", "busy", "-m", wireModels.anthropic, "--output-format", "events"]));
    await run.until((event) => event.type === "tool.output");
    const queued = await skein.run(["chat", "busy", "--queue", "-m", wireModels.anthropic], { stdin: "one\n/queue two\n" });
    expect([queued.code, queued.out]).toEqual([0, expect.stringMatching(/^Number 1 in the queue .*\nNumber 2 in the queue /)]);
    const refused = await skein.run(["chat", "busy", "-m", wireModels.anthropic], { stdin: "three\n" });
    expect([refused.code, refused.err]).toEqual([1, expect.stringContaining("/queue <message> runs it afterwards")]);
    writeFileSync(join(skein.project, "go"), "");
    await run.ended;
    await skein.run(["logs", "busy", "-f"]);
    expect((await skein.run(["logs", "busy"])).out).toMatch(/> hold[^]*> one[^]*> two/);
    await skein.run(["hub", "stop"]);
  });
}, 60_000);

test("/find, /agents, /asks, /login and /mcp print what the command line prints", async () => {
  await runChatJourney(async ({ chat }) => {
    const ran = await chat([list, "/find python", "/agents", "/asks", "/login", "/mcp", "/copy"]);
    expect(ran.out).toContain("list the [python] files in src/");
    expect(ran.out).toMatch(/VENDOR +KEY +GET IT AT/);
    expect(ran.out).toContain("skein mcp install <client>");
    expect(ran.err).toContain("/copy needs a terminal\n       /export writes the branch to a file");
  });
});

test("a command of the screen that chat does not have says in one line where it works, and nothing is sent", async () => {
  await runChatJourney(async ({ chat, server, skein }) => {
    writeFileSync(join(skein.project, "kept.txt"), "kept\n");
    const help = (await chat(["/help"])).out;
    const missing = Object.keys(slashTable).filter((name) => !new RegExp(`^  /${name}\\b(?!-)`, "m").test(help));
    expect(missing).toEqual([
      "race",
      "plan",
      "exec",
      "edit-plan",
      "steps",
      "edit",
      "history",
      "palette",
      "watch",
      "cancel",
      "hub",
      "suspend",
    ]);
    const ran = await chat(missing.map((name) => `/${name}`));
    for (const name of missing) expect(ran.err).toMatch(new RegExp(`skein: /${name} works on the screen \\(skein tui\\)\\n +\\S`));
    expect(server.requests).toHaveLength(0);
    expect(readFileSync(join(skein.project, "kept.txt"), "utf8")).toBe("kept\n");
  });
});
