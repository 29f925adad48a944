// The sample conversation of the Cognition document, piped into `chat` line by line. The model is scripted; the tools
// and the tree are real.
import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { list, main, model, utils, runChatJourney } from "../../support/chat-journey.ts";
import type { ModelServer } from "../../../src/scripted-model/model-server.ts";

describe("the sample conversation", () => {
  test("the sample conversation prints the expected tree, fork and branches", async () => {
    await runChatJourney(async ({ chat }) => {
      const ran = await chat([list, main, "/tree", "/fork", utils, "/branches", "/quit", "never said"]);
      expect(ran.code).toBe(0);
      expect(ran.out).toContain("I found 3 Python files in the src directory:\n- main.py");
      expect(ran.err).toContain("• bash ls src/*.py\n  src/config.py\n  src/main.py\n  src/utils.py");
      expect(ran.err).toMatch(/ok · 2 steps · in [\d.k]+ out \d+ · \$0\.\d{4} · /);
      const [tree = "", afterFork = ""] = ran.out.split("Created branch");
      const order = [list, "ls src/*.py", "I found 3 Python files", main, "cat src/main.py", "Here's the contents of main.py."];
      expect(tree.slice(tree.lastIndexOf(list))).toMatch(new RegExp(order.map(escapeRegExp).join("[^]*")));
      const first = /New session ([0-9a-f]{8})/.exec(ran.err)?.[1];
      const second = /skein chat ([0-9a-f]{8})/.exec(ran.err)?.[1];
      expect(second).not.toBe(first);
      expect(afterFork).toContain(`now in session ${second}; ${first} keeps its place.`);
      const node = / at ([0-9a-f]{8}):/.exec(afterFork)?.[1];
      expect(afterFork).toContain(`Node ${node} has 2 branches:\n`);
      expect(afterFork).toMatch(
        new RegExp(`1\\.  [0-9a-f]{8}  \\[current\\]  ${second}  → "${utils}"\n2\\.  ${node} +${first}  → \\(continues from here\\)\n`),
      );
      expect(afterFork).not.toContain("never said");
      expect(ran.err).toEndWith(`Session saved. Resume with: skein chat ${second}\n`);
    });
  });

  test("chat continues a session by name, and each branch sends only its own path", async () => {
    await runChatJourney(async ({ chat, server }) => {
      await chat([list, main], "talk");
      const ran = await chat(["/fork other", utils, "/leaves", "/switch talk", "hello", "/leaves", "/switch 2", "again"], "talk");
      expect(ran.err).toContain("Session talk, 4 messages");
      expect(ran.out).toMatch(/Now in session talk, at [0-9a-f]{8} \(agent\): Here's the contents of main.py.\nFiles stay as they are/);
      expect(ran.out).toMatch(
        /1\. {2}[0-9a-f]{8} {2}\[current\] {2}talk {3}"You said: hello"\n2\. {2}[0-9a-f]{8} +other {2}"Here's utils.py."/,
      );
      expect(requestOf(server, "hello")).not.toContain(utils);
      expect(requestOf(server, "hello")).toContain(main);
      expect(requestOf(server, "again")).toContain(utils);
      expect(requestOf(server, "again")).not.toContain("hello");
    });
  });

  test("/back moves back by messages, at most to the beginning, and leaves files unchanged", async () => {
    await runChatJourney(async ({ chat, skein, server }) => {
      const ran = await chat([
        list,
        main,
        "/back",
        "/back 2",
        "/branches",
        "/switch 2",
        "/context",
        "/back 99",
        "/back",
        "anew",
        "/branches",
      ]);
      expect(ran.code).toBe(2);
      expect(ran.err).toContain("skein: there is nothing before the first message");
      expect(ran.out).toMatch(/Back 1 message, at [0-9a-f]{8} \(you\): show me the contents of main.py\nFiles stay as they are/);
      expect(ran.out).toMatch(/Back 2 messages, at [0-9a-f]{8} \(you\): list the python files in src\//);
      expect(ran.out).toMatch(/Moved, at [0-9a-f]{8} \(agent\): Here's the contents/);
      const context = ran.out.slice(ran.out.indexOf("anthropic/claude-sonnet-4-5: about "));
      expect(context).toMatch(
        /user ~\d+\nlist the python[^]*tool ~\d+[^]*src\/main\.py[^]*assistant ~\d+\nHere's the contents of main\.py\./,
      );
      expect(ran.out).toContain("Back 4 messages, all there are, at the beginning, before the first message");
      expect(ran.out).toMatch(/The beginning has 2 branches:\n1\. .*\[current\].*"anew"\n2\. .*"list the python files in src\/"/);
      expect(requestOf(server, "anew")).not.toContain(list);
      expect(readdirSync(join(skein.project, "src")).sort()).toEqual(["config.py", "main.py", "utils.py"]);
      expect((await skein.run(["verify"])).code).toBe(0);
    });
  });
});

test("/graft adds a branch's conclusion to the session, and the next turn sends it", async () => {
  await runChatJourney(async ({ chat, server }) => {
    await chat([list], "talk");
    const ran = await chat(["/fork other", utils, "/switch talk", "/graft other", "hello", "/graft talk", "/graft"], "talk");
    expect(ran.code).toBe(2);
    expect(ran.out).toMatch(/Grafted other here as [0-9a-f]{8}; the next turn gets it/);
    expect(requestOf(server, "hello")).toContain("Here's utils.py.");
    expect(ran.err).toContain("/graft takes a session");
  });
});

test("/export writes only the current branch", async () => {
  await runChatJourney(async ({ chat, skein }) => {
    await chat([list], "talk");
    const ran = await chat(
      ["/fork other", utils, "/switch talk", main, "/export", "/export branch.md", "/switch other", "/export branch.jsonl"],
      "talk",
    );
    expect({ code: ran.code, hasError: ran.err.includes("skein: ") }).toEqual({ code: 0, hasError: false });
    const text = ran.out.slice(ran.out.lastIndexOf("\nagent    native"));
    expect(text).toMatch(/list the python[^]*ls src\/\*\.py[^]*show me the contents of main\.py[^]*Here's the contents of main\.py\./);
    expect(text).not.toContain(utils);
    const markdown = readFileSync(join(skein.project, "branch.md"), "utf8");
    expect(markdown).toContain(main);
    expect(markdown).not.toContain(utils);
    const lines = readFileSync(join(skein.project, "branch.jsonl"), "utf8");
    for (const words of [list, utils, "Here's utils.py."]) expect(lines).toContain(words);
    expect(lines).not.toContain(main);
  });
});

describe("lines from a pipe", () => {
  test("a backslash or a fence continues a message on the next line, and a path or a leading blank is not a command", async () => {
    await runChatJourney(async ({ chat, server }) => {
      const ran = await chat(["one \\", "two", "```", "/tree", "```", "/etc/hosts is what?", " /tree"]);
      expect(ran.code).toBe(0);
      const prompts = server.main().map((request) => /"text":"((?:[^"\\]|\\.)*)"[^[]*$/.exec(request.text)?.[1]);
      expect(ran.out).toContain("You said: one \ntwo");
      expect(ran.out).toContain("You said: ```\n/tree\n```");
      expect(ran.out).toContain("You said: /etc/hosts is what?");
      expect(ran.out).toContain("You said: /tree\n");
      expect(prompts).toHaveLength(4);
    });
  });

  test("failed lines are reported, later lines still run, and the exit code is that of the first failure", async () => {
    await runChatJourney(async ({ chat, skein }) => {
      const ran = await chat(["/tree", "/swich 1", "/switch 1", "/switch nobody", "/back x", "/tree now", "hello"]);
      expect(ran.code).toBe(2);
      for (const line of [
        "there are no messages yet",
        "no command /swich\n       did you mean /switch?",
        "a number needs a listing first",
        'no node of this tree and no session is named "nobody"',
        '/back takes a number of messages, not "x"',
        "/tree takes no argument",
      ])
        expect(ran.err).toContain(line);
      expect(ran.out).toContain("You said: hello");
      expect(JSON.parse((await skein.run(["list", "--json"])).out)).toHaveLength(1);
    });
  });

  test("a chat with only commands leaves no session behind", async () => {
    await runChatJourney(async ({ chat, skein }) => {
      expect((await chat(["/help", "/model", "/agent", "/agent nobody"])).code).toBe(3);
      const listed = await skein.run(["list", "--json"]);
      expect(listed.out.trim() === "" ? [] : JSON.parse(listed.out)).toEqual([]);
    });
  });

  test("two chats can't use one session at the same time, and a stopped chat leaves it intact", async () => {
    await runChatJourney(async ({ chat, skein }) => {
      await chat(["hello"], "talk");
      const first = skein.start(["chat", "talk", ...model], { stdin: "take your time\n" });
      await waitForText(first.stderr, "• bash sleep 300");
      const second = await chat(["me too", "/fork mine", "now me"], "talk");
      expect(second.code).toBe(1);
      expect(second.err).toContain("session talk is in use by process");
      expect(second.err).toContain("/fork continues from here");
      expect(second.out).toContain("now in session mine;");
      expect(second.out).toContain("You said: now me");
      first.kill("SIGTERM");
      expect(await first.exited).toBe(143);
      expect((await chat(["still there?"], "talk")).out).toContain("You said: still there?");
      expect((await skein.run(["verify"])).code).toBe(0);
    });
  });

  test("/model changes the model of the next turn", async () => {
    await runChatJourney(async ({ chat, server }) => {
      await chat(["one", "/model openai/gpt-5.2", "two"]);
      expect(server.main().map((request) => request.wire)).toEqual(["anthropic", "responses"]);
      expect(server.main()[1]?.text).toContain("You said: one");
    });
  });
});

async function waitForText(stream: ReadableStream<Uint8Array>, text: string): Promise<void> {
  const reader = stream.getReader();
  const decoder = new TextDecoder();
  for (let output = ""; !output.includes(text);) {
    const { done, value } = await reader.read();
    if (done) throw new Error(`the stream ended before "${text}":  ${output}`);
    output += decoder.decode(value, { stream: true });
  }
}

/** Returns the text of the first request that contains this message. */
function requestOf(server: ModelServer, text: string): string {
  return server.main().find((request) => request.text.includes(`"${text}"`))?.text ?? "";
}

function escapeRegExp(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
